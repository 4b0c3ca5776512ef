// Which queries of a request have no answer yet, and what becomes of their answers.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "app/engine/engine_worker.h"
#include "app/shapes/quantities/map_tiles.h"
#include "core/error.h"
#include "inference/embed.h"

namespace headlight::app {

namespace {

/// Extends a tile of a whole matrix to the whole of the new one: the caller laid out its request for the previous run, and
/// would otherwise show an empty heatmap for a frame whenever a token is added.
void follow_shape(TileQuery& tile, const BlockShapes& before, const BlockShapes& after) {
  const auto old_shape = before.find(tile.block), new_shape = after.find(tile.block);
  const bool is_listed = tile.quantity.index() < quantities().size();
  if (!is_listed || old_shape == before.end() || new_shape == after.end()) return;
  const Quantity& shown = quantity(tile.quantity);
  const auto old_extent = shown.shape(old_shape->second), new_extent = shown.shape(new_shape->second);
  if (!old_extent || !new_extent) return;
  const bool is_whole =
      tile.row == 0 && tile.column == 0 && tile.rows == old_extent->rows && tile.columns == old_extent->columns;
  if (!is_whole) return;
  tile.rows = new_extent->rows;
  tile.columns = new_extent->columns;
}

/// Has the run that is compared with a matrix of this quantity? Null: there is no such run.
bool has_matrix(const inference::Run* baseline, const TileQuery& tile) {
  return baseline != nullptr && app::has_matrix(baseline->shape(tile.block), tile.quantity);
}

const model::TokenBatch& read_by_last_stack(const model::ModelInput& input) {
  return input.target ? *input.target : input.source;
}

}  // namespace

std::vector<TileQuery> EngineWorker::missing_tiles() {
  std::vector<TileQuery> wanted;
  for (const Query& query : request_->queries) {
    const TileQuery* asked = std::get_if<TileQuery>(&query);
    if (!asked) continue;
    TileQuery tile = *asked;
    follow_shape(tile, laid_out_for_, result_.shapes);
    const bool is_known =
        is_inside(tile, result_.shapes) && (!quantity(tile.quantity).base || has_matrix(compared_.run().get(), tile));
    if (is_known) wanted.push_back(tile);
  }
  std::vector<TileQuery> missing = tiles_.missing(wanted);
  std::erase_if(missing, [this](const TileQuery& tile) { return reduce_tile(tile); });
  return missing;
}

EngineWorker::KnownParts EngineWorker::known_parts(const TileQuery& query) const {
  const auto extent = quantity(query.quantity).shape(result_.shapes.at(query.block));
  if (tiles_below(query, extent->rows, extent->columns).empty()) return {};
  TileQuery first = query;  // of the same map and its rows
  first.rows = first.column = first.columns = first.pool = first.sampled_rows = 0;
  first.pooling = {};
  std::vector<TileQuery> known;
  const EngineTiles& tiles = tiles_.tiles();
  for (auto tile = tiles.lower_bound(first); tile != tiles.end(); ++tile) {
    const TileQuery& part = tile->first;
    const bool is_of_same_rows = part.quantity == query.quantity && part.block == query.block && part.batch == query.batch &&
                                 part.head == query.head && part.row < query.row + query.rows;
    if (!is_of_same_rows) break;
    if (tile->second.run == result_.run) known.push_back(part);
  }
  KnownParts parts;
  TileParts found = parts_of(query, extent->rows, extent->columns, known);
  parts.missing = std::move(found.missing);
  for (const TileQuery& part : found.known) parts.known.push_back(tiles.at(part).tile);
  return parts;
}

bool EngineWorker::reduce_tile(const TileQuery& query) {
  const KnownParts parts = known_parts(query);
  if (parts.known.empty() || !parts.missing.empty()) return false;
  std::vector<const attention::Tile*> known;
  for (const auto& part : parts.known) known.push_back(part.get());
  tiles_.add(query, reduce(query, known));
  return true;
}

Evaluation EngineWorker::evaluation_of(const TileQuery& query, const EvaluationSubject& subject) const {
  KnownParts parts = known_parts(query);
  if (parts.known.empty()) return quantity(query.quantity).evaluate(query, subject);
  return tile_from_parts(query, subject, std::move(parts.known), std::move(parts.missing));
}

std::vector<PredictionQuery> EngineWorker::missing_predictions() {
  std::vector<PredictionQuery> missing;
  if (!result_.has_logits) return missing;
  const std::uint32_t layers = predicting_layers(*result_.network);
  const std::shared_ptr<const model::ModelInput> compared = compared_.run() ? compared_.tokens() : nullptr;
  Predictions kept;
  for (const Query& query : request_->queries) {
    const PredictionQuery* wanted = std::get_if<PredictionQuery>(&query);
    if (!wanted || (wanted->is_of_baseline && (!compared || !compared_.run()->has_logits()))) continue;
    const model::TokenBatch& tokens = read_by_last_stack(wanted->is_of_baseline ? *compared : *result_.input);
    if (wanted->batch >= tokens.batch || wanted->token >= tokens.length || wanted->layer > layers) continue;
    const auto known = result_.predictions.find(*wanted);
    if (known != result_.predictions.end()) kept.insert(*known);
    if (known == result_.predictions.end() || known->second.run != result_.run) missing.push_back(*wanted);
  }
  result_.predictions = std::move(kept);
  return missing;
}

bool EngineWorker::misses_memory() const {
  const bool has_cross =
      std::ranges::any_of(result_.blocks, [](model::BlockRef block) { return block.kind == model::BlockKind::Cross; });
  return has_cross && !result_.memory &&
         std::ranges::find(request_->queries, Query(MemoryQuery())) != request_->queries.end();
}

std::vector<AnalysisQuery> EngineWorker::missing_analyses() {
  std::vector<AnalysisQuery> missing;
  std::map<AnalysisQuery, Analysed> kept;
  for (const Query& query : request_->queries) {
    const AnalysisQuery* wanted = std::get_if<AnalysisQuery>(&query);
    if (!wanted || ((wanted->compares() || wanted->is_of_baseline) && !compared_.run())) continue;
    const auto known = result_.analyses.find(*wanted);
    if (known != result_.analyses.end()) kept.insert(*known);
    // What was found of the baseline stays right while it is the same (forget_comparisons()).
    const bool is_answered = known != result_.analyses.end() && known->second.is_done &&
                             (known->second.run == result_.run || wanted->is_of_baseline);
    if (!is_answered) missing.push_back(*wanted);
  }
  result_.analyses = std::move(kept);
  return missing;
}

void EngineWorker::forget_comparisons() {
  queue_.cancel([](const Query& query) {
    const TileQuery* tile = std::get_if<TileQuery>(&query);
    const PredictionQuery* prediction = std::get_if<PredictionQuery>(&query);
    const AnalysisQuery* analysis = std::get_if<AnalysisQuery>(&query);
    return (tile && quantity(tile->quantity).base) || (prediction && prediction->is_of_baseline) ||
           (analysis && (analysis->compares() || analysis->is_of_baseline));
  });
  changes_.forget_baseline();
  std::erase_if(result_.predictions, [](const auto& known) { return known.first.is_of_baseline; });
  std::erase_if(result_.analyses, [](const auto& known) { return known.first.compares() || known.first.is_of_baseline; });
}

AnalysisSubject EngineWorker::analysis_subject(bool is_of_baseline) {
  if (is_of_baseline) {
    const inference::Run& run = *compared_.itself();
    return {.network = run.inputs().network,
            .input = compared_.tokens(),
            .inputs = std::make_shared<const RunInputs>(compared_.inputs()),
            .shapes = shapes_of(run),
            .has_logits = run.has_logits()};
  }
  return {.network = result_.network,
          .input = result_.input,
          .inputs = result_.inputs,
          .model = result_.model,
          .shapes = result_.shapes,
          .has_logits = result_.has_logits,
          .covers_baseline = !result_.pairs || inference::covers(*result_.pairs, *compared_.tokens())};
}

void EngineWorker::collect() {
  if (!request_ || !run_) return queue_.clear();
  if (std::exchange(compared_number_, compared_.number()) != compared_.number()) forget_comparisons();
  const std::vector<TileQuery> tiles = missing_tiles();
  const std::vector<PredictionQuery> predictions = missing_predictions();
  std::set<Query> wanted(tiles.begin(), tiles.end());
  wanted.insert(predictions.begin(), predictions.end());
  const std::vector<AnalysisQuery> analyses = missing_analyses();
  wanted.insert(analyses.begin(), analyses.end());
  if (misses_memory()) wanted.insert(MemoryQuery());
  // What is still wanted goes on where it is: a mean may have taken long to come so far.
  queue_.cancel([&](const Query& query) { return !wanted.contains(query); });
  std::size_t position = 0;
  const EvaluationSubject evaluated = subject_of({.run = *run_, .baseline = compared_.run().get(), .norms = norms_});
  for (const TileQuery& tile : tiles) {
    const QueryPriority priority = position == 0 ? QueryPriority::Selected : QueryPriority::OnScreen;
    queue_.ask(tile, priority, position++, [&] { return tiles_.add_evaluated(tile, evaluation_of(tile, evaluated)); });
  }
  for (const PredictionQuery& query : predictions) {
    queue_.ask(query, QueryPriority::Selected, ++position, [&] { return predict_at(query); });
  }
  if (wanted.contains(MemoryQuery())) {
    queue_.ask(MemoryQuery(), QueryPriority::Selected, ++position, [&] { return read_memory(); });
  }
  for (const AnalysisQuery& query : analyses) {
    queue_.ask(query, QueryPriority::Background, ++position,
               [&] { return analyse(query, analysis_subject(query.is_of_baseline)); });
  }
}

QueryTask EngineWorker::predict_at(PredictionQuery query) {
  Reads reads{.of = query.is_of_baseline ? WhichRun::BaselineItself : WhichRun::Newest};
  reads.logits.push_back(query.state());
  const Answers read = co_await std::move(reads);
  result_.predictions.insert_or_assign(query, predict(read.logits, query.keeps_logits, result_.run));
}

QueryTask EngineWorker::read_memory() {
  co_await read_nothing();
  Tensor output = run_->encoder_output();
  // Without an encoder the memory is the source's token vectors, as they go to the device.
  const model::TokenBatch& source = result_.input->source;
  if (output.is_empty()) {
    output = inference::embed(result_.network->source_embedding.get(), source, {.first = 0, .count = source.length});
  }
  if (!output.is_empty()) result_.memory = std::make_shared<const Tensor>(std::move(output));
}

QueryTask EngineWorker::analyse(AnalysisQuery query, AnalysisSubject subject) {
  Analysed answer;
  try {
    auto task = query.begin(std::move(subject));
    while (!task.is_done()) {
      Reads reads = std::move(task.reads());
      task.take(co_await std::move(reads));
      const auto told = task.result();
      // What the previous run's analysis found stays on screen until there is something of this run.
      if (!told || *told == answer.result || task.is_done()) continue;
      answer = {.result = *told, .run = result_.run};
      result_.analyses.insert_or_assign(query, answer);
    }
    answer.result = *task.result();
  } catch (const Error& error) {
    answer = {.error = error.what()};
  }
  answer.is_done = true;
  answer.run = result_.run;
  result_.analyses.insert_or_assign(query, std::move(answer));
}

// A model's weights on their way to the device, and what is seen of it meanwhile.

void EngineWorker::load_in_order(const RunSource::Source& source, const RunInputs& inputs) {
  const auto watch = [this](std::size_t done, std::size_t total) {
    if (options_.watch_load && !options_.watch_load(done, total)) return false;
    // Piece by piece, so that the user can look around in these layers.
    if (early_ && options_.newer_queries) answer_early(options_.newer_queries());
    return true;
  };
  inference::FirstLayers first;
  first.least_rest_ms = options_.least_rest_ms;
  if (options_.show_early) first.count = EarlyRun::layers_for(source, inputs, request_->selected);
  first.ready = [&](const std::shared_ptr<const model::Layers>& layers) { begin_early_run(source, inputs, layers); };
  runner_->load_in_order(source.network->layers, precision_of(inputs.source), watch, first);
  if (early_) early_->end();  // the whole network's run needs the memory
}

void EngineWorker::begin_early_run(const RunSource::Source& source, const RunInputs& inputs,
                                   const std::shared_ptr<const model::Layers>& layers) {
  try {
    early_ = std::make_unique<EarlyRun>(*runner_, source, inputs, layers, ++run_count_, options_.tile_bytes);
    early_->answer(request_->queries);
  } catch (const std::exception&) {
    early_.reset();
    return;
  }
  EngineResult result = result_;
  early_->describe(result);
  options_.show_early(std::move(result));
}

void EngineWorker::answer_early(std::span<const Query> queries) {
  try {
    if (!early_->answer(queries)) return;
  } catch (const std::exception&) {  // the whole network's run will say why
    early_->end();
    return;
  }
  EngineResult result = result_;
  early_->describe(result);
  options_.show_early(std::move(result));
}

}  // namespace headlight::app
