#include "app/engine/engine.h"

#include <utility>

#include "app/engine/engine_worker.h"

namespace headlight::app {

const attention::Tile* EngineResult::tile(const TileQuery& query) const {
  const auto found = tiles.find(query);
  return found == tiles.end() ? nullptr : found->second.tile.get();
}

bool EngineResult::is_current(const TileQuery& query) const {
  const auto found = tiles.find(query);
  return found != tiles.end() && found->second.run == run;
}

std::optional<std::uint32_t> EngineResult::in_baseline(std::uint32_t batch, std::uint32_t token) const {
  if (!pairs) return token;
  const std::uint32_t found = pairs->predicted().at(batch).at(token);
  return found == inference::kNoCounterpart ? std::nullopt : std::optional(found);
}

std::optional<std::uint32_t> EngineResult::from_baseline(std::uint32_t batch, std::uint32_t token) const {
  if (!pairs) return token;
  const std::vector<std::uint32_t>& tokens = pairs->predicted().at(batch);
  const auto found = std::ranges::find(tokens, token);
  return found == tokens.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(found - tokens.begin()));
}

const Analysed* EngineResult::analysed(const AnalysisQuery& query) const {
  const auto known = analyses.find(query);
  return known == analyses.end() ? nullptr : &known->second;
}

const Prediction* EngineResult::prediction(const PredictionQuery& request) const {
  const auto found = predictions.find(request);
  return found == predictions.end() ? nullptr : &found->second;
}

namespace {

/// How long there must have been no request before the worker spends time on itself.
constexpr std::chrono::milliseconds kIdle{1500};
/// And before memory that is no longer used goes back to the system.
constexpr std::chrono::milliseconds kMemoryIdle{3000};

/// Interval of progress updates of a load.
constexpr std::size_t kProgressSteps = 200;

}  // namespace

Engine::Engine(EngineOptions options) : options_(std::move(options)), device_(options_.device) {
  thread_ = std::thread([this] { work(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Engine::request(EngineRequest request) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(request);
  }
  changed_.notify_all();
}

void Engine::add(std::shared_ptr<AskedTask> task) {
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Engine::set_device(std::string device) {
  {
    const std::lock_guard lock(mutex_);
    device_ = std::move(device);
  }
  changed_.notify_all();
}

EngineProgress Engine::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void Engine::cancel_load() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = progress_.load.has_value() || progress_.pass.has_value();
}

std::optional<EngineResult> Engine::poll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(published_, std::nullopt);
}

bool Engine::is_busy() const {
  const std::lock_guard lock(mutex_);
  return !is_idle() || published_.has_value();
}

bool Engine::wait_for(std::uint64_t revision, std::chrono::microseconds longest) const {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, longest,
                        [&] { return published_ && published_->revision >= revision && published_->first_layers == 0; });
}

void Engine::wait_until_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return is_idle() && asked_.empty() && !is_asked_; });
}

void Engine::wake() const {
  if (options_.wake) options_.wake();
}

bool Engine::watch_load(std::size_t done_bytes, std::size_t total_bytes) {
  const std::size_t step = total_bytes / kProgressSteps + 1;
  bool is_update = false;
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    is_update = !progress_.load || progress_.load->done / step != done_bytes / step;
    progress_.load = {.done = done_bytes, .total = total_bytes};
    const bool is_outdated = wanted_ && (model_path(wanted_->inputs.source) != model_path(computing_.source) ||
                                         precision_of(wanted_->inputs.source) != precision_of(computing_.source));
    goes_on = !is_stopping_ && !is_cancelled_ && !device_ && !is_outdated;
  }
  if (is_update) wake();
  return goes_on;
}

void Engine::watch_compiling(std::size_t done, std::size_t total) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_working_) return;
    progress_.kernels = done < total ? std::optional(Progress{.done = done, .total = total}) : std::nullopt;
  }
  if (options_.watch_compiling) options_.watch_compiling(done, total);
  wake();
}

bool Engine::watch_passes(std::size_t done, std::size_t total) {
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_beginning_) return !is_stopping_;
    progress_.pass = {.done = done, .total = total};
    const bool is_outdated = wanted_ && wanted_->inputs != computing_;
    goes_on = !is_stopping_ && !is_cancelled_ && !device_ && !is_outdated;
  }
  wake();
  return goes_on;
}

bool Engine::may_go_on(BackgroundPass pass) const {
  const std::lock_guard lock(mutex_);
  const bool is_outdated =
      wanted_ && pass != BackgroundPass::OfTaskAgain && (pass == BackgroundPass::OfTask || wanted_->inputs != computing_);
  return !is_stopping_ && !device_ && !is_outdated;
}

void Engine::show_early(EngineResult result) {
  {
    const std::lock_guard lock(mutex_);
    published_ = std::move(result);
  }
  wake();
}

std::vector<Query> Engine::newer_queries() const {
  const std::lock_guard lock(mutex_);
  return wanted_ && wanted_->inputs == computing_ ? wanted_->queries : std::vector<Query>();
}

void Engine::work() {
  EngineWorker worker({.open = options_.open,
                       .tile_bytes = options_.tile_bytes,
                       .models = options_.models,
                       .watch_load = [this](std::size_t done, std::size_t total) { return watch_load(done, total); },
                       .watch_compiling = [this](std::size_t done, std::size_t total) { watch_compiling(done, total); },
                       .watch_passes = [this](std::size_t done, std::size_t total) { return watch_passes(done, total); },
                       .may_go_on = [this](BackgroundPass pass) { return may_go_on(pass); },
                       .show_early = [this](EngineResult result) { show_early(std::move(result)); },
                       .newer_queries = [this] { return newer_queries(); },
                       .least_rest_ms = options_.least_rest_ms});
  std::unique_lock lock(mutex_);
  bool has_worked = false;  // before, there is no memory to give back
  while (true) {
    const auto has_work = [&] {
      return is_stopping_ || wanted_ || device_ || worker.has_more() || !asked_.empty() || worker.has_asked();
    };
    const auto rest = [&] { return worker.warms_up() ? std::chrono::milliseconds(0) : kIdle; };
    while (worker.has_idle_work() && !changed_.wait_for(lock, rest(), has_work)) {
      lock.unlock();
      worker.work_while_idle();
      lock.lock();
    }
    if (has_worked && !changed_.wait_for(lock, kMemoryIdle, has_work)) {
      lock.unlock();
      worker.give_back_unused_memory();
      lock.lock();
    }
    changed_.wait(lock, has_work);
    has_worked = true;
    if (is_stopping_) return;
    const bool is_requested = wanted_ || device_ || worker.has_more();
    is_working_ = is_requested;
    const std::vector<std::shared_ptr<AskedTask>> asked = std::exchange(asked_, {});
    is_asked_ = is_asked_ || !asked.empty();
    const std::optional<std::string> device = std::exchange(device_, std::nullopt);
    const std::optional<EngineRequest> wanted = std::exchange(wanted_, std::nullopt);
    if (wanted) computing_ = wanted->inputs;
    is_beginning_ = is_requested;
    lock.unlock();
    for (const std::shared_ptr<AskedTask>& task : asked) worker.ask(task);
    if (device) worker.open(*device);
    if (wanted) worker.begin(*wanted);
    lock.lock();
    is_beginning_ = false;
    progress_.pass.reset();
    lock.unlock();
    if (is_requested) {
      worker.evaluate_some();
    } else if (worker.has_idle_work() && worker.warms_up()) {
      worker.work_while_idle();  // what the next keystroke needs comes before what is asked in the background
    } else {
      worker.answer_asked();
    }
    const bool is_news = is_requested || worker.take_failed();  // a task tells by itself
    std::optional<EngineResult> snapshot;
    if (is_news) snapshot = worker.snapshot();
    lock.lock();
    if (is_news) published_ = std::move(snapshot);
    progress_ = {};
    is_cancelled_ = false;
    is_working_ = worker.has_more();
    is_asked_ = worker.has_asked();
    lock.unlock();
    idle_.notify_all();
    if (is_news) wake();
    lock.lock();
  }
}

}  // namespace headlight::app
