#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/kernel.h"

namespace headlight::gpu {

struct Recording;

/// Names bytes on their way to the host.
struct Download {
  std::size_t index = 0;
};

/// Work on its way through the GPU. Waits for it when it goes, because the GPU still uses what it holds. When waiting fails
/// although the device isn't lost, what it holds is never freed.
class Submission {
 public:
  explicit Submission(std::unique_ptr<Recording> recording);
  ~Submission();
  Submission(Submission&&) noexcept;
  Submission& operator=(Submission&&) noexcept;

  /// Never blocks.
  bool is_ready() const;
  /// Blocks; throws Error of kind DeviceLost when the device was lost, or may have lost its memory because the computer was
  /// suspended since it was opened; OutOfDeviceMemory when the driver can't even wait.
  void wait();

  /// Bytes of a download; only when ready.
  std::span<const std::byte> bytes(Download download) const;

  template <typename T>
  std::span<const T> values(Download download) const {
    const auto raw = bytes(download);
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }

  /// First to last command by the GPU's clock, in milliseconds; 0 where the queue has no timestamps. Only when ready. A
  /// clock of few bits that went round more than once shows too little.
  double gpu_ms() const;

  /// Time of each section that Stream::mark ended. Only when ready.
  struct Section {
    std::string label;
    double gpu_ms = 0.0;
  };
  std::vector<Section> sections() const;

  std::uint32_t dispatches() const;

 private:
  void finish() noexcept;

  std::unique_ptr<Recording> recording_;
};

/// The number of workgroups that a dispatch runs along x, y and z.
struct Groups {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// Records work in order and places the barriers that its reads and writes need, also for buffers that earlier submissions
/// of the context use; nothing runs before submit(). Work that would keep the device busy for long is cut into several
/// command buffers. Throws Error of kind OutOfDeviceMemory or DeviceLost where the driver says so. One thread at a time may
/// use the streams of a context.
class Stream {
 public:
  explicit Stream(Context& context);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  Context& context() const;

  /// Copies `bytes` into the buffer when the stream runs; the host's copy is taken now.
  void upload(const Buffer& to, std::size_t offset, std::span<const std::byte> bytes);

  template <typename T>
  void upload(const Buffer& to, std::size_t offset, std::span<const T> values) {
    upload(to, offset, std::as_bytes(values));
  }

  /// Copies as many bytes as both have, from the beginning.
  void copy(const Buffer& from, const Buffer& to);

  /// A buffer of at least so many bytes for intermediate results, until the next call; freed when the stream has run.
  const Buffer& scratch(std::size_t bytes, std::string_view purpose);

  /// Sets every byte of the buffer to zero.
  void clear(const Buffer& buffer);

  /// Runs a kernel with its bindings in order of their numbers. Asserts that count, push constant size and limits fit. The
  /// dispatch of a kernel that isn't compiled yet is left out, and the stream can't be submitted.
  /// `multiply_adds` says what it costs, roughly; 0: little.
  template <typename Parameters>
  void dispatch(const Kernel& kernel, std::initializer_list<Slice> bindings, const Parameters& parameters, Groups groups,
                double multiply_adds = 0.0) {
    static_assert(std::is_trivially_copyable_v<Parameters>);
    dispatch(kernel, {bindings.begin(), bindings.size()}, std::as_bytes(std::span(&parameters, 1)), groups, multiply_adds);
  }
  void dispatch(const Kernel& kernel, std::span<const Slice> bindings, std::span<const std::byte> parameters, Groups groups,
                double multiply_adds = 0.0);

  /// Calls `work` within submit(), when everything recorded before has ended; what is recorded after sees what it wrote. It
  /// uses mapped buffers, which stay until the submission has ended, and costs so many multiply-adds. Steps without a
  /// command between them wait for the device once. Only where DeviceInfo::runs_host_steps.
  void run_on_host(std::function<void()> work, double multiply_adds = 0.0);

  /// Copies a slice to the host; read it from the submission when that is ready.
  Download download(const Slice& from);
  /// The whole of a buffer that nothing writes to any more. Where the host reads the device's memory through its cache
  /// (integrated GPUs, llvmpipe), the buffer itself is read, without a copy.
  Download download(Buffer&& from);

  /// Ends a timed section: Submission::sections() says how long the work since the last mark took.
  void mark(std::string_view label);

  /// Dispatches and steps of the host recorded so far.
  std::uint32_t dispatches() const;
  /// Returns the cost of the dispatches and host steps so far in multiply-adds, as they stated it.
  double multiply_adds() const;
  /// Returns the multiply-adds of the costliest submission's dispatches.
  double largest_submission() const;

  /// False when a dispatch was left out because its kernel isn't compiled yet: record again when it is.
  bool is_complete() const;

  /// Hands everything to the GPU: one submission, or several in order where there is much to do. Where the host has steps,
  /// this runs them and returns when only work of the device is left; what a step throws ends the stream, with nothing of it
  /// running any more.
  Submission submit() &&;

 private:
  void record(const Kernel& kernel, std::span<const Slice> bindings, std::span<const std::byte> parameters, Groups groups);

  std::unique_ptr<Recording> recording_;
};

}  // namespace headlight::gpu
