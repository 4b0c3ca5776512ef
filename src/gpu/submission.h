#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

}  // namespace headlight::gpu
