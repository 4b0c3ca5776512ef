#include "app/figures/job.h"

#include <ranges>

#include <fmt/ranges.h>

#include "app/state/map_settings.h"
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

void take_look(const State& state, Choices& options) {
  options.set(kFigureLook.color_map, state[kMapView.color_map]);
  options.set(kFigureLook.is_row_normalized, state[kMapView.color_range] == ColorRange::PerRow);
  options.set(kFigureDetails.is_quantile, state[kMapView.color_range] == ColorRange::Quantile);
  options.set(kFigureDetails.color_spread, state[kMapView.color_spread]);
  options.set(kFigureDetails.row_names, state[kMapView.row_names]);
}

namespace {

Task<ExportJob> export_job(ExportOptions options, std::function<void(ExportReport&)> finish,
                           AskedFor<ExportJob>::Tell tell) {
  ExportJob job;
  NamedRun named{.inputs = std::make_shared<const RunInputs>(options.inputs)};
  if (options.baseline) named.baseline = std::make_shared<const RunInputs>(options.baseline->inputs);
  const ExportObserver observe = [&](const ExportProgress& progress) {
    job.progress = progress;
    tell(job);
    return true;
  };
  job.report = co_await write_export(options, observe).of(std::make_shared<const NamedRun>(std::move(named)));
  if (finish) finish(job.report);
  co_return job;
}

}  // namespace

Asked<ExportJob> export_in_background(Engine& engine, ExportOptions options, std::function<void(ExportReport&)> finish) {
  return engine.ask<ExportJob>([=](AskedFor<ExportJob>::Tell tell) { return export_job(options, finish, std::move(tell)); });
}

}  // namespace headlight::app
