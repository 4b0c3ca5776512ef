#include "app/engine/engine_worker.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <ranges>
#include <utility>

#include "core/error.h"
#include "inference/embed.h"

namespace headlight::app {
namespace {

/// Cells evaluated before the first update of a run, and between checks for newer requests after that.
constexpr std::size_t kFirstChunkCells = std::size_t{1} << 18;
constexpr std::size_t kChunkCells = std::size_t{1} << 21;
/// Tokens are published a few at a time: a frame for each one would cost more than the token.
constexpr std::chrono::milliseconds kTranslationSlice{20};
/// Logits read at once.
constexpr std::size_t kChunkLogits = std::size_t{1} << 22;

/// Extends a tile of a whole matrix to the whole of the new one: the caller laid out its request for the previous run, and
/// would otherwise show an empty heatmap for a frame whenever a token is added.
void follow_shape(TileQuery& tile, const BlockShapes& before, const BlockShapes& after) {
  const auto old_shape = before.find(tile.block), new_shape = after.find(tile.block);
  if (old_shape == before.end() || new_shape == after.end()) return;
  if (tile.quantity.index() >= quantities().size()) return;
  const Quantity& shown = quantity(tile.quantity);
  const auto old_extent = shown.shape(old_shape->second), new_extent = shown.shape(new_shape->second);
  if (!old_extent || !new_extent) return;
  const bool is_whole =
      tile.row == 0 && tile.column == 0 && tile.rows == old_extent->rows && tile.columns == old_extent->columns;
  if (!is_whole) return;
  tile.rows = new_extent->rows;
  tile.columns = new_extent->columns;
}

BlockVersions versions_of(const inference::Run& run) {
  BlockVersions versions;
  for (const model::BlockRef block : run.blocks()) versions[block] = run.version(block);
  return versions;
}

/// Drivers' and libraries' messages may have several lines; a status line has one.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void EngineWorker::open(const std::string& device) {
  try {
    std::unique_ptr<Runner> runner = open_(device);
    close();
    runner_ = std::move(runner);
    runner_->watch_compiling(watch_compiling_);
    device_ = device;
    is_given_up_ = false;
  } catch (const std::exception& error) {
    if (!runner_) device_error_ = first_line(error.what());
    result_.error = first_line(error.what());
    result_.is_stale = result_.run > 0 && !runner_;
    return;
  }
  device_error_.clear();
  result_.error.clear();
  result_.device = runner_->device_name();
  loaded_.reset();
  attempted_.reset();
  translation_.reset();
  pending_.clear();
  pending_predictions_.clear();
  if (const std::optional<EngineRequest> again = request_) begin(*again);
}

void EngineWorker::begin(const EngineRequest& request) {
  request_ = request;
  result_.revision = request.revision;
  pending_predictions_.clear();
  if (is_given_up_ && attempted_ != request.inputs) {
    attempted_ = request.inputs;
    pending_.clear();
    return reopen();
  }
  if (!runner_) {
    pending_.clear();
    return tell(device_error_);
  }
  laid_out_for_ = request.laid_out_for.empty() ? result_.shapes : request.laid_out_for;
  if (attempted_ != request.inputs) {
    translation_.reset();
    run_forward(request.inputs);
  }
  compare();
  collect_tiles();
  collect_predictions();
  collect_memory();
}

void EngineWorker::load_weights(const RunSource::Source& source, inference::Precision precision) {
  const std::shared_ptr<const model::Layers>& layers = source.network->layers;
  const bool is_model = source.model != nullptr;
  // The playground's weights are uploaded by its runs, but only load() frees memory and chooses the precision.
  if (!is_model && !loaded_) return;
  if (loaded_ == layers && loaded_precision_ == precision) return;
  run_.reset();  // its weights make room
  compared_.clear();
  loaded_.reset();
  try {
    runner_->load(layers, is_model ? precision : inference::Precision::F32, watch_load_);
  } catch (...) {
    result_.is_load_error = true;
    throw;
  }
  if (!is_model) return;
  loaded_ = layers;
  loaded_precision_ = precision;
}

void EngineWorker::run_forward(const RunInputs& inputs) {
  attempted_ = inputs;
  result_.is_load_error = false;
  try {
    const RunSource::Source& source = source_.build(inputs);
    load_weights(source, inputs.model.precision);
    run(source, inputs);
    result_.inputs = std::make_shared<const RunInputs>(inputs);
    result_.translated.reset();
    if (source.model && translates_itself(inputs.model, *source.model)) {
      translation_.emplace(*source.model, *source.prompt);
      result_.translated = std::make_shared<const Translated>(translation_->written());
    }
  } catch (const std::exception& error) {
    return fail(error);
  }
}

void EngineWorker::run(const RunSource::Source& source, const RunInputs& inputs) {
  run_ = runner_->run({.network = source.network,
                       .input = *source.input,
                       .masks = inputs.masks,
                       .interventions = inference::interventions_of(inputs.gains, *source.network)},
                      std::move(run_));
  result_.timing = run_->timing();
  result_.network = source.network;
  result_.input = source.input;
  result_.model = source.model;
  result_.prompt = source.prompt;
  result_.blocks = run_->blocks();
  const BlockShapes before = std::exchange(result_.shapes, {});
  result_.shapes = shapes_of(*run_);
  result_.parameter_count = result_.network->parameter_count();
  result_.has_logits = run_->has_logits();
  result_.memory.reset();
  if (!result_.has_logits) result_.predictions.clear();
  result_.error.clear();
  result_.is_stale = false;
  tiles_.begin_run(++result_.run, before, result_.shapes, versions_of(*run_));
  is_first_chunk_ = true;
}

void EngineWorker::translate_some() {
  const auto until = std::chrono::steady_clock::now() + kTranslationSlice;
  try {
    bool has_grown = true;
    while (has_grown && translation_->is_running() && std::chrono::steady_clock::now() < until) {
      const auto states = translation_->states(*result_.input->target, predicting_layers(*result_.network));
      has_grown = translation_->take(run_->logits(states));
      if (has_grown) run(source_.with_target(*translation_), *attempted_);
    }
    result_.translated = std::make_shared<const Translated>(translation_->written());
    if (!translation_->is_running()) translation_.reset();
  } catch (const std::exception& error) {
    translation_.reset();
    return fail(error);
  }
  compare();
  collect_tiles();
  collect_predictions();
  collect_memory();
}

void EngineWorker::compare() {
  result_.reference_error.clear();
  if (!request_ || !run_ || !result_.inputs) return;
  try {
    compared_.update(request_->reference, {.inputs = *result_.inputs, .source = source_, .run = run_}, *runner_);
  } catch (const std::exception& error) {
    return fail(error);
  }
  result_.reference_error = compared_.refusal();
  tiles_.compare_with(compared_.run() ? versions_of(*compared_.run()) : BlockVersions());
}

void EngineWorker::collect_tiles() {
  std::vector<PendingTile> before = std::exchange(pending_, {});
  if (!request_ || !run_) return;
  std::vector<TileQuery> wanted;
  for (TileQuery tile : request_->tiles) {
    follow_shape(tile, laid_out_for_, result_.shapes);
    const bool is_known = is_inside(tile, result_.shapes) && (compared_.run() || !quantity(tile.quantity).base);
    if (is_known) wanted.push_back(tile);
  }
  for (const TileQuery& query : tiles_.missing(wanted)) {
    // What is still wanted goes on: it may have taken long to come so far.
    const auto begun = std::ranges::find_if(before, [&](const PendingTile& tile) {
      return tile.evaluation && tile.query == query && tile.run == result_.run && tile.reference == compared_.number();
    });
    pending_.push_back(begun == before.end() ? PendingTile{.query = query} : std::move(*begun));
  }
  std::reverse(pending_.begin(), pending_.end());
}

void EngineWorker::collect_predictions() {
  pending_predictions_.clear();
  if (!request_ || !result_.has_logits || !run_) return;
  const model::TokenBatch& tokens = result_.input->target ? *result_.input->target : result_.input->source;
  const std::uint32_t layers = predicting_layers(*result_.network);
  Predictions kept;
  for (const PredictionRequest& wanted : request_->predictions) {
    if (wanted.batch >= tokens.batch || wanted.token >= tokens.length || wanted.layer > layers) continue;
    const auto known = result_.predictions.find(wanted);
    if (known != result_.predictions.end()) kept.insert(*known);
    if (known == result_.predictions.end() || known->second.run != result_.run) pending_predictions_.push_back(wanted);
  }
  result_.predictions = std::move(kept);
  std::reverse(pending_predictions_.begin(), pending_predictions_.end());
}

void EngineWorker::collect_memory() {
  if (!request_ || !request_->wants_memory || result_.memory || !run_) return;
  const bool has_cross =
      std::ranges::any_of(result_.blocks, [](model::BlockRef block) { return block.kind == model::BlockKind::Cross; });
  if (!has_cross) return;
  try {
    Tensor memory = run_->encoder_output();
    // Without an encoder the memory is the source's token vectors, as they go to the device.
    const model::TokenBatch& source = result_.input->source;
    if (memory.is_empty()) {
      memory = inference::embed(result_.network->source_embedding.get(), source, {.first = 0, .count = source.length});
    }
    if (!memory.is_empty()) result_.memory = std::make_shared<const Tensor>(std::move(memory));
  } catch (const std::exception& error) {
    fail(error);
  }
}

void EngineWorker::evaluate_some() {
  evaluate_next();
  if (!has_more() && result_.error.empty()) was_lost_ = false;
}

void EngineWorker::evaluate_next() {
  if (translation_) translate_some();
  // A first heatmap, then predictions, then the other heads.
  const bool is_tiles_turn = is_first_chunk_ || pending_predictions_.empty();
  if (is_tiles_turn && !pending_.empty()) return evaluate_tiles();
  if (pending_predictions_.empty()) return;
  try {
    ask({}, next_predictions());
  } catch (const std::exception& error) {
    pending_.clear();
    pending_predictions_.clear();
    fail(error);
  }
}

std::vector<PredictionRequest> EngineWorker::next_predictions() {
  std::vector<PredictionRequest> chunk;
  if (pending_predictions_.empty()) return chunk;
  const std::size_t most = std::max<std::size_t>(kChunkLogits / vocabulary(), 1);
  while (!pending_predictions_.empty() && chunk.size() < most) {
    chunk.push_back(pending_predictions_.back());
    pending_predictions_.pop_back();
  }
  return chunk;
}

std::size_t EngineWorker::vocabulary() const {
  return std::max<std::size_t>(result_.network->layers->unembedding->linear.out(), 1);
}

void EngineWorker::evaluate_tiles() {
  const std::size_t budget = std::exchange(is_first_chunk_, false) ? kFirstChunkCells : kChunkCells;
  Evaluation::Step all;                                    // of the tiles in `chunk`
  std::vector<std::pair<PendingTile, std::size_t>> chunk;  // with the number of its requests
  std::size_t cells = 0;
  try {
    while (!pending_.empty() && (chunk.empty() || cells < budget)) {
      PendingTile& tile = pending_.back();
      if (!tile.evaluation) {
        tile = {.query = tile.query,
                .evaluation = quantity(tile.query.quantity).begin(tile.query, result_.shapes),
                .run = result_.run,
                .reference = compared_.number()};
      }
      const Evaluation::Step step = tile.evaluation->next(kChunkCells);
      if (!chunk.empty() && step.of != all.of) break;
      all.of = step.of;
      all.requests.insert(all.requests.end(), step.requests.begin(), step.requests.end());
      for (const attention::TileRequest& request : step.requests) cells += std::size_t{request.rows} * request.columns;
      chunk.emplace_back(std::move(tile), step.requests.size());
      pending_.pop_back();
    }
    // A short text's tiles and predictions are one submission.
    std::vector<attention::Tile> answers =
        ask(all, pending_.empty() ? next_predictions() : std::vector<PredictionRequest>());
    auto answer = std::make_move_iterator(answers.begin());
    for (auto& [tile, count] : chunk) {
      const auto end = answer + static_cast<std::ptrdiff_t>(count);
      tile.evaluation->take({answer, end});
      answer = end;
      if (tile.evaluation->is_done()) tiles_.add(tile.query, tile.evaluation->result());
    }
  } catch (const std::exception& error) {
    pending_.clear();
    pending_predictions_.clear();
    return fail(error);
  }
  for (auto& [tile, count] : std::views::reverse(chunk)) {
    if (!tile.evaluation->is_done()) pending_.push_back(std::move(tile));
  }
}

std::vector<attention::Tile> EngineWorker::ask(const Evaluation::Step& step,
                                               std::span<const PredictionRequest> predictions) {
  std::vector<inference::StateRef> states;
  for (const PredictionRequest& prediction : predictions) states.push_back(prediction.state());
  const bool is_of_reference = step.of == Evaluation::Of::Reference;
  inference::Run::Answers answers;
  if (!is_of_reference || !states.empty()) {
    const std::span<const attention::TileRequest> none;
    answers = run_->answer({.tiles = is_of_reference ? none : std::span(step.requests), .states = states});
  }
  if (is_of_reference) answers.tiles = compared_.run()->evaluate(step.requests);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const std::span<const float> row(answers.logits.values.data() + i * vocabulary(), vocabulary());
    result_.predictions.insert_or_assign(predictions[i], predict(row, predictions[i].keeps_logits, result_.run));
  }
  return std::move(answers.tiles);
}

void EngineWorker::work_while_idle() {
  try {
    runner_->work_while_idle(run_);
  } catch (const std::exception& error) {
    fail(error);
  }
}

EngineResult EngineWorker::snapshot() const {
  EngineResult result = result_;
  result.tiles = tiles_.tiles();
  result.has_all_tiles = pending_.empty();
  return result;
}

Runner& EngineWorker::runner() {
  if (!runner_) throw Error("{}", device_error_);
  return *runner_;
}

std::uint64_t EngineWorker::keep(std::shared_ptr<const inference::Run> run) {
  kept_.emplace(++kept_count_, std::move(run));
  return kept_count_;
}

std::shared_ptr<const inference::Run> EngineWorker::kept(std::uint64_t number) const {
  const auto found = kept_.find(number);
  if (found == kept_.end())
    throw Error(ErrorKind::DeviceLost, "the device was lost or changed, and the run with it; try again");
  return found->second;
}

std::optional<KnownRun> EngineWorker::find(const RunInputs& inputs) {
  const bool is_newest = run_ && !result_.is_stale && result_.inputs && *result_.inputs == inputs;
  if (!is_newest) return std::nullopt;
  return KnownRun{.run = run_, .source = source_.build(inputs)};
}

void EngineWorker::load_weights(const std::shared_ptr<const model::Layers>& layers, inference::Precision precision,
                                const inference::LoadObserver& observer) {
  if (loaded_ == layers && loaded_precision_ == precision) return;
  loaded_.reset();
  runner().load(layers, precision, observer);
  loaded_ = layers;
  loaded_precision_ = precision;
}

void EngineWorker::note_failure(const std::exception& error) {
  if (kind_of(error) == ErrorKind::DeviceLost && runner_) fail(error);
}

void EngineWorker::fail(const std::exception& error) {
  if (kind_of(error) != ErrorKind::DeviceLost) return tell(first_line(error.what()));
  run_.reset();
  if (!was_lost_) return reopen();
  is_given_up_ = true;
  device_error_ = first_line(error.what()) + "; it was opened again and lost again by the same work";
  close();
  tell(device_error_);
}

void EngineWorker::close() {
  compared_.clear();
  run_.reset();
  kept_.clear();
  runner_.reset();
}

void EngineWorker::reopen() {
  was_lost_ = !is_given_up_;  // a request that hasn't lost the device yet has two attempts
  is_given_up_ = false;
  close();  // what is left of it would take memory from its successor
  ++result_.reopenings;
  open(device_);
  if (runner_ || is_given_up_) return;
  is_given_up_ = true;
  device_error_ = "the device was lost, and opening it again failed: " + device_error_;
  tell(device_error_);
}

void EngineWorker::tell(const std::string& message) {
  result_.error = message;
  result_.is_stale = result_.run > 0;
}

}  // namespace headlight::app
