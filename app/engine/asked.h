#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "app/shapes/quantities/task.h"
#include "core/error.h"

namespace headlight::app {

/// The owner of a pass that is computed in the background: a request's, which other inputs cancel; a task's, which any
/// request cancels; one of a task that requests have cancelled so often that it goes on, so that a user who goes on typing
/// waits for it once.
enum class BackgroundPass : std::uint8_t { OfRequest, OfTask, OfTaskAgain };

/// A task of the engine's queue that belongs to no request, as the engine's thread sees it.
class AskedTask {
 public:
  AskedTask() = default;
  AskedTask(const AskedTask&) = delete;
  AskedTask& operator=(const AskedTask&) = delete;
  virtual ~AskedTask() = default;

  virtual Task<void> begin() = 0;
  bool is_wanted() const { return is_wanted_; }
  void cancel() { is_wanted_ = false; }

 private:
  std::atomic<bool> is_wanted_{true};
};

/// The task's result so far, shared by the engine's thread and the owner of the question.
template <typename Result>
class AskedFor final : public AskedTask {
 public:
  using Tell = std::function<void(const Result&)>;
  using Begin = std::function<Task<Result>(Tell tell)>;

  AskedFor(Begin begin, std::function<void()> wake) : begin_(std::move(begin)), wake_(std::move(wake)) {}

  Task<void> begin() override {
    std::string error;
    try {
      co_await read_nothing();  // a request that waits comes first
      Tell tell = [this](const Result& so_far) { keep(so_far, {}, false); };
      Task<Result> task = begin_(std::move(tell));
      const Result found = co_await std::move(task);
      keep(found, {}, true);
      co_return;
    } catch (const std::exception& failure) {
      error = one_line(failure.what());
    }
    const std::shared_ptr<const Result> known = result();
    keep(known ? *known : Result(), std::move(error), true);
  }

  std::shared_ptr<const Result> result() const {
    const std::lock_guard lock(mutex_);
    return result_;
  }
  std::string error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  bool is_done() const {
    const std::lock_guard lock(mutex_);
    return is_done_;
  }

 private:
  void keep(const Result& found, std::string error, bool is_done) {
    auto result = std::make_shared<const Result>(found);
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(result);
      error_ = std::move(error);
      is_done_ = is_done;
    }
    if (wake_) wake_();
  }

  Begin begin_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Result> result_;
  std::string error_;
  bool is_done_ = false;
};

/// A question to the engine, answered in the background, as its owner holds it. Destroying it cancels it. May outlive the
/// engine; then nothing comes any more.
template <typename Result>
class Asked {
 public:
  Asked() = default;
  explicit Asked(std::shared_ptr<AskedFor<Result>> task) : task_(std::move(task)) {}
  Asked(Asked&& other) noexcept = default;
  Asked& operator=(Asked&& other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~Asked() {
    if (task_) task_->cancel();
  }

  explicit operator bool() const { return task_ != nullptr; }
  /// Returns the result so far; null: nothing yet.
  std::shared_ptr<const Result> result() const { return task_ ? task_->result() : nullptr; }
  /// One line: what the task threw; empty: nothing.
  std::string error() const { return task_ ? task_->error() : std::string(); }
  bool is_done() const { return task_ && task_->is_done(); }

 private:
  std::shared_ptr<AskedFor<Result>> task_;
};

}  // namespace headlight::app
