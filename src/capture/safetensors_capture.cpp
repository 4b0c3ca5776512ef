#include <optional>
#include <utility>

#include "capture/stored_capture.h"
#include "core/error.h"
#include "model/safetensors.h"

namespace headlight::capture {
namespace {

std::optional<NumberType> number_type(std::string_view name, Content content) {
  if (name == "F32") return NumberType::F32;
  if (name == "F16") return NumberType::F16;
  if (name == "BF16") return NumberType::BF16;
  if (name == "F64") return NumberType::F64;
  if (name == "U8" && content == Content::Pixels) return NumberType::U8;
  return std::nullopt;
}

std::optional<model::ElementType> element_type(std::string_view name) {
  if (name == "F32") return model::ElementType::F32;
  if (name == "F16") return model::ElementType::F16;
  return name == "BF16" ? std::optional(model::ElementType::BF16) : std::nullopt;
}

/// Opens the file. Its errors advise to save it again, since a user who saved a capture can't download it.
model::SafetensorsFile open_file(const std::filesystem::path& path) {
  try {
    return model::SafetensorsFile(path);
  } catch (const Error& error) {
    std::string message = error.what();
    constexpr std::string_view kAdvice = "download it again";
    if (message.ends_with(kAdvice)) message.replace(message.size() - kAdvice.size(), kAdvice.size(), "save it again");
    throw Error("{}", message);
  }
}

}  // namespace

StoredCapture read_safetensors_capture(const std::filesystem::path& path, ContentOf content_of) {
  const model::SafetensorsFile file = open_file(path);
  StoredCapture stored{.arrays = {}, .metadata = file.metadata()};
  for (const model::StoredTensor& tensor : file.tensors().all()) {
    const Content content = content_of(tensor.name);
    if (content == Content::None) continue;
    std::function<model::Parameter()> matrix;
    if (const auto type = element_type(tensor.type); type && tensor.shape.size() == 2)
      matrix = [tensor, type] { return model::Parameter(tensor.shape, *type, tensor.bytes, tensor.file); };
    stored.arrays.push_back({.name = tensor.name,
                             .shape = tensor.shape,
                             .open = [tensor, content](Shape four_axes) -> std::shared_ptr<const Numbers> {
                               const std::optional<NumberType> type = number_type(tensor.type, content);
                               if (!type) {
                                 throw Error("{}: tensor '{}' has the type {}; save it as {}F32, F16, BF16 or F64",
                                             utf8(tensor.file->path()), model::printable(tensor.name), tensor.type,
                                             content == Content::Pixels ? "U8, " : "");
                               }
                               return mapped_numbers(tensor.name, std::move(four_axes), *type, tensor.bytes, tensor.file);
                             },
                             .matrix = std::move(matrix)});
  }
  return stored;
}

}  // namespace headlight::capture
