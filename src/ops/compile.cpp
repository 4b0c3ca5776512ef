#include "ops/compile.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "gpu/buffer.h"
#include "gpu/context.h"
#include "gpu/stream.h"

namespace headlight::ops {
namespace {

using Clock = std::chrono::steady_clock;

std::uint32_t thread_count(std::uint32_t wanted, std::size_t kernels) {
  constexpr std::uint32_t kMax = 4;  // a device of its own for each costs some 20 ms and a few megabytes
  const std::uint32_t count = wanted > 0 ? wanted : std::clamp(std::thread::hardware_concurrency(), 1u, kMax);
  return static_cast<std::uint32_t>(std::min<std::size_t>(count, kernels));
}

/// Makes the driver compile a kernel: a dispatch without workgroups reads and writes nothing.
void dispatch_nothing(gpu::Context& context, const gpu::Kernel& kernel, const gpu::Buffer& any) {
  const std::vector<gpu::Slice> bindings(kernel.reflection().bindings.size(), any);
  const std::vector<std::byte> parameters(kernel.reflection().push_constant_bytes);
  gpu::Stream stream(context);
  stream.dispatch(kernel, bindings, parameters, {.x = 0, .y = 0, .z = 0});
  std::move(stream).submit().wait();
}

/// False when the driver refuses it.
bool try_to_compile(gpu::Kernel& kernel) {
  try {
    kernel.compile();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::DeviceLost) throw;
    return false;
  }
}

gpu::Buffer any_buffer(gpu::Context& context) {
  constexpr std::size_t kBytes = 4096;
  return {context, kBytes, gpu::Memory::Device, "a kernel that is being compiled"};
}

/// Kernels that threads take from the front.
class Queue {
 public:
  explicit Queue(std::size_t count) : count_(count) {}
  std::optional<std::size_t> take() {
    const std::size_t index = next_++;
    return index < count_ ? std::optional(index) : std::nullopt;
  }
  void clear() { next_ = count_; }
  std::size_t left() const { return count_ - std::min<std::size_t>(next_, count_); }

 private:
  std::size_t count_;
  std::atomic<std::size_t> next_{0};
};

/// Threads that compile the rest of a queue on devices of their own, for the driver's cache.
class Helpers {
 public:
  Helpers(const gpu::Context& context, std::span<gpu::Kernel* const> kernels, Queue& queue, std::uint32_t threads)
      : kernels_(kernels), queue_(queue), options_(context.options()) {
    options_.device = std::to_string(context.device().index);
    running_ = threads;
    for (std::uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Helpers() { queue_.clear(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// The next kernel that a thread has finished, compiled or not; nullopt when all threads have ended.
  std::optional<std::size_t> next_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !done_.empty() || running_ == 0; });
    if (done_.empty()) return std::nullopt;
    const std::size_t index = done_.front();
    done_.pop_front();
    return index;
  }

 private:
  void work() {
    std::vector<std::size_t> taken;
    try {
      gpu::Context context(options_);
      const gpu::Buffer any = any_buffer(context);
      while (const std::optional<std::size_t> index = queue_.take()) {
        taken.push_back(*index);
        const gpu::Kernel kernel(context, kernels_[*index]->source());
        dispatch_nothing(context, kernel, any);
      }
    } catch (
        const std::exception&) {  // NOLINT(bugprone-empty-catch): the device that needs it compiles it or reports why not
    }
    // Only once its device is destroyed has the driver written all compiled kernels to its cache.
    const std::lock_guard lock(mutex_);
    done_.insert(done_.end(), taken.begin(), taken.end());
    --running_;
    changed_.notify_all();
  }

  std::span<gpu::Kernel* const> kernels_;
  Queue& queue_;
  gpu::ContextOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> done_;
  std::uint32_t running_ = 0;
  std::vector<std::jthread> threads_;  ///< last: they end before what they use goes
};

/// Compiles for drivers that compile in the first dispatch.
void compile_by_running(gpu::Context& context, std::span<gpu::Kernel* const> kernels, std::uint32_t threads,
                        std::chrono::milliseconds long_one, const std::function<void()>& tell) {
  const gpu::Buffer any = any_buffer(context);
  const auto compile = [&](std::size_t index) {
    if (try_to_compile(*kernels[index])) dispatch_nothing(context, *kernels[index], any);
    tell();
  };
  Queue queue(kernels.size());
  std::optional<Helpers> helpers;
  while (const std::optional<std::size_t> index = queue.take()) {
    const auto start = Clock::now();
    compile(*index);
    const bool pays = Clock::now() - start >= long_one && queue.left() > 1;
    if (pays && threads > 1 && !helpers) helpers.emplace(context, kernels, queue, threads - 1);
  }
  if (!helpers) return;
  while (const std::optional<std::size_t> index = helpers->next_done()) compile(*index);
}

/// Compiles for drivers that compile when a pipeline is made.
void compile_by_making(std::span<gpu::Kernel* const> kernels, std::uint32_t threads, const std::function<void()>& tell) {
  if (threads == 1) {
    for (gpu::Kernel* kernel : kernels) {
      try_to_compile(*kernel);
      tell();
    }
    return;
  }
  Queue queue(kernels.size());
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t done = 0;
  std::uint32_t running = threads;
  std::exception_ptr failure;
  std::vector<std::jthread> workers;  // last member: joined before what they use is destroyed
  for (std::uint32_t i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      try {
        while (const std::optional<std::size_t> index = queue.take()) {
          try_to_compile(*kernels[*index]);
          const std::lock_guard lock(mutex);
          ++done;
          changed.notify_all();
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      --running;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  for (std::size_t told = 0; told < done || running > 0;) {
    changed.wait(lock, [&] { return told < done || running == 0; });
    for (; told < done; ++told) tell();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void compile_in_order(gpu::Context& context, std::span<gpu::Kernel* const> kernels, const CompileOptions& options) {
  if (kernels.empty()) return;
  std::size_t done = 0;
  const auto tell = [&] {
    if (options.observer) options.observer(++done, kernels.size());
  };
  if (options.observer) options.observer(0, kernels.size());
  const std::uint32_t threads = thread_count(options.threads, kernels.size());
  if (context.device().compiles_when_run) return compile_by_running(context, kernels, threads, options.long_one, tell);
  compile_by_making(kernels, threads, tell);
}

}  // namespace headlight::ops
