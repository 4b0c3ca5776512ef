#include "app/engine/engine_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "inference/embed.h"

namespace headlight::app {
namespace {

/// Cells evaluated before the first heatmap of a run may be seen, and between two looks at newer requests after that.
constexpr std::size_t kFirstChunkCells = std::size_t{1} << 18;
constexpr std::size_t kChunkCells = std::size_t{1} << 21;
/// Tokens are shown a few at a time: a picture of each one would cost more than the token.
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

/// A tile that showed a whole matrix shows the whole of the new one: the caller laid its request out for the run before, and
/// would otherwise see an empty frame whenever a token is added.
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
    runner_ = std::move(runner);
    runner_->watch_compiling(watch_compiling_);
    device_ = device;
    is_given_up_ = false;
  } catch (const std::exception& error) {
    if (!runner_) device_error_ = first_line(error.what());
    picture_.error = first_line(error.what());
    picture_.is_stale = picture_.run > 0 && !runner_;
    return;
  }
  device_error_.clear();
  picture_.error.clear();
  picture_.device = runner_->device_name();
  runner_has_run_ = false;
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
  picture_.revision = request.revision;
  pending_.clear();
  pending_predictions_.clear();
  if (is_given_up_ && attempted_ != request.inputs) {
    attempted_ = request.inputs;
    return reopen();
  }
  if (!runner_) return tell(device_error_);
  laid_out_for_ = request.laid_out_for.empty() ? picture_.shapes : request.laid_out_for;
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
  // The playground's weights go up with its runs, but only load() makes room and chooses the precision.
  if (!is_model && !loaded_) return;
  if (loaded_ == layers && loaded_precision_ == precision) return;
  runner_has_run_ = false;
  loaded_.reset();
  try {
    runner_->load(layers, is_model ? precision : inference::Precision::F32, watch_load_);
  } catch (...) {
    picture_.is_load_error = true;
    throw;
  }
  if (!is_model) return;
  loaded_ = layers;
  loaded_precision_ = precision;
}

void EngineWorker::run_forward(const RunInputs& inputs) {
  attempted_ = inputs;
  picture_.is_load_error = false;
  try {
    const RunSource::Source& source = source_.build(inputs);
    load_weights(source, inputs.model.precision);
    run(source, inputs);
    picture_.inputs = std::make_shared<const RunInputs>(inputs);
    picture_.translated.reset();
    if (source.model && translates_itself(inputs.model, *source.model)) {
      translation_.emplace(*source.model, *source.prompt);
      picture_.translated = std::make_shared<const Translated>(translation_->written());
    }
  } catch (const std::exception& error) {
    return fail(error);
  }
}

void EngineWorker::run(const RunSource::Source& source, const RunInputs& inputs) {
  runner_has_run_ = false;
  picture_.timing = runner_->run(source.network, *source.input, inputs.masks, inputs.gains);
  runner_has_run_ = true;
  picture_.network = source.network;
  picture_.input = source.input;
  picture_.model = source.model;
  picture_.prompt = source.prompt;
  picture_.blocks = runner_->blocks();
  const BlockShapes before = std::exchange(picture_.shapes, {});
  for (const model::BlockRef block : picture_.blocks) picture_.shapes[block] = runner_->shape(block);
  picture_.parameter_count = picture_.network->parameter_count();
  picture_.has_logits = runner_->has_logits();
  picture_.memory.reset();
  if (!picture_.has_logits) picture_.predictions.clear();
  picture_.error.clear();
  picture_.is_stale = false;
  tiles_.begin_run(++picture_.run, before, picture_.shapes);
  is_first_chunk_ = true;
}

void EngineWorker::translate_some() {
  const auto until = std::chrono::steady_clock::now() + kTranslationSlice;
  try {
    bool has_grown = true;
    while (has_grown && translation_->is_running() && std::chrono::steady_clock::now() < until) {
      const auto states = translation_->states(*picture_.input->target, predicting_layers(*picture_.network));
      has_grown = translation_->take(runner_->logits(states));
      if (has_grown) run(source_.with_target(*translation_), *attempted_);
    }
    picture_.translated = std::make_shared<const Translated>(translation_->written());
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
    follow_shape(tile, laid_out_for_, picture_.shapes);
    if (is_inside(tile, picture_.shapes)) wanted.push_back(tile);
  }
  pending_ = tiles_.missing(wanted);
  std::reverse(pending_.begin(), pending_.end());
  if (!runner_has_run_) pending_.clear();
  // A mean that is still wanted goes on: it may have taken long to come so far.
  const auto wanted_mean = mean_ ? std::ranges::find(pending_, mean_->request()) : pending_.end();
  if (wanted_mean != pending_.end() && mean_run_ == picture_.run) {
    pending_.erase(wanted_mean);
  } else {
    mean_.reset();
  }
}

void EngineWorker::collect_predictions() {
  pending_predictions_.clear();
  if (!request_ || !picture_.has_logits || !runner_has_run_) return;
  const model::TokenBatch& tokens = picture_.input->target ? *picture_.input->target : picture_.input->source;
  const std::uint32_t layers = predicting_layers(*picture_.network);
  Predictions kept;
  for (const PredictionRequest& wanted : request_->predictions) {
    if (wanted.batch >= tokens.batch || wanted.token >= tokens.length || wanted.layer > layers) continue;
    const auto known = picture_.predictions.find(wanted);
    if (known != picture_.predictions.end()) kept.insert(*known);
    if (known == picture_.predictions.end() || known->second.run != picture_.run) pending_predictions_.push_back(wanted);
  }
  picture_.predictions = std::move(kept);
  std::reverse(pending_predictions_.begin(), pending_predictions_.end());
}

void EngineWorker::collect_memory() {
  if (!request_ || !request_->wants_memory || picture_.memory || !runner_has_run_) return;
  const bool has_cross =
      std::ranges::any_of(picture_.blocks, [](model::BlockRef block) { return block.kind == model::BlockKind::Cross; });
  if (!has_cross) return;
  try {
    Tensor memory = runner_->encoder_output();
    // Without an encoder the memory is the source's token vectors, as they go to the device.
    const model::TokenBatch& source = picture_.input->source;
    if (memory.is_empty()) {
      memory = inference::embed(picture_.network->source_embedding.get(), source, {.first = 0, .count = source.length});
    }
    if (!memory.is_empty()) picture_.memory = std::make_shared<const Tensor>(std::move(memory));
  } catch (const std::exception& error) {
    fail(error);
  }
}

void EngineWorker::evaluate_some() {
  evaluate_next();
  if (!has_more() && picture_.error.empty()) was_lost_ = false;
}

void EngineWorker::evaluate_next() {
  if (translation_) translate_some();
  // A first picture, then what the model expects, then the other heads.
  const bool is_tiles_turn = is_first_chunk_ || pending_predictions_.empty();
  if (is_tiles_turn && mean_) return evaluate_mean();
  if (is_tiles_turn && !pending_.empty()) return evaluate_tiles();
  if (!pending_predictions_.empty()) evaluate_predictions();
}

void EngineWorker::evaluate_predictions() {
  const std::size_t vocabulary = std::max<std::size_t>(picture_.network->layers->unembedding->linear.out(), 1);
  const std::size_t most = std::max<std::size_t>(kChunkLogits / vocabulary, 1);
  std::vector<PredictionRequest> chunk;
  std::vector<inference::StateRef> states;
  while (!pending_predictions_.empty() && chunk.size() < most) {
    chunk.push_back(pending_predictions_.back());
    states.push_back(chunk.back().state());
    pending_predictions_.pop_back();
  }
  try {
    const Tensor logits = runner_->logits(states);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const std::span<const float> row(logits.values.data() + i * vocabulary, vocabulary);
      picture_.predictions.insert_or_assign(chunk[i], predict(row, chunk[i].keeps_logits, picture_.run));
    }
  } catch (const std::exception& error) {
    pending_predictions_.clear();
    fail(error);
  }
}

void EngineWorker::evaluate_tiles() {
  const std::size_t budget = std::exchange(is_first_chunk_, false) ? kFirstChunkCells : kChunkCells;
  std::vector<attention::TileRequest> chunk;
  std::size_t cells = 0;
  if (is_mean(pending_.back())) {
    mean_.emplace(pending_.back(), picture_.shapes);
    mean_run_ = picture_.run;
    pending_.pop_back();
    return evaluate_mean();
  }
  while (!pending_.empty() && (chunk.empty() || cells < budget) && !is_mean(pending_.back())) {
    cells += std::size_t{pending_.back().rows} * pending_.back().columns;
    chunk.push_back(pending_.back());
    pending_.pop_back();
  }
  try {
    for (attention::Tile& tile : runner_->evaluate(chunk)) tiles_.add(std::move(tile));
  } catch (const std::exception& error) {
    pending_.clear();
    fail(error);
  }
}

void EngineWorker::evaluate_mean() {
  is_first_chunk_ = false;
  try {
    mean_->advance(*runner_, kChunkCells);
    if (!mean_->is_done()) return;
    tiles_.add(mean_->take());
  } catch (const std::exception& error) {
    fail(error);
  }
  mean_.reset();
}

void EngineWorker::work_while_idle() {
  try {
    runner_->work_while_idle();
  } catch (const std::exception& error) {
    fail(error);
  }
}

EngineResult EngineWorker::snapshot() const {
  EngineResult result = picture_;
  result.tiles = tiles_.tiles();
  result.has_all_tiles = pending_.empty() && !mean_;
  return result;
}

void EngineWorker::fail(const std::exception& error) {
  if (kind_of(error) != ErrorKind::DeviceLost) return tell(first_line(error.what()));
  runner_has_run_ = false;
  if (!was_lost_) return reopen();
  is_given_up_ = true;
  device_error_ = first_line(error.what()) + "; it was opened again and lost again by the same work";
  runner_.reset();
  tell(device_error_);
}

void EngineWorker::reopen() {
  was_lost_ = !is_given_up_;  // a request that didn't lose it yet has two attempts
  is_given_up_ = false;
  runner_.reset();  // what is left of it would take memory from its successor
  ++picture_.reopenings;
  open(device_);
  if (runner_ || is_given_up_) return;
  is_given_up_ = true;
  device_error_ = "the device was lost, and opening it again failed: " + device_error_;
  tell(device_error_);
}

void EngineWorker::tell(const std::string& message) {
  picture_.error = message;
  picture_.is_stale = picture_.run > 0;
}

}  // namespace headlight::app
