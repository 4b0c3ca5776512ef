#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headlight::ops {

/// Threads that share a loop, one for each of the processor's cores and asleep between two loops. One owner calls run().
class HostThreads {
 public:
  /// `count` threads, the caller of run() included; 0: one a core.
  explicit HostThreads(std::uint32_t count = 0);
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  /// Calls part(0) … part(count − 1), each once, on the caller's thread and the others, and returns when all have ended.
  /// When one throws, parts that haven't begun are left out, and run() throws the first part's exception. Loops of less
  /// than kWorthThreads multiply-adds, all parts together, stay on the caller's thread.
  void run(std::uint32_t count, double multiply_adds, const std::function<void(std::uint32_t)>& part);
  static constexpr double kWorthThreads = 2.5e5;  ///< another thread takes some 20 µs to wake up

 private:
  void work();
  void take_parts(const std::function<void(std::uint32_t)>& part, std::uint32_t count);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  const std::function<void(std::uint32_t)>* part_ = nullptr;  ///< of the loop under way
  std::uint32_t count_ = 0;
  std::atomic<std::uint32_t> next_ = 0;
  std::uint64_t loop_ = 0;     ///< number of the loop begun last
  std::uint32_t helping_ = 0;  ///< threads within it
  bool ends_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  ///< last: they use the others
};

}  // namespace headlight::ops
