#include "ops/host_threads.h"

#include <algorithm>

namespace headlight::ops {

HostThreads::HostThreads(std::uint32_t count) {
  const std::uint32_t all = count > 0 ? count : std::max(1u, std::thread::hardware_concurrency());
  for (std::uint32_t i = 1; i < all; ++i) threads_.emplace_back([this] { work(); });
}

HostThreads::~HostThreads() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
}

void HostThreads::run(std::uint32_t count, double multiply_adds, const std::function<void(std::uint32_t)>& part) {
  if (multiply_adds < kWorthThreads) {
    for (std::uint32_t i = 0; i < count; ++i) part(i);
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    part_ = &part;
    count_ = count;
    next_ = 0;
    failure_ = nullptr;
    ++loop_;
  }
  if (count > 1) begun_.notify_all();
  take_parts(part, count);
  std::unique_lock lock(mutex_);
  part_ = nullptr;  // a thread that wakes up only now has nothing to do
  ended_.wait(lock, [&] { return helping_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void HostThreads::work() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ends_ || (loop_ != seen && part_ != nullptr); });
    if (ends_) return;
    seen = loop_;
    ++helping_;
    // Read while the lock is held: run() ends the loop by clearing them as soon as no part is left to take.
    const std::function<void(std::uint32_t)>& part = *part_;
    const std::uint32_t count = count_;
    lock.unlock();
    take_parts(part, count);
    lock.lock();
    if (--helping_ == 0) ended_.notify_all();
  }
}

void HostThreads::take_parts(const std::function<void(std::uint32_t)>& part, std::uint32_t count) {
  try {
    for (std::uint32_t i = next_++; i < count; i = next_++) part(i);
  } catch (...) {
    next_ = count;
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace headlight::ops
