#include "model/stored_name.h"

#include "core/error.h"
#include "model/gguf.h"
#include "model/mapped_places.h"
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
  const std::optional<MappedPlace> place = find_mapped_place(address);
  if (!place) return {};
  try {
    const bool is_gguf = GgufFile::is_gguf(place->path);
    return {place->path, is_gguf ? name_at(GgufFile(place->path).tensors(), place->offset)
                                 : name_at(SafetensorsFile(place->path).tensors(), place->offset)};
  } catch (const Error&) {
    return {place->path, {}};  // the file has changed since it was mapped
  }
}

}  // namespace headlight::model
