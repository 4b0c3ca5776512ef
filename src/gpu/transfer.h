#pragma once

#include <cstddef>
#include <span>

#include "gpu/buffer.h"
#include "gpu/context.h"

namespace headlight::gpu {

/// Writes to a buffer that nothing uses yet, and returns when the bytes are there: for weights, not for frames.
void write(Context& context, const Buffer& to, std::size_t offset, std::span<const std::byte> bytes);

template <typename T>
void write(Context& context, const Buffer& to, std::size_t offset, std::span<const T> values) {
  write(context, to, offset, std::as_bytes(values));
}

}  // namespace headlight::gpu
