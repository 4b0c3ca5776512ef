#include "app/cli/output.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/notes.h"

namespace headlight::app {

OutputChoice& output_choice() {
  static OutputChoice choice;
  return choice;
}

void add_output_choice(CLI::App& app) {
  const FlagGroup group(app, "Output");
  group.turn("--json", "say what was done, or found, as JSON", output_choice().writes_json);
  group.turn("-q,--quiet", "no progress, notes and summaries: errors, and what was asked for", output_choice().is_quiet);
}

void print_file(const PassingFile& file) {
  file.read([](std::string_view part) { std::cout << part; });
}

void tell_note(const std::string& note) {
  static std::set<std::string> told;
  add_note(note);
  if (told.insert(note).second && !output_choice().is_quiet) std::cerr << "headlight: note: " << one_line(note) << '\n';
}

std::string json_line(nlohmann::ordered_json json) {
  static std::size_t written = 0;
  for (const std::vector<std::string> notes = added_notes(); written < notes.size(); ++written) {
    json["notes"].push_back(notes[written]);
  }
  return to_text(json, -1);
}

void write_json(nlohmann::ordered_json json) { std::cout << json_line(std::move(json)) << '\n'; }

void tell_result(const std::string& text, const nlohmann::ordered_json& json) {
  if (output_choice().writes_json || !output_choice().is_quiet) tell_answer(text, json);
}

void tell_answer(const std::string& text, const nlohmann::ordered_json& json) {
  if (output_choice().writes_json) {
    write_json(json);
  } else {
    std::cout << text << '\n';
  }
}

namespace {

constexpr std::size_t kBarWidth = 30;
constexpr auto kFirstDraw = std::chrono::milliseconds(500);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(10);

std::string duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_text(std::size_t done, std::size_t total, const std::string& unit, double elapsed_seconds) {
  std::string text = total == 0 ? fmt::format("{} {}", done, unit) : fmt::format("{} of {} {}", done, total, unit);
  if (done == 0 || elapsed_seconds <= 0.0) return text;
  const double rate = static_cast<double>(done) / elapsed_seconds;
  text += fmt::format(", {:.{}f} a second", rate, rate < 10.0 ? 1 : 0);
  if (done < total) text += fmt::format(", {} left", duration(static_cast<double>(total - done) / rate));
  return text;
}

ProgressBar::ProgressBar(std::string unit, bool is_quiet)
    : unit_(std::move(unit)),
      is_quiet_(is_quiet || output_choice().is_quiet),
      is_terminal_(platform::is_terminal(platform::kStandardError)) {
  if (!is_quiet_ && is_terminal_) end_of_line_.emplace(platform::kStandardError, "\n");
}

ProgressBar ProgressBar::on_terminal(std::string unit) {
  return ProgressBar(std::move(unit), !platform::is_terminal(platform::kStandardError));
}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (is_drawn_ && is_terminal_) std::cerr << "\r\033[K" << std::flush;
  is_drawn_ = false;
}

void ProgressBar::begin(std::string unit) {
  unit_ = std::move(unit);
  start_ = last_ = Clock::now();
}

void ProgressBar::show(std::size_t done, std::size_t total) {
  if (is_quiet_) return;
  const Clock::time_point now = Clock::now();
  if (is_terminal_) {
    if (now - start_ < kFirstDraw || (is_drawn_ && now - last_ < kRedraw)) return;
    const std::size_t filled = total == 0 ? 0 : done * kBarWidth / total;
    const std::string bar =
        total == 0 ? "" : fmt::format("[{}{}] ", std::string(filled, '='), std::string(kBarWidth - filled, ' '));
    std::cerr << fmt::format("\r{}{}\033[K", bar, progress_text(done, total, unit_, elapsed_seconds())) << std::flush;
  } else {
    if (now - last_ < kLineEvery || done == 0 || done == total) return;
    std::cerr << progress_text(done, total, unit_, elapsed_seconds()) << '\n';
  }
  last_ = now;
  is_drawn_ = true;
}

double ProgressBar::elapsed_seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

inference::CompileObserver compile_bar() {
  const auto bar = std::make_shared<std::optional<ProgressBar>>();
  return [bar](std::size_t done, std::size_t total) {
    if (done == 0) bar->emplace("kernels compiled", !platform::is_terminal(platform::kStandardError));
    if (done == total) bar->reset();
    if (bar->has_value()) (*bar)->show(done, total);
  };
}

}  // namespace headlight::app
