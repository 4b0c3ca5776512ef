#include "gpu/transfer.h"

#include <cstring>

#include "gpu/staging.h"

namespace headlight::gpu {

void write(Context& context, const Buffer& to, std::size_t offset, std::span<const std::byte> bytes) {
  if (!to.mapped().empty()) {
    std::memcpy(to.mapped().data() + offset, bytes.data(), bytes.size());
    return;
  }
  std::shared_ptr<Staging>& staging = context.handles().staging;
  if (!staging) staging = std::make_shared<Staging>(context);
  staging->write(to, offset, bytes);
}

void finish_writes(Context& context) {
  // The staging's buffers are freed also when a write fails; the error of an earlier write is thrown here.
  const std::shared_ptr<Staging> staging = std::exchange(context.handles().staging, nullptr);
  if (staging) staging->finish();
}

}  // namespace headlight::gpu
