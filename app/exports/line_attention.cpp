#include "app/exports/line_attention.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/query_queue.h"
#include "app/exports/figure_kind.h"
#include "app/exports/job.h"
#include "app/exports/plan.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include "export/json.h"
#include "inference/alignment.h"

namespace headlight::app {
namespace {

using exporting::Json;

Json tokens_json(const model::TokenBatch& tokens) {
  Json list = Json::array();
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) list.push_back({{"id", tokens.ids[i]}, {"text", tokens.texts[0][i]}});
  return list;
}

void write_alignment(const inference::Run& run, const RunSource::Source& source, const std::filesystem::path& path) {
  const std::size_t layers = source.network->layers->decoder.size();
  Json pairs = Json::array();
  const auto aligned = inference::align(run, *source.model, *source.prompt);
  for (const inference::AlignedToken& token : aligned.front()) {
    pairs.push_back({{"target", token.target}, {"source", token.source}, {"weight", token.weight}});
  }
  const Json document = {{"layer", layers - 1},
                         {"source", tokens_json(source.input->source)},
                         {"target", tokens_json(*source.input->target)},
                         {"alignment", std::move(pairs)}};
  write_file_atomically(path, to_text(document) + "\n");
}

/// All but the numbers, of the run that the task is of.
Task<bool> draw_line_attention(ExportOptions options, RunSource::Source source) {
  FigureNumbers numbers;
  co_await numbers.begin();
  const bool has_target = source.input->target.has_value();
  if (has_target) options.kind = model::BlockKind::Cross;
  const RunShapes run{.blocks = source.network->blocks(), .shapes = numbers.evaluated.shapes, .input = source.input.get()};
  ExportBlocks blocks = select_blocks(run, *source.network, options).front();
  const exporting::FileNaming naming{.layers = blocks.all_layers, .heads = blocks.shape.heads, .has_kinds = has_target};
  std::vector<std::pair<model::BlockRef, std::string>> figures;
  for (const model::BlockRef layer : blocks.layers)
    figures.emplace_back(layer, naming.contact_sheet(layer, 0, attention::Stage::Weights, "png"));
  if (has_target) figures.emplace_back(blocks.layers.back(), "alignment.png");
  for (const auto& [layer, name] : figures) {
    const bool is_alignment = has_target && name == figures.back().second;
    if (is_alignment) blocks.mean = HeadMean::Layer;
    const auto format = exporting::DrawingFormat::Png;
    const FigureSubject subject{
        .source = source, .blocks = blocks, .matrix = {.block = layer}, .options = options, .format = format};
    const auto drawing = co_await draw_figure(is_alignment ? kHeadFigure : kHeadsFigure, subject, numbers);
    write_file_atomically(options.directory / name, exporting::encode(*drawing, format));
    numbers.tiles.clear();
  }
  co_return has_target;
}

}  // namespace

void write_line_attention(Runner& runner, const std::shared_ptr<ModelCache>& models, const RunInputs& inputs,
                          const std::filesystem::path& directory) {
  ExportOptions options;
  options.inputs = inputs;
  options.models = models;
  options.formats = {ExportFormat::Npy};
  options.directory = directory;
  RunSource sources(models);
  const RunSource::Source& source = sources.build(inputs);
  FoundRuns found;
  found.device = runner.device_name();
  found.take(compute_run(runner, source, inputs, nullptr), source, inputs);
  answer_at_once(write_export(options, {}), found);
  const bool has_target = answer_at_once(draw_line_attention(options, source), found);
  if (has_target) write_alignment(*found.run, source, directory / "alignment.json");
}

}  // namespace headlight::app
