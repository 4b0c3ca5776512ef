#include "model/stored_name.h"

#include "core/error.h"
#include "model/gguf.h"
#include "model/mapped_addresses.h"
#include "model/safetensors.h"

namespace headlight::model {
namespace {

std::string name_at(const TensorTable& tensors, std::size_t offset) {
  for (const StoredTensor& tensor : tensors.all()) {
    const auto begin = static_cast<std::size_t>(tensor.bytes.data() - tensor.file->bytes().data());
    if (offset >= begin && offset < begin + tensor.bytes.size()) return printable(tensor.name);
  }
  return {};
}

}  // namespace

StoredName stored_name(const std::byte* address) {
  const std::optional<MappedAddress> mapped = find_mapped_address(address);
  if (!mapped) return {};
  try {
    const bool is_gguf = GgufFile::is_gguf(mapped->path);
    return {mapped->path, is_gguf ? name_at(GgufFile(mapped->path).tensors(), mapped->offset)
                                  : name_at(SafetensorsFile(mapped->path).tensors(), mapped->offset)};
  } catch (const Error&) {
    return {mapped->path, {}};  // the file has changed since it was mapped
  }
}

}  // namespace headlight::model
