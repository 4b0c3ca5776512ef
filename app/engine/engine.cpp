#include "app/engine/engine.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "app/engine/engine_runner.h"
#include "app/engine/engine_tasks.h"
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

std::optional<std::uint32_t> EngineResult::in_reference(std::uint32_t batch, std::uint32_t token) const {
  if (!pairs) return token;
  const std::uint32_t found = pairs->predicted().at(batch).at(token);
  return found == inference::kNoCounterpart ? std::nullopt : std::optional(found);
}

std::optional<std::uint32_t> EngineResult::from_reference(std::uint32_t batch, std::uint32_t token) const {
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

/// The mailbox between the window's thread and the worker's: the newest request in, the newest result out.
class Engine::Worker {
 public:
  explicit Worker(EngineOptions options) : options_(std::move(options)), device_(options_.device) {
    thread_ = std::thread([this] { work(); });
  }

  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void request(EngineRequest wanted) {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = std::move(wanted);
    }
    changed_.notify_all();
  }

  const std::shared_ptr<EngineTasks>& tasks() const { return tasks_; }

  void set_device(std::string device) {
    {
      const std::lock_guard lock(mutex_);
      device_ = std::move(device);
    }
    changed_.notify_all();
  }

  std::optional<LoadProgress> load_progress() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }

  std::optional<CompileProgress> compile_progress() const {
    const std::lock_guard lock(mutex_);
    return compiling_;
  }

  std::optional<PassProgress> pass_progress() const {
    const std::lock_guard lock(mutex_);
    return passing_;
  }

  void cancel_load() {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = progress_.has_value() || passing_.has_value();
  }

  std::optional<EngineResult> poll() {
    const std::lock_guard lock(mutex_);
    return std::exchange(published_, std::nullopt);
  }

  bool is_busy() const {
    const std::lock_guard lock(mutex_);
    return !is_idle() || published_.has_value();
  }

  bool wait_for(std::uint64_t revision, std::chrono::microseconds longest) const {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, longest,
                          [&] { return published_ && published_->revision >= revision && published_->first_layers == 0; });
  }

  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return is_idle(); });
  }

 private:
  void announce_task() {
    { const std::lock_guard lock(mutex_); }  // the worker looks or waits, and is never between the two
    changed_.notify_all();
  }

  bool is_idle() const { return !is_working_ && !wanted_ && !device_; }

  /// Called during the upload of weights: may it continue?
  bool watch_load(std::size_t done_bytes, std::size_t total_bytes) {
    const std::size_t step = total_bytes / kProgressSteps + 1;
    bool is_update = false;
    bool goes_on = false;
    {
      const std::lock_guard lock(mutex_);
      is_update = !progress_ || progress_->done_bytes / step != done_bytes / step;
      progress_ = {.done_bytes = done_bytes, .total_bytes = total_bytes};
      const bool is_outdated = wanted_ && (model_path(wanted_->inputs.source) != model_path(computing_.source) ||
                                           precision_of(wanted_->inputs.source) != precision_of(computing_.source));
      goes_on = !is_stopping_ && !is_cancelled_ && !device_ && !is_outdated;
    }
    if (is_update && options_.wake) options_.wake();
    return goes_on;
  }

  /// Called while kernels are compiled. Those that are compiled while the engine is idle are not published.
  void watch_compiling(std::size_t done, std::size_t total) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_working_) return;
      compiling_ = done < total ? std::optional(CompileProgress{.done = done, .total = total}) : std::nullopt;
    }
    if (options_.watch_compiling) options_.watch_compiling(done, total);
    if (options_.wake) options_.wake();
  }

  /// Called during a long pass: may it continue? Those of tasks, which other threads wait for, aren't published and go on.
  bool watch_passes(std::size_t done, std::size_t total) {
    bool goes_on = false;
    {
      const std::lock_guard lock(mutex_);
      if (!is_beginning_) return !is_stopping_;
      passing_ = {.done = done, .total = total};
      const bool is_outdated = wanted_ && wanted_->inputs != computing_;
      goes_on = !is_stopping_ && !is_cancelled_ && !device_ && !is_outdated;
    }
    if (options_.wake) options_.wake();
    return goes_on;
  }

  /// May a pass that nothing on screen needs go on? Not where inputs wait that it isn't of.
  bool may_go_on() const {
    const std::lock_guard lock(mutex_);
    return !is_stopping_ && !device_ && !(wanted_ && wanted_->inputs != computing_);
  }

  /// A model's first layers are there, and the others are still being loaded.
  void show_early(EngineResult result) {
    {
      const std::lock_guard lock(mutex_);
      published_ = std::move(result);
    }
    if (options_.wake) options_.wake();
  }

  std::vector<Query> newer_queries() const {
    const std::lock_guard lock(mutex_);
    return wanted_ && wanted_->inputs == computing_ ? wanted_->queries : std::vector<Query>();
  }

  void work() {
    EngineWorker worker({.open = options_.open,
                         .tile_bytes = options_.tile_bytes,
                         .models = options_.models,
                         .watch_load = [this](std::size_t done, std::size_t total) { return watch_load(done, total); },
                         .watch_compiling = [this](std::size_t done, std::size_t total) { watch_compiling(done, total); },
                         .watch_passes = [this](std::size_t done, std::size_t total) { return watch_passes(done, total); },
                         .may_go_on = [this] { return may_go_on(); },
                         .show_early = [this](EngineResult result) { show_early(std::move(result)); },
                         .newer_queries = [this] { return newer_queries(); },
                         .least_rest_ms = options_.least_rest_ms});
    std::unique_lock lock(mutex_);
    bool has_worked = false;  // before, there is no memory to give back
    while (true) {
      const auto has_work = [&] { return is_stopping_ || wanted_ || device_ || worker.has_more() || tasks_->has_more(); };
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
      if (is_stopping_) {
        lock.unlock();
        return tasks_->close();
      }
      is_working_ = true;
      const std::optional<std::string> device = std::exchange(device_, std::nullopt);
      const std::optional<EngineRequest> wanted = std::exchange(wanted_, std::nullopt);
      if (wanted) computing_ = wanted->inputs;
      is_beginning_ = true;
      lock.unlock();
      if (device) worker.open(*device);
      if (wanted) worker.begin(*wanted);
      lock.lock();
      is_beginning_ = false;
      passing_.reset();
      lock.unlock();
      worker.evaluate_some();
      do_task(worker);
      EngineResult snapshot = worker.snapshot();
      lock.lock();
      published_ = std::move(snapshot);
      progress_.reset();
      compiling_.reset();
      is_cancelled_ = false;
      is_working_ = worker.has_more();
      lock.unlock();
      idle_.notify_all();
      if (options_.wake) options_.wake();
      lock.lock();
    }
  }

  /// One at a time, after some tiles: the user's requests don't wait for all of them, nor they for the last tile.
  void do_task(EngineWorker& worker) {
    const std::exception_ptr failure = tasks_->do_next(worker);
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      worker.note_failure(error);
    }
  }

  EngineOptions options_;
  std::shared_ptr<EngineTasks> tasks_ = std::make_shared<EngineTasks>([this] { announce_task(); });
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  mutable std::condition_variable idle_;  ///< something was published
  std::optional<EngineRequest> wanted_;
  std::optional<std::string> device_;  ///< to open; the first one is set by the constructor
  std::optional<EngineResult> published_;
  std::optional<LoadProgress> progress_;
  std::optional<CompileProgress> compiling_;
  std::optional<PassProgress> passing_;
  RunInputs computing_;        ///< of the newest request that was begun
  bool is_beginning_ = false;  ///< is that request's pass computed now?
  bool is_cancelled_ = false;
  bool is_working_ = false;
  bool is_stopping_ = false;
  std::thread thread_;  ///< last member: started after all others are initialised
};

Engine::Engine(EngineOptions options) : worker_(std::make_unique<Worker>(std::move(options))) {}
Engine::~Engine() = default;

void Engine::request(EngineRequest request) { worker_->request(std::move(request)); }
std::optional<EngineResult> Engine::poll() { return worker_->poll(); }
void Engine::set_device(std::string device) { worker_->set_device(std::move(device)); }
std::optional<LoadProgress> Engine::load_progress() const { return worker_->load_progress(); }
std::optional<CompileProgress> Engine::compile_progress() const { return worker_->compile_progress(); }
std::optional<PassProgress> Engine::pass_progress() const { return worker_->pass_progress(); }
RunnerFactory Engine::shared_device() const {
  return [tasks = worker_->tasks()](const std::string& /*device*/) { return std::make_unique<EngineRunner>(tasks); };
}
void Engine::cancel_load() { worker_->cancel_load(); }
bool Engine::is_busy() const { return worker_->is_busy(); }
bool Engine::wait_for(std::uint64_t revision, std::chrono::microseconds longest) const {
  return worker_->wait_for(revision, longest);
}
void Engine::wait_until_idle() { worker_->wait_until_idle(); }

}  // namespace headlight::app
