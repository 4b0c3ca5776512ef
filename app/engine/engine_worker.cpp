#include "app/engine/engine_worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <variant>

#include "capture/captured_run.h"
#include "core/error.h"
#include "platform/memory.h"

namespace headlight::app {
namespace {

/// Cells evaluated before the first update of a run, and between checks for newer requests after that.
constexpr std::size_t kFirstChunkCells = std::size_t{1} << 18;
constexpr std::size_t kChunkCells = std::size_t{1} << 21;
/// Tokens are published a few at a time: a frame for each one would cost more than the token.
constexpr std::chrono::milliseconds kTranslationSlice{20};
/// Logits read at once.
constexpr std::size_t kChunkLogits = std::size_t{1} << 22;

BlockVersions versions_of(const inference::Run& run) {
  BlockVersions versions;
  for (const model::BlockRef block : run.blocks()) versions[block] = run.version(block);
  return versions;
}

}  // namespace

void EngineWorker::open(const std::string& device) {
  try {
    std::unique_ptr<Runner> runner = options_.open(device);
    close();
    runner_ = std::move(runner);
    runner_->watch_compiling(options_.watch_compiling);
    runner_->watch_passes([this](std::size_t done, std::size_t total) {
      if (is_computing_named_ || named_changes_.is_computing()) return may_go_on_asked();
      if (changes_.is_computing()) return !options_.may_go_on || options_.may_go_on(BackgroundPass::OfRequest);
      return !options_.watch_passes || options_.watch_passes(done, total);
    });
    if (std::exchange(device_, device) != device) begin_asked_again();
    is_given_up_ = false;
  } catch (const std::exception& error) {
    if (!runner_) device_error_ = line_of(error);
    result_.error = line_of(error);
    result_.error_kind = kind_of(error);
    result_.is_stale = result_.run > 0 && !runner_;
    return;
  }
  device_error_.clear();
  result_.error.clear();
  result_.device = runner_->device_name();
  loaded_.reset();
  attempted_.reset();
  translation_.reset();
  queue_.clear();
  norms_->clear();  // whose versions are of another session
  if (const std::optional<EngineRequest> again = request_) begin(*again);
}

void EngineWorker::begin(const EngineRequest& request) {
  request_ = request;
  result_.revision = request.revision;
  if (is_given_up_ && attempted_ != request.inputs) {
    attempted_ = request.inputs;
    queue_.clear();
    return reopen();
  }
  if (!runner_) {
    queue_.clear();
    return tell(device_error_);
  }
  laid_out_for_ = request.laid_out_for.empty() ? result_.shapes : request.laid_out_for;
  const bool is_opened_again = std::exchange(opening_, request.opening) != request.opening;
  if (attempted_ != request.inputs || is_opened_again) {
    translation_.reset();
    run_forward(request.inputs);
  }
  compare();
  collect();
}

void EngineWorker::load_weights(const RunSource::Source& source, const RunInputs& inputs) {
  if (source.capture) return;  // which needs none; a model's stay for when it is shown again
  const std::shared_ptr<const model::Layers>& layers = source.network->layers;
  const bool is_model = source.model != nullptr;
  const inference::Precision precision = precision_of(inputs.source);
  // The playground's weights are uploaded by its runs, but only load() frees memory and chooses the precision.
  if (!is_model && !loaded_) return;
  if (loaded_ == layers && loaded_precision_ == precision) return;
  run_.reset();  // its weights make room
  forget_named();
  changes_.clear();
  compared_.clear();
  loaded_.reset();
  try {
    if (is_model) {
      load_in_order(source, inputs);
    } else {
      runner_->load(layers, inference::Precision::F32, options_.watch_load);
    }
  } catch (...) {
    early_.reset();
    result_.is_load_error = true;
    throw;
  }
  if (!is_model) return;
  loaded_ = layers;
  loaded_precision_ = precision;
}

void EngineWorker::run_forward(const RunInputs& inputs) {
  attempted_ = inputs;
  early_.reset();
  result_.is_load_error = false;
  try {
    if (source_.forget_changed_model(inputs)) {
      ++result_.model_changes;
      lost_baseline_ = request_->baseline;
      compared_.clear();
    }
    const RunSource::Source& source = source_.build(
        inputs,
        [this](const model::Network& network, const model::ModelInput& input) { runner().expect_room(network, input); });
    load_weights(source, inputs);
    run(source, inputs);
    result_.inputs = std::make_shared<const RunInputs>(inputs);
    result_.translated.reset();
    const auto* choice = std::get_if<Model>(&inputs.source);
    if (choice && translates_itself(*choice, *source.model)) {
      translation_.emplace(*source.model, *source.prompt);
      result_.translated = std::make_shared<const Translated>(translation_->written());
    }
  } catch (const std::exception& error) {
    return fail(error);
  }
}

void EngineWorker::run(const RunSource::Source& source, const RunInputs& inputs) {
  changes_.clear();
  run_ = compute_run(*runner_, source, inputs, std::move(run_));
  const bool is_other_network = !result_.network || result_.network->layers != source.network->layers;
  if (is_other_network) result_.analyses.clear();
  result_.timing = run_->timing();
  result_.run_warning = inference::run_warning(run_->findings());
  result_.network = source.network;
  result_.input = source.input;
  result_.model = source.model;
  result_.prompt = source.prompt;
  result_.capture = source.capture;
  result_.blocks = run_->blocks();
  BlockShapes before = std::exchange(result_.shapes, {});
  if (early_) {  // its maps stay on screen until this run's are there
    before = early_->shapes();
    tiles_ = early_->take_tiles();
    early_.reset();
  }
  result_.shapes = shapes_of(*run_);
  // A stretched table of positions has no more weights than the trained one.
  result_.parameter_count = (source.model ? *source.model->network : *source.network).parameter_count();
  result_.has_logits = run_->has_logits();
  queue_.clear();  // whose tasks are of the run before
  result_.memory.reset();
  if (!result_.has_logits) result_.predictions.clear();
  result_.error.clear();
  result_.is_stale = false;
  result_.run = ++run_count_;
  tiles_.begin_run(result_.run, before, result_.shapes, versions_of(*run_));
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
  collect();
}

void EngineWorker::compare() {
  result_.baseline_error.clear();
  result_.baseline_input.reset();
  result_.baseline_tokens.reset();
  result_.pairs.reset();
  const std::shared_ptr<const inference::Run> run = run_;
  if (!request_ || !run || !result_.inputs) return;
  const bool is_baseline_anew = lost_baseline_ != request_->baseline || lost_baseline_ == *result_.inputs;
  if (is_baseline_anew) lost_baseline_.reset();
  try {
    compared_.update(lost_baseline_ ? std::nullopt : request_->baseline,
                     {.inputs = *result_.inputs, .source = source_, .run = run}, *runner_);
  } catch (const std::exception& error) {
    return fail(error);
  }
  result_.baseline_error =
      lost_baseline_ ? "the baseline's model has changed on disk since; keep a baseline again" : compared_.refusal();
  const std::shared_ptr<const inference::Run> other = compared_.run();
  result_.baseline_input = other ? compared_.aligned_tokens() : nullptr;
  result_.baseline_tokens = other ? compared_.tokens() : nullptr;
  result_.pairs = compared_.pairs();
  tiles_.compare_with(other ? versions_of(*other) : BlockVersions());
  const auto layers_of = [](const inference::Run& of) { return of.inputs().network->layers.get(); };
  norms_->keep_only(std::array{layers_of(*run), layers_of(other ? *other : *run)});
}

void EngineWorker::evaluate_some() {
  if (translation_) translate_some();
  if (run_ && !queue_.is_empty()) {
    const std::size_t cells = std::exchange(is_first_chunk_, false) ? kFirstChunkCells : kChunkCells;
    const std::size_t vocabulary = run_->has_logits() ? result_.network->layers->unembedding->linear.out() : 1;
    const std::size_t states = std::max<std::size_t>(kChunkLogits / vocabulary, 1);
    try {
      queue_.answer_some({.run = *run_, .baseline = compared_.run().get(), .baseline_itself = compared_.itself().get()},
                         {.cells = cells, .states = states},
                         [this](const Reads& reads, std::uint32_t line, std::size_t most) {
                           return changes_.compute(
                               *runner_, {.run = run_, .baseline = compared_.run(), .baseline_itself = compared_.itself()},
                               reads, line, most);
                         });
    } catch (const std::exception& error) {
      if (kind_of(error) != ErrorKind::Cancelled) fail(error);  // a newer request waits, and collects anew
    }
    if (queue_.is_empty()) changes_.clear();
  }
  if (!has_more() && result_.error.empty()) was_lost_ = false;
}

void EngineWorker::work_while_idle() {
  try {
    runner_->work_while_idle(run_);
  } catch (const std::exception& error) {
    fail(error);
  }
}

void EngineWorker::give_back_unused_memory() {
  beside_.reset();  // whose runs went with the last task
  if (runner_) runner_->give_back_unused_memory();
  // The process would only ever grow while texts and models change. Takes some ms for 100 MiB. A processor's device memory
  // is the host's: after the device.
  platform::return_freed_memory();
}

EngineResult EngineWorker::snapshot() const {
  EngineResult result = result_;
  result.tiles = tiles_.tiles();
  result.has_all_tiles = !queue_.has([](const Query& query) { return std::holds_alternative<TileQuery>(query); });
  result.progress = queue_.progress();
  if (const auto* captured = dynamic_cast<const capture::CapturedRun*>(run_.get())) {
    result.capture_warning = captured->warning();
  }
  return result;
}

Runner& EngineWorker::runner() {
  if (!runner_) throw Error("{}", device_error_);
  return *runner_;
}

std::optional<KnownRun> EngineWorker::find(const RunInputs& inputs) {
  const bool is_newest = run_ && !result_.is_stale && result_.inputs && *result_.inputs == inputs;
  if (is_newest) return KnownRun{.run = run_, .source = source_.build(inputs)};
  if (!compared_.run() || compared_.inputs() != inputs) return std::nullopt;
  RunSource source = source_;  // which stays the newest run's
  return KnownRun{.run = compared_.itself(), .source = source.build(inputs)};
}

void EngineWorker::fail(const std::exception& error) {
  early_.reset();
  if (kind_of(error) != ErrorKind::DeviceLost) return tell(line_of(error), kind_of(error));
  changes_.clear();
  run_.reset();
  if (!was_lost_) return reopen();
  is_given_up_ = true;
  device_error_ = line_of(error) + "; it was opened again and lost again by the same work";
  close();
  tell(device_error_);
}

void EngineWorker::close() {
  forget_named();  // the tasks that name it go on
  queue_.clear();
  changes_.clear();
  early_.reset();
  compared_.clear();
  run_.reset();
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

void EngineWorker::tell(const std::string& message, ErrorKind kind) {
  result_.error = message;
  result_.error_kind = kind;
  result_.is_stale = result_.run > 0;
}

}  // namespace headlight::app
