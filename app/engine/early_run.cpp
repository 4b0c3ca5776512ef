#include "app/engine/early_run.h"

#include <algorithm>
#include <variant>

#include "app/engine/engine.h"
#include "app/engine/query_queue.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/state/run_interventions.h"

namespace headlight::app {
namespace {

/// A longer text's pass takes long itself, and some layers of it are computed twice.
constexpr std::uint32_t kMaxEarlyTokens = 1024;
/// Cells that are evaluated before the load goes on.
constexpr std::size_t kMaxEarlyCells = std::size_t{1} << 21;

/// Do the runs of both layers have the same shapes?
bool have_same_shape(const model::AttentionLayer& left, const model::AttentionLayer& right) {
  const model::AttentionConfig &a = left.config, &b = right.config;
  const auto output = [](const model::AttentionLayer& layer) {
    return layer.weights && layer.weights->output ? layer.weights->output->out() : 0;
  };
  return a.heads == b.heads && a.kv_head_count() == b.kv_head_count() && a.d_model == b.d_model && a.d_k == b.d_k &&
         a.d_v == b.d_v && left.weights.has_value() == right.weights.has_value() && output(left) == output(right);
}

}  // namespace

std::uint32_t EarlyRun::layers_for(const RunSource::Source& source, const RunInputs& inputs, model::BlockRef selected) {
  const model::Layers& layers = *source.network->layers;
  const bool is_shown_whole = source.capture != nullptr || !layers.decoder.empty() || source.input->target.has_value();
  if (is_shown_whole || source.input->source.length > kMaxEarlyTokens) return 0;
  if (!interventions_of(inputs, *source.network).empty()) return 0;
  const bool is_uniform = std::ranges::all_of(layers.encoder, [&](const model::AttentionLayer& layer) {
    return layer.weights && have_same_shape(layer, layers.encoder.front());
  });
  const std::uint32_t count = selected.kind == model::BlockKind::EncoderSelf ? selected.layer.value + 1 : 1;
  return is_uniform && std::size_t{count} * 2 <= layers.encoder.size() ? count : 0;
}

EarlyRun::EarlyRun(Runner& runner, const RunSource::Source& source, const RunInputs& inputs,
                   std::shared_ptr<const model::Layers> layers, std::uint64_t number, std::size_t tile_bytes)
    : source_(source),
      inputs_(std::make_shared<const RunInputs>(inputs)),
      layers_(static_cast<std::uint32_t>(layers->encoder.size())),
      number_(number),
      tiles_(tile_bytes) {
  auto network = std::make_shared<model::Network>(*source.network);
  network->layers = std::move(layers);
  run_ = runner.run({.network = std::move(network), .input = *source.input, .masks = inputs.masks, .interventions = {}},
                    nullptr);
  timing_ = run_->timing();
  const inference::BlockShape shape = run_->shape(run_->blocks().front());
  for (const model::BlockRef block : source.network->blocks()) shapes_[block] = shape;
  BlockVersions versions;
  for (const model::BlockRef block : run_->blocks()) versions[block] = run_->version(block);
  tiles_.begin_run(number_, {}, shapes_, std::move(versions));
}

bool EarlyRun::answer(std::span<const Query> queries) {
  if (!run_) return false;
  std::vector<TileQuery> wanted;
  for (const Query& query : queries) {
    const TileQuery* tile = std::get_if<TileQuery>(&query);
    const bool is_of_map = tile && tile->quantity.index() < attention::kStages && quantity(tile->quantity).is_map();
    if (is_of_map && tile->block.layer.value < layers_ && is_inside(*tile, shapes_)) wanted.push_back(*tile);
  }
  QueryQueue queue;
  const EvaluationSubject subject = subject_of({.run = *run_});
  for (const TileQuery& query : tiles_.missing(wanted)) {
    const QueryPriority priority = queue.is_empty() ? QueryPriority::Selected : QueryPriority::OnScreen;
    queue.ask(query, priority, queue.progress().total,
              [&] { return tiles_.add_evaluated(query, quantity(query.quantity).evaluate(query, subject)); });
  }
  if (queue.is_empty()) return false;
  constexpr int kSteps = 3;  // of a map's tile, its column of row sums, rows that may see a single key
  for (int step = 0; step < kSteps && !queue.is_empty(); ++step)
    queue.answer_some({.run = *run_}, {.cells = kMaxEarlyCells});
  return true;
}

void EarlyRun::describe(EngineResult& result) const {
  result.run = number_;
  result.network = source_.network;
  result.input = source_.input;
  result.model = source_.model;
  result.capture.reset();
  result.capture_warning.clear();
  result.run_warning.clear();
  result.prompt = source_.prompt;
  result.inputs = inputs_;
  result.translated.reset();
  result.blocks = source_.network->blocks();
  result.shapes = shapes_;
  result.timing = timing_;
  result.parameter_count = source_.model->network->parameter_count();
  result.tiles = tiles_.tiles();
  result.has_all_tiles = false;
  result.progress = {};
  result.has_logits = source_.network->layers->unembedding.has_value();
  result.predictions.clear();
  result.memory.reset();
  result.analyses.clear();
  result.error.clear();
  result.is_stale = false;
  result.is_load_error = false;
  result.first_layers = layers_;
  result.baseline_input.reset();
  result.baseline_tokens.reset();
  result.pairs.reset();
  result.baseline_error.clear();
}

}  // namespace headlight::app
