#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf.h"
#include "model/stored_tensor.h"

namespace headlight::model {

/// A model on disk: a folder as Hugging Face writes it (model.safetensors or pytorch_model.bin, or their index.json and
/// shards), or a single file. Opening maps the files and reads their headers, no weights. Copies are cheap and share the
/// files; each records for itself which tensors its callers asked for.
class Checkpoint {
 public:
  /// A folder, or one .safetensors, .bin, .pt, .pth, .ckpt or .gguf file. Throws Error saying what is missing or wrong.
  explicit Checkpoint(const std::filesystem::path& path);

  /// The path that was opened.
  const std::filesystem::path& path() const;
  /// The folder of config.json and the tokenizer's files: the folder itself, the file's folder, or that of an
  /// adapter's model.
  const std::filesystem::path& folder() const;
  /// The files that hold tensors, sorted.
  const std::vector<std::filesystem::path>& files() const;
  /// Bytes of all tensors as stored.
  std::uint64_t total_bytes() const;
  /// Numbers in all tensors.
  std::uint64_t element_count() const;

  /// Is a LoRA adapter merged into the model?
  bool has_adapter() const;

  /// Of a GGUF file: its metadata, which replaces config.json and tokenizer files. nullptr for others.
  const GgufFile* gguf() const;

  /// The text of config.json. Throws Error when there is none.
  std::string config() const;
  bool has_config() const;

  /// Sorted by name.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;
  /// Throw Error when there is no such tensor.
  const Shape& shape(std::string_view name) const;
  std::string_view type(std::string_view name) const;

  /// The tensor as a weight; of three axes the first two are its rows. Throws Error naming it, with the expected shape when
  /// it is missing and with both shapes when it has another one.
  Parameter find(std::string_view name, std::span<const std::uint32_t> expected);
  Parameter find(std::string_view name, std::initializer_list<std::uint32_t> expected) {
    return find(name, std::span(expected.begin(), expected.size()));
  }
  /// The same of any shape.
  Parameter find(std::string_view name);
  /// As the model has it, where an adapter replaced it but not what is tied to it; nullopt elsewhere.
  std::optional<Parameter> before_adapter(std::string_view name) const;
  /// The same tensors, those that begin with `prefix` under their names without it, if there is no other of that name.
  /// Before any was asked for.
  Checkpoint without_prefix(std::string_view prefix) const;
  /// What doesn't belong together where a tensor, or the lack of one, doesn't fit.
  std::string_view mismatch() const;
  /// Names of the tensors that no caller has asked for yet, sorted.
  std::vector<std::string> unasked() const;

 private:
  struct Contents;
  const StoredTensor& at(std::string_view name) const;
  Parameter take(const StoredTensor& tensor);

  std::shared_ptr<const Contents> contents_;
  std::vector<bool> is_asked_;  ///< one for each tensor
};

}  // namespace headlight::model
