#include "app/engine/engine_tasks.h"

#include <future>
#include <utility>

#include "core/error.h"

namespace headlight::app {

struct EngineTasks::Waiting {
  Task task;
  std::promise<void> done;
};

void EngineTasks::add(const std::shared_ptr<Waiting>& waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      waiting_.push_back(waiting);
      count_ = waiting_.size();
      return wake_();
    }
  }
  waiting->done.set_exception(std::make_exception_ptr(Error(ErrorKind::Cancelled, "the engine has ended")));
}

void EngineTasks::run(const Task& task) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->task = task;
  std::future<void> done = waiting->done.get_future();
  add(waiting);
  done.get();
}

void EngineTasks::post(Task task) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->task = std::move(task);
  add(waiting);
}

std::exception_ptr EngineTasks::do_next(EngineWorker& worker) {
  std::shared_ptr<Waiting> next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return nullptr;
    next = std::move(waiting_.front());
    waiting_.pop_front();
    count_ = waiting_.size();
  }
  try {
    next->task(worker);
    next->done.set_value();
    return nullptr;
  } catch (...) {
    next->done.set_exception(std::current_exception());
    return std::current_exception();
  }
}

void EngineTasks::close() {
  std::deque<std::shared_ptr<Waiting>> left;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    left = std::exchange(waiting_, {});
    count_ = 0;
  }
  for (const std::shared_ptr<Waiting>& waiting : left) {
    waiting->done.set_exception(std::make_exception_ptr(Error(ErrorKind::Cancelled, "the engine has ended")));
  }
}

}  // namespace headlight::app
