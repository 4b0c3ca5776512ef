#include "gpu/transfer.h"

#include <cstring>

#include "gpu/stream.h"

namespace headlight::gpu {

void write(Context& context, const Buffer& to, std::size_t offset, std::span<const std::byte> bytes) {
  if (!to.mapped().empty()) {
    std::memcpy(to.mapped().data() + offset, bytes.data(), bytes.size());
    return;
  }
  Stream stream(context);
  stream.upload(to, offset, bytes);
  std::move(stream).submit().wait();
}

}  // namespace headlight::gpu
