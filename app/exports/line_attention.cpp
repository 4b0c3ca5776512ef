#include "app/exports/line_attention.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/runner.h"
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
  const std::shared_ptr<const inference::Run> run = compute_run(runner, source, inputs, nullptr);
  export_run(runner, run, source, options);
  const bool has_target = source.input->target.has_value();
  if (has_target) options.kind = model::BlockKind::Cross;
  ExportBlocks blocks = select_blocks(*run, *source.network, options).front();
  const exporting::FileNaming naming{.layers = blocks.all_layers, .heads = blocks.shape.heads, .has_kinds = has_target};
  const auto draw = [&](const FigureKind& kind, model::BlockRef layer, const std::string& name) {
    const auto format = exporting::DrawingFormat::Png;
    RunNumbers numbers({.run = *run});
    const FigureSubject subject{
        .source = source, .blocks = blocks, .matrix = {.block = layer}, .options = options, .format = format};
    const auto drawing = numbers.drawn([&] { return draw_figure(kind, subject, numbers); });
    write_file_atomically(directory / name, exporting::encode(*drawing, format));
  };
  for (const model::BlockRef layer : blocks.layers)
    draw(kHeadsFigure, layer, naming.contact_sheet(layer, 0, attention::Stage::Weights, "png"));
  if (!has_target) return;
  blocks.mean = HeadMean::Layer;
  draw(kHeadFigure, blocks.layers.back(), "alignment.png");
  write_alignment(*run, source, directory / "alignment.json");
}

}  // namespace headlight::app
