#include "app/checks/check_run.h"

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/state/settings.h"
#include "app/state/version.h"
#include "core/error.h"
#include "core/json.h"
#include "ops/tuning.h"
#include "platform/process.h"

namespace headlight::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostProcesses = 80;  // of one device: two for a fault
constexpr std::size_t kLongestLine = 600;
constexpr std::size_t kMostFailures = 30;  // reported of one device, line by line

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Returns the text without words that are paths: reports are made to be shown.
std::string without_paths(const std::string& text) {
  static const std::regex path(R"((^|[\s"'(=])~?/[^\s'"):,;]+)");
  return std::regex_replace(text, path, "$1[path]").substr(0, kLongestLine);
}

/// The step that a child is at.
struct Announced {
  std::uint32_t step = 0;
  CheckLine line;
};

/// One device's check, which may take several children.
class DeviceCheck {
 public:
  DeviceCheck(const gpu::DeviceInfo& device, const CheckOptions& options, const CheckObserver& observe)
      : options_(options), observe_(observe) {
    report_.device = device;
  }

  DeviceReport run(const std::stop_token& stops) {
    const auto start = Clock::now();
    if (!report_.device.is_usable()) {
      note({.group = "driver",
            .name = report_.device.name,
            .status = CheckStatus::Warn,
            .what = fmt::format("not usable: {}", fmt::join(report_.device.lacks, ", "))});
      return std::move(report_);
    }
    std::uint32_t step = 0;
    std::optional<std::uint32_t> suspect;  // a step that ended a process
    for (std::uint32_t process = 0; !is_done_ && !stops.stop_requested(); ++process) {
      is_lost_ = is_fault_ = false;
      announced_.reset();
      step_lines_.clear();
      const std::string end = follow(step, stops);
      if (is_done_ || stops.stop_requested()) break;
      if (!announced_ || process == kMostProcesses) {
        note({.group = "driver",
              .name = "opening",
              .status = CheckStatus::Fail,
              .what = announced_ ? fmt::format("{} processes ended: the rest isn't checked", process) : end});
        break;
      }
      step = announced_->step;
      if (suspect != step) {  // what it did counts where another process does it too
        suspect = step;
        continue;
      }
      ++step;
      note_step();
      if (is_lost_) continue;  // its line said so
      CheckLine line = announced_->line;
      line.status = is_fault_ ? CheckStatus::Fail : CheckStatus::Warn;
      line.what = is_fault_ ? end : fmt::format("not checked: {}", end);
      if (!is_fault_) line.kernels.clear();
      note(std::move(line));
    }
    if (!stops.stop_requested()) store();
    report_.seconds = seconds_since(start);
    return std::move(report_);
  }

 private:
  /// Follows a child to its end, and says how it was.
  std::string follow(std::uint32_t step, const std::stop_token& stops) {
    std::vector<std::string> words{headlight_program().native(), "check", "--device", std::to_string(report_.device.index)};
    if (options_.is_quick) words.emplace_back("--quick");
    if (!options_.groups.empty())
      words.insert(words.end(), {"--groups", fmt::format("{}", fmt::join(options_.groups, ","))});
    std::error_code failure;
    platform::ChildProgram child(words, fmt::format("{}={}", kCheckChild, step), failure);
    if (failure) throw Error("the program can't be started a second time: {}", failure.message());
    auto heard = Clock::now();
    while (!child.has_ended() && !stops.stop_requested()) {
      constexpr std::chrono::milliseconds kMoment{100};
      if (const std::optional<std::string> line = child.read_line(kMoment)) {
        heard = Clock::now();
        take(*line);
      } else if (Clock::now() - heard > options_.patience) {
        is_fault_ = true;
        return fmt::format("hangs: no line for {} s", options_.patience.count());
      }
    }
    const std::string end = stops.stop_requested() ? "" : child.end();
    is_fault_ = child.was_fault();
    return fmt::format("the process ended with {}", end.empty() ? "its work undone" : end);
  }

  void take(const std::string& text) {
    const Result<nlohmann::json> json = parse_json(text, {.bytes = std::size_t{1} << 20});
    if (!json || !json->is_object()) return;
    is_done_ = is_done_ || json->contains("done");
    if (is_done_ || json->contains("step")) note_step();
    is_lost_ = is_lost_ || json->contains("lost");
    if (json->contains("step") && json->at("step").is_number_unsigned()) {
      announced_ = Announced{.step = json->at("step"), .line = read_check_line(*json).value_or(CheckLine())};
    } else if (std::optional<CheckLine> line = read_check_line(*json)) {
      step_lines_.push_back(std::move(*line));
    }
  }

  /// Notes the lines of a step, which count once the step has come to its end, or has ended two processes.
  void note_step() {
    for (CheckLine& line : step_lines_) note(std::move(line));
    step_lines_.clear();
  }

  void note(CheckLine line) {
    line.name = without_paths(line.name);
    line.what = without_paths(line.what);
    report_.excluded.insert(line.kernels.begin(), line.kernels.end());
    if (line.status == CheckStatus::Fail && ++failures_ > kMostFailures) return;
    observe_(line);
    report_.lines.push_back(std::move(line));
  }

  void store() {
    const bool has_checked_all = is_done_ && !options_.is_quick && options_.groups.empty();
    std::set<std::string> excluded = report_.excluded;
    if (!has_checked_all) excluded.merge(ops::load_faults(report_.device, tuning_file()));
    try {
      ops::save_faults(report_.device, tuning_file(), excluded);
      report_.excluded = std::move(excluded);
    } catch (const Error& error) {
      note({.group = "kernels",
            .name = "excluded",
            .status = CheckStatus::Warn,
            .what = fmt::format("they can't be stored for the next start: {}", error.what())});
    }
  }

  CheckOptions options_;
  const CheckObserver& observe_;
  DeviceReport report_;
  std::optional<Announced> announced_;
  std::vector<CheckLine> step_lines_;  ///< of the step that the child is at
  std::size_t failures_ = 0;
  bool is_done_ = false, is_lost_ = false;
  bool is_fault_ = false;  ///< did the child end by a fault of its own, or hang?
};

}  // namespace

CheckStatus DeviceReport::status() const {
  CheckStatus worst = CheckStatus::Ok;
  for (const CheckLine& line : lines) worst = std::max(worst, line.status);
  return worst;
}

DeviceReport check_device(const gpu::DeviceInfo& device, const CheckOptions& options, const CheckObserver& observe,
                          const std::stop_token& stops) {
  return DeviceCheck(device, options, observe).run(stops);
}

std::string device_heading(const gpu::DeviceInfo& device) { return fmt::format("{}: {}\n", device.index, device.name); }

std::string table_row(const CheckLine& line) {
  constexpr std::size_t kWidth = 118, kIndent = 31;
  const std::string status = line.status == CheckStatus::Fail ? "FAIL" : std::string(to_string(line.status));
  std::string row = fmt::format("  {:<5} {:<22} ", status, line.group);
  std::size_t column = kIndent;
  std::istringstream words(line.name.empty() || line.name == line.group ? line.what : line.name + ": " + line.what);
  for (std::string word; words >> word; column += word.size() + 1) {
    if (column > kIndent && column + word.size() > kWidth) {
      row.back() = '\n';
      row += std::string(kIndent, ' ');
      column = kIndent;
    }
    row += word + " ";
  }
  row.back() = '\n';
  return row;
}

std::string summary(const DeviceReport& report) {
  const auto count = [&](CheckStatus status) { return std::ranges::count(report.lines, status, &CheckLine::status); };
  const auto failures = count(CheckStatus::Fail), warnings = count(CheckStatus::Warn);
  std::string text = failures == 0 ? "nothing is wrong" : fmt::format("{} line{} FAIL", failures, failures == 1 ? "" : "s");
  if (warnings > 0) text += fmt::format(", {} warning{}", warnings, warnings == 1 ? "" : "s");
  if (!report.excluded.empty()) text += fmt::format("; from now on left out: {}", fmt::join(report.excluded, ", "));
  return fmt::format("{}; {:.0f} s", text, report.seconds);
}

std::string report_json(std::span<const DeviceReport> reports, bool is_quick) {
  nlohmann::ordered_json json{{"headlight", HEADLIGHT_VERSION}, {"quick", is_quick}};
  json["devices"] = nlohmann::ordered_json::array();
  for (const DeviceReport& report : reports) {
    nlohmann::ordered_json device{
        {"index", report.device.index},   {"name", report.device.name},  {"kind", report.device.kind},
        {"driver", report.device.driver}, {"vulkan", report.device.api}, {"status", to_string(report.status())},
        {"excluded", report.excluded},    {"seconds", report.seconds},   {"lines", nlohmann::ordered_json::array()}};
    for (CheckLine line : report.lines) {
      line.kernels.clear();
      device["lines"].push_back(to_json(line));
    }
    json["devices"].push_back(std::move(device));
  }
  constexpr std::size_t kMostBytes = 100'000;
  const std::string text = to_text(json);
  return text.size() < kMostBytes ? text : to_text(json, -1);
}

CheckJob::CheckJob(const CheckOptions& options)
    : options_(options), thread_([this](const std::stop_token& stops) { run(stops); }) {}

CheckJob::View CheckJob::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

void CheckJob::run(const std::stop_token& stops) {
  const auto change = [&](const auto& apply) {
    const std::scoped_lock lock(mutex_);
    apply(view_);
  };
  for (const gpu::DeviceInfo& device : gpu::list_devices()) {
    if (stops.stop_requested()) break;
    change([&](View& view) { view.reports.push_back({.device = device, .lines = {}, .excluded = {}}); });
    const CheckObserver observe = [&](const CheckLine& line) {
      change([&](View& view) { view.reports.back().lines.push_back(line); });
    };
    try {
      DeviceReport report = check_device(device, options_, observe, stops);
      change([&](View& view) { view.reports.back() = std::move(report); });
    } catch (const Error& error) {
      observe({.group = "driver", .name = "check", .status = CheckStatus::Fail, .what = error.what()});
    }
  }
  change([](View& view) { view.is_done = true; });
}

}  // namespace headlight::app
