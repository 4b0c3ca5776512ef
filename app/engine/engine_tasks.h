#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

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

}  // namespace headlight::app
