#include "app/exports/job.h"

#include <ranges>

#include <fmt/ranges.h>

#include "core/error.h"

namespace headlight::app {
namespace {

struct Format {
  std::string_view name;
  FormatKind kind;
};
constexpr std::array<Format, kExportFormats> kFormats = {{{"png", FormatKind::Figure},
                                                          {"svg", FormatKind::Figure},
                                                          {"pdf", FormatKind::Figure},
                                                          {"csv", FormatKind::Matrix},
                                                          {"npy", FormatKind::Array},
                                                          {"npz", FormatKind::AllArrays},
                                                          {"safetensors", FormatKind::AllArrays},
                                                          {"html", FormatKind::Page},
                                                          {"tiles", FormatKind::Matrix}}};

}  // namespace

std::string_view to_string(ExportFormat format) { return kFormats[static_cast<std::size_t>(format)].name; }

FormatKind kind_of(ExportFormat format) { return kFormats[static_cast<std::size_t>(format)].kind; }

Result<ExportFormat> parse_format(std::string_view text) {
  const auto found = std::ranges::find(kFormats, text, &Format::name);
  if (found != kFormats.end()) return static_cast<ExportFormat>(found - kFormats.begin());
  if (text == "json")
    return Failure{"matrices aren't written as json any more; choose csv for text, npy, npz or safetensors"};
  std::array<std::string_view, kExportFormats> names;
  std::ranges::transform(kFormats, names.begin(), &Format::name);
  return Failure{fmt::format("there is no format '{}'; choose among {}", text, fmt::join(names, ", "))};
}

FigureChoice figure_choice(const State& state) {
  FigureChoice choice{
      .lines = state.view.lines, .token = state.view.locked, .heads = state.heads, .sampling = state.generation.sampling};
  if (state.view.pinned) choice.pinned = PinnedRow{.kind = state.selection.block.kind, .row = state.view.pinned->query};
  return choice;
}

ExportJob::ExportJob(RunnerFactory open, std::string device, ExportOptions options, std::function<void()> wake,
                     std::function<void(ExportReport&)> finish) {
  const ExportObserver observer = [this, wake](const ExportProgress& progress) {
    {
      const std::lock_guard lock(mutex_);
      progress_ = progress;
    }
    if (wake) wake();
    return !is_cancelled_;
  };
  thread_ = std::jthread([=, this, open = std::move(open), device = std::move(device), options = std::move(options)] {
    try {
      const std::unique_ptr<Runner> runner = open(device);
      ExportReport report = run_export(*runner, options, observer);
      if (finish) finish(report);
      promise_.set_value(std::move(report));
    } catch (const std::exception& error) {
      const std::string message = error.what();
      promise_.set_value(Failure{message.substr(0, message.find('\n'))});
    }
    if (wake) wake();
  });
}

ExportProgress ExportJob::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

}  // namespace headlight::app
