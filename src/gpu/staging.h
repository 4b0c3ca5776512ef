#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>

#include "gpu/recording.h"

namespace headlight::gpu {

/// Bytes on their way to memory that the host can't reach: two staging buffers, one filled by the host while the device
/// copies from the other. Copies are handed over when a buffer is full, or by flush().
class Staging {
 public:
  explicit Staging(Context& context) : context_(context) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void write(const Buffer& to, std::size_t offset, std::span<const std::byte> bytes);
  /// Hands the copies that wait to the device, before anything that is submitted later; returns at once. Once copies were
  /// lost because the device failed, this throws.
  void flush();
  /// Hands over and waits.
  void finish();
  /// Waits for the copies that go to a buffer, which is about to be freed.
  void let_go_of(VkBuffer target) noexcept;

 private:
  struct Half {
    Buffer buffer;
    std::size_t used = 0;
    std::unique_ptr<Recording> recording;  ///< copies that wait
    std::optional<Submission> submission;  ///< copies that run
    std::set<VkBuffer> targets;
  };
  static void wait(Half& half);

  Context& context_;
  std::array<Half, 2> halves_;
  std::size_t current_ = 0;
  std::exception_ptr failure_;  ///< why copies were lost
};

}  // namespace headlight::gpu
