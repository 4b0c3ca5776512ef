#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/stored_tensor.h"

namespace headlight::model {

/// One .safetensors file, mapped: eight bytes of length, a JSON header of names with dtype, shape and offsets, the numbers.
/// (Format: the README of github.com/huggingface/safetensors.)
class SafetensorsFile {
 public:
  /// Reads the header. Throws Error in one line naming the file, and the tensor if one is at fault, for everything that
  /// violates the format.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const TensorTable& tensors() const { return tensors_; }
  /// "__metadata__", usually {"format": "pt"}.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(std::string_view name) const { return tensors_.find(name) != nullptr; }

  /// See StoredTensor for what these throw; an unknown name is an Error too.
  const Shape& shape(std::string_view name) const { return at(name).shape; }
  Parameter parameter(std::string_view name) const { return at(name).parameter(); }
  Tensor tensor(std::string_view name) const { return at(name).tensor(); }
  std::vector<std::int64_t> integers(std::string_view name) const { return at(name).integers(); }

 private:
  const StoredTensor& at(std::string_view name) const;

  std::filesystem::path path_;
  TensorTable tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace headlight::model
