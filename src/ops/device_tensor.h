#pragma once

#include <cstdint>
#include <utility>

#include "core/tensor.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"

namespace headlight::ops {

/// The tokens of every batch item that an op computes: those before an edit may keep their values.
struct Rows {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  std::uint32_t end() const { return first + count; }
};

/// ceil(a / b)
constexpr std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

/// Activations on the device: [item, head, token, width] float, width rounded up to vec4 (the rest zero) and items apart by
/// a multiple of 256 bytes, so that any range of items can be bound.
class DeviceTensor {
 public:
  DeviceTensor() = default;
  /// Zero-filled by `stream`. Throws Error when the device can't hold it.
  DeviceTensor(gpu::Stream& stream, std::uint32_t items, std::uint32_t heads, std::uint32_t tokens, std::uint32_t width,
               std::string_view purpose);

  /// `tokens` is a head's capacity; a run may fill fewer.
  std::uint32_t items = 0, heads = 0, tokens = 0, width = 0;

  bool is_empty() const { return buffer_.is_empty(); }
  std::uint32_t width4() const { return divide_up(width, 4); }
  /// Stride between items, in vec4.
  std::uint32_t stride4() const { return divide_up(heads * tokens * width4(), kItemAlignment4) * kItemAlignment4; }
  std::size_t item_bytes() const { return std::size_t{stride4()} * kVec4Bytes; }
  const gpu::Buffer& buffer() const { return buffer_; }
  /// Leaves the tensor with its shape alone.
  gpu::Buffer take_buffer() { return std::move(buffer_); }
  gpu::Slice slice(std::uint32_t first_item, std::uint32_t count) const {
    return {buffer_, first_item * item_bytes(), count * item_bytes()};
  }
  gpu::Slice item(std::uint32_t index) const { return slice(index, 1); }

  /// Copies [item, head, token, width] values (any leading shape with as many elements) to the device.
  void upload(gpu::Stream& stream, const Tensor& values) const;
  /// Copies [item, 1, rows.count, width] values into these rows of every item; of tensors with one head.
  void upload_rows(gpu::Stream& stream, const Tensor& values, Rows rows) const;
  Rows all() const { return {0, tokens}; }
  bool has_shape(std::uint32_t of_items, std::uint32_t of_heads, std::uint32_t of_tokens, std::uint32_t of_width) const {
    return items == of_items && heads == of_heads && tokens == of_tokens && width == of_width;
  }

  static constexpr std::size_t kVec4Bytes = 16;
  static constexpr std::uint32_t kItemAlignment4 = 16;

 private:
  gpu::Buffer buffer_;
};

}  // namespace headlight::ops
