#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace headlight::gpu {

class Context;

/// The intended use of a buffer, which decides where its bytes live.
enum class Memory : std::uint8_t {
  Device,     ///< read and written by kernels
  Transient,  ///< read and written by kernels, for a moment: the next such buffer is likely to be this one
  Upload,     ///< written by the host, copied from
  Readback,   ///< copied to, read by the host
};

/// A block of memory on the device. Movable, freed when it goes.
class Buffer {
 public:
  Buffer();  ///< empty
  /// `purpose` is what the error message names when the device can't hold it: "the weights". Throws Error with bytes needed
  /// and there.
  Buffer(Context& context, std::size_t bytes, Memory memory, std::string_view purpose);
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }

  /// The bytes in host memory: always for Upload and Readback, for Device only where host and device share memory
  /// (integrated GPUs, llvmpipe); empty otherwise. Nothing on the device may be using them.
  std::span<std::byte> mapped() const { return mapped_; }
  /// Are the mapped bytes in memory that the host caches? Only then is reading them as fast as other memory.
  bool is_host_cached() const;

  struct Handles;
  const Handles& handles() const { return *handles_; }

 private:
  void free();

  Context* context_ = nullptr;
  std::unique_ptr<Handles> handles_;
  std::span<std::byte> mapped_;
  std::size_t size_ = 0;
};

/// A part of a buffer as a kernel sees it. Offsets must be multiples of DeviceInfo::offset_alignment.
struct Slice {
  const Buffer* buffer = nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;
  bool has_halves = false;  ///< a texel buffer of four float16 instead of four float32; storage buffers don't care

  Slice(const Buffer& whole) : buffer(&whole), size(whole.size()) {}  // NOLINT: a buffer is its own largest slice
  Slice(const Buffer& of, std::size_t from, std::size_t bytes, bool halves = false)
      : buffer(&of), offset(from), size(bytes), has_halves(halves) {}
};

}  // namespace headlight::gpu
