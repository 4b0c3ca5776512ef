#pragma once

#include "gpu/buffer.h"
#include "gpu/context.h"

namespace headlight::gpu {

/// Writes to a buffer that nothing uses yet: for weights, not for frames. Where the host reaches the buffer's memory the
/// bytes are there at once; elsewhere they wait in a staging buffer with those of other calls, and are on the device before
/// whatever the context is given after them. Throws Error as Stream does.
void write(Context& context, const Buffer& to, std::size_t offset, std::span<const std::byte> bytes);

/// Waits until everything written is on the device, and frees the staging buffers. Throws Error when it never gets there.
void finish_writes(Context& context);

template <typename T>
void write(Context& context, const Buffer& to, std::size_t offset, std::span<const T> values) {
  write(context, to, offset, std::as_bytes(values));
}

}  // namespace headlight::gpu
