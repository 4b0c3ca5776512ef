#pragma once

#include "gpu/buffer.h"

namespace headlight::ops {

/// Is the slice in the program's memory?
inline bool is_mapped(const gpu::Slice& slice) { return !slice.buffer->mapped().empty(); }

/// The numbers of a mapped slice; valid as long as its buffer.
template <typename T>
T* numbers(const gpu::Slice& slice) {
  return reinterpret_cast<T*>(slice.buffer->mapped().data() + slice.offset);
}

}  // namespace headlight::ops
