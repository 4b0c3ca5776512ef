#include "app/engine.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "app/engine_worker.h"

namespace headlight::app {

const attention::Tile* EngineResult::tile(const attention::TileRequest& request) const {
  const auto found = tiles.find(request);
  return found == tiles.end() ? nullptr : found->second.tile.get();
}

bool EngineResult::is_current(const attention::TileRequest& request) const {
  const auto found = tiles.find(request);
  return found != tiles.end() && found->second.run == run;
}

namespace {

/// How long nobody must have wanted anything before the worker spends time on itself.
constexpr std::chrono::milliseconds kIdle{1500};

}  // namespace

/// The mailbox between the window's thread and the worker's: the newest wish in, the newest picture out.
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

  void set_device(std::string device) {
    {
      const std::lock_guard lock(mutex_);
      device_ = std::move(device);
    }
    changed_.notify_all();
  }

  std::optional<EngineResult> poll() {
    const std::lock_guard lock(mutex_);
    return std::exchange(published_, std::nullopt);
  }

  bool is_busy() const {
    const std::lock_guard lock(mutex_);
    return !is_idle() || published_.has_value();
  }

  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return is_idle(); });
  }

 private:
  bool is_idle() const { return !is_working_ && !wanted_ && !device_; }

  void work() {
    EngineWorker worker(options_.open, options_.tile_bytes);
    std::unique_lock lock(mutex_);
    while (true) {
      const auto has_work = [&] { return is_stopping_ || wanted_ || device_ || worker.has_more(); };
      while (worker.has_idle_work() && !changed_.wait_for(lock, kIdle, has_work)) {
        lock.unlock();
        worker.work_while_idle();
        lock.lock();
      }
      changed_.wait(lock, has_work);
      if (is_stopping_) return;
      is_working_ = true;
      const std::optional<std::string> device = std::exchange(device_, std::nullopt);
      const std::optional<EngineRequest> wanted = std::exchange(wanted_, std::nullopt);
      lock.unlock();
      if (device) worker.open(*device);
      if (wanted) worker.begin(*wanted);
      worker.evaluate_some();
      EngineResult picture = worker.picture();
      lock.lock();
      published_ = std::move(picture);
      is_working_ = worker.has_more();
      lock.unlock();
      idle_.notify_all();
      if (options_.wake) options_.wake();
      lock.lock();
    }
  }

  EngineOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::optional<EngineRequest> wanted_;
  std::optional<std::string> device_;  ///< to open; the first one is set by the constructor
  std::optional<EngineResult> published_;
  bool is_working_ = false;
  bool is_stopping_ = false;
  std::thread thread_;  ///< last: it starts when everything above is there
};

Engine::Engine(EngineOptions options) : worker_(std::make_unique<Worker>(std::move(options))) {}
Engine::~Engine() = default;

void Engine::request(EngineRequest request) { worker_->request(std::move(request)); }
std::optional<EngineResult> Engine::poll() { return worker_->poll(); }
void Engine::set_device(std::string device) { worker_->set_device(std::move(device)); }
bool Engine::is_busy() const { return worker_->is_busy(); }
void Engine::wait_until_idle() { worker_->wait_until_idle(); }

}  // namespace headlight::app
