#include "app/engine/engine_worker.h"

#include <algorithm>
#include <chrono>
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

bool is_inside(const attention::TileRequest& request, const BlockShapes& shapes) {
  const auto found = shapes.find(request.block);
  if (found == shapes.end()) return false;
  const inference::BlockShape& shape = found->second;
  const std::optional<inference::BlockShape::Extent> extent = shape.extent(request.stage);
  const bool is_head_mean = is_mean(request) && request.stage == attention::Stage::Weights;
  const bool has_head = !attention::is_per_head(request.stage) || request.head < shape.heads || is_head_mean;
  return extent && has_head && request.batch < shape.batch && request.rows > 0 && request.columns > 0 && request.pool > 0 &&
         request.row < extent->rows && request.rows <= extent->rows - request.row && request.column < extent->columns &&
         request.columns <= extent->columns - request.column;
}

/// Extends a tile of a whole matrix to the whole of the new one: the caller laid out its request for the previous run, and
/// would otherwise show an empty heatmap for a frame whenever a token is added.
void follow_shape(attention::TileRequest& tile, const BlockShapes& before, const BlockShapes& after) {
  const auto old_shape = before.find(tile.block), new_shape = after.find(tile.block);
  if (old_shape == before.end() || new_shape == after.end()) return;
  const auto old_extent = old_shape->second.extent(tile.stage), new_extent = new_shape->second.extent(tile.stage);
  if (!old_extent || !new_extent) return;
  const bool is_whole =
      tile.row == 0 && tile.column == 0 && tile.rows == old_extent->rows && tile.columns == old_extent->columns;
  if (!is_whole) return;
  tile.rows = new_extent->rows;
  tile.columns = new_extent->columns;
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
  mean_.reset();
  pending_.clear();
  pending_predictions_.clear();
  if (const std::optional<EngineRequest> again = request_) begin(*again);
}

void EngineWorker::begin(const EngineRequest& request) {
  request_ = request;
  result_.revision = request.revision;
  pending_.clear();
  pending_predictions_.clear();
  if (is_given_up_ && attempted_ != request.inputs) {
    attempted_ = request.inputs;
    return reopen();
  }
  if (!runner_) return tell(device_error_);
  laid_out_for_ = request.laid_out_for.empty() ? result_.shapes : request.laid_out_for;
  if (attempted_ != request.inputs) {
    translation_.reset();
    run_forward(request.inputs);
  }
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
  run_ = runner_->run({.network = source.network, .input = *source.input, .masks = inputs.masks, .gains = inputs.gains},
                      std::move(run_));
  result_.timing = run_->timing();
  result_.network = source.network;
  result_.input = source.input;
  result_.model = source.model;
  result_.prompt = source.prompt;
  result_.blocks = run_->blocks();
  const BlockShapes before = std::exchange(result_.shapes, {});
  BlockVersions versions;
  for (const model::BlockRef block : result_.blocks) {
    result_.shapes[block] = run_->shape(block);
    versions[block] = run_->version(block);
  }
  result_.parameter_count = result_.network->parameter_count();
  result_.has_logits = run_->has_logits();
  result_.memory.reset();
  if (!result_.has_logits) result_.predictions.clear();
  result_.error.clear();
  result_.is_stale = false;
  tiles_.begin_run(++result_.run, before, result_.shapes, std::move(versions));
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
  collect_tiles();
  collect_predictions();
  collect_memory();
}

void EngineWorker::collect_tiles() {
  if (!request_) return;
  std::vector<attention::TileRequest> wanted;
  for (attention::TileRequest tile : request_->tiles) {
    follow_shape(tile, laid_out_for_, result_.shapes);
    if (is_inside(tile, result_.shapes)) wanted.push_back(tile);
  }
  pending_ = tiles_.missing(wanted);
  std::reverse(pending_.begin(), pending_.end());
  if (!run_) pending_.clear();
  // A mean that is still wanted goes on: it may have taken long to come so far.
  const auto wanted_mean = mean_ ? std::ranges::find(pending_, mean_->request()) : pending_.end();
  if (wanted_mean != pending_.end() && mean_run_ == result_.run) {
    pending_.erase(wanted_mean);
  } else {
    mean_.reset();
  }
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
  if (is_tiles_turn && mean_) return evaluate_mean();
  if (is_tiles_turn && !pending_.empty()) return evaluate_tiles();
  if (!pending_predictions_.empty()) ask({}, next_predictions());
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
  std::vector<attention::TileRequest> chunk;
  std::size_t cells = 0;
  if (is_mean(pending_.back())) {
    mean_.emplace(pending_.back(), result_.shapes);
    mean_run_ = result_.run;
    pending_.pop_back();
    return evaluate_mean();
  }
  while (!pending_.empty() && (chunk.empty() || cells < budget) && !is_mean(pending_.back())) {
    cells += std::size_t{pending_.back().rows} * pending_.back().columns;
    chunk.push_back(pending_.back());
    pending_.pop_back();
  }
  // A short text's tiles and predictions are one submission.
  ask(chunk, pending_.empty() ? next_predictions() : std::vector<PredictionRequest>());
}

void EngineWorker::ask(std::span<const attention::TileRequest> tiles, std::span<const PredictionRequest> predictions) {
  std::vector<inference::StateRef> states;
  for (const PredictionRequest& prediction : predictions) states.push_back(prediction.state());
  try {
    inference::Run::Answers answers = run_->answer({.tiles = tiles, .states = states});
    for (attention::Tile& tile : answers.tiles) tiles_.add(std::move(tile));
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const std::span<const float> row(answers.logits.values.data() + i * vocabulary(), vocabulary());
      result_.predictions.insert_or_assign(predictions[i], predict(row, predictions[i].keeps_logits, result_.run));
    }
  } catch (const std::exception& error) {
    pending_.clear();
    pending_predictions_.clear();
    fail(error);
  }
}

void EngineWorker::evaluate_mean() {
  is_first_chunk_ = false;
  try {
    mean_->advance(*run_, kChunkCells);
    if (!mean_->is_done()) return;
    tiles_.add(mean_->take());
  } catch (const std::exception& error) {
    fail(error);
  }
  mean_.reset();
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
  result.has_all_tiles = pending_.empty() && !mean_;
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
