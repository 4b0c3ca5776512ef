#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>

#include "app/engine/runner.h"

namespace headlight::app {

class EngineWorker;

/// What other threads ask of the engine's thread: pieces of work on its device, done one at a time between the user's
/// requests. Shared by the engine and its callers, so that asking an engine that has ended fails instead of waiting.
class EngineTasks {
 public:
  using Task = std::function<void(EngineWorker&)>;

  /// `wake`: called from any thread when there is a task, and never once close() has returned. It must not call this.
  explicit EngineTasks(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Does the task on the engine's thread and waits for it. Throws what it throws, and an Error of kind Cancelled when the
  /// engine ends before. Not from the engine's thread.
  void run(const Task& task);
  /// The same without waiting, for tasks that don't throw; nothing happens when the engine has ended.
  void post(Task task);

  // The engine's thread:
  bool has_more() const { return count_ > 0; }
  /// Does the first task. Returns what it threw, which its caller gets too.
  std::exception_ptr do_next(EngineWorker& worker);
  /// The engine ends: tasks that wait are cancelled.
  void close();

 private:
  struct Waiting;
  void add(const std::shared_ptr<Waiting>& waiting);

  std::function<void()> wake_;
  std::mutex mutex_;  ///< held while `wake` is called
  std::deque<std::shared_ptr<Waiting>> waiting_;
  std::atomic<std::size_t> count_{0};  ///< in waiting_
  bool is_closed_ = false;
};

/// The engine's device as a Runner for another thread: its runs are computed and asked on the engine's thread, piece by
/// piece between the user's requests, with the weights that are on the device already. Any one thread; blocks while the
/// engine is busy. Throws Error of kind Cancelled when the engine has ended, and of kind DeviceLost when its device was
/// opened again.
class EngineRunner final : public Runner {
 public:
  explicit EngineRunner(std::shared_ptr<EngineTasks> tasks) : tasks_(std::move(tasks)) {}

  std::string device_name() const override;
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override;
  /// The engine's weights stay.
  void unload() override {}
  /// A base that its caller keeps is shared with; one that is given away makes room.
  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override;
  /// Of a run of this runner.
  std::shared_ptr<const inference::Run> run_copies(const inference::Run& base, std::uint32_t line,
                                                   std::span<const inference::Interventions> changes) override;
  std::shared_ptr<const inference::Run> run_capture(std::shared_ptr<const capture::CaptureFile> file) override;
  std::optional<KnownRun> find(const RunInputs& inputs) override;

 private:
  std::shared_ptr<EngineTasks> tasks_;
};

}  // namespace headlight::app
