#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf_value.h"
#include "model/stored_tensor.h"

namespace headlight::model {

/// One .gguf file of version 2 or 3, or a part of one, mapped: metadata, tensor descriptions, the numbers
/// (format: docs/gguf.md of github.com/ggml-org/ggml). Copies are cheap and share the file.
class GgufFile {
 public:
  /// Reads everything but the numbers. Throws Error in one line naming the file, and the key or tensor if one is at
  /// fault, for everything that violates the format.
  explicit GgufFile(const std::filesystem::path& path);

  /// Does the file begin with GGUF's magic?
  static bool is_gguf(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_->path(); }
  std::uint32_t version() const { return version_; }

  /// Shapes are outermost axis first, as everywhere in Headlight: a GGUF file stores them innermost first.
  /// ggml types that Headlight doesn't decode have no element_type.
  const TensorTable& tensors() const { return tensors_; }

  bool has(std::string_view key) const { return values_.contains(key); }
  /// All keys, sorted.
  std::vector<std::string> keys() const;
  /// Throws Error naming key and file when there is none.
  const GgufValue& value(std::string_view key) const;

  /// One value or a list of them. Throw Error naming key and file when it is missing or of another type; a scalar is a list
  /// of one.
  std::int64_t integer(std::string_view key) const { return one(key, &GgufValue::integers, "an integer"); }
  double number(std::string_view key) const { return one(key, &GgufValue::numbers, "a number"); }
  bool boolean(std::string_view key) const { return one(key, &GgufValue::booleans, "a bool"); }
  std::string text(std::string_view key) const { return one(key, &GgufValue::texts, "a string"); }
  std::vector<std::int64_t> integers(std::string_view key) const {
    return list(key, &GgufValue::integers, "a list of integers");
  }
  std::vector<double> numbers(std::string_view key) const { return list(key, &GgufValue::numbers, "a list of numbers"); }
  std::vector<std::string> texts(std::string_view key) const { return list(key, &GgufValue::texts, "a list of strings"); }

  /// The fallback when the key is missing; Error when its value has another type.
  std::int64_t integer_or(std::string_view key, std::int64_t fallback) const { return has(key) ? integer(key) : fallback; }
  bool boolean_or(std::string_view key, bool fallback) const { return has(key) ? boolean(key) : fallback; }
  std::string text_or(std::string_view key, std::string_view fallback) const {
    return has(key) ? text(key) : std::string(fallback);
  }

 private:
  template <typename T>
  using Read = std::optional<std::vector<T>> (GgufValue::*)() const;

  template <typename T>
  T one(std::string_view key, Read<T> read, std::string_view expected) const {
    const auto found = (value(key).*read)();
    if (value(key).is_list || !found) fail_type(key, expected);
    return found->front();
  }
  template <typename T>
  std::vector<T> list(std::string_view key, Read<T> read, std::string_view expected) const {
    expect_copyable(key);
    auto found = (value(key).*read)();
    file_->expect_intact();
    if (!found) fail_type(key, expected);
    return *std::move(found);
  }
  /// Throws Error for a list far larger than any that a model needs.
  void expect_copyable(std::string_view key) const;
  [[noreturn]] void fail_type(std::string_view key, std::string_view expected) const;

  std::shared_ptr<const MappedFile> file_;
  std::uint32_t version_ = 0;
  std::map<std::string, GgufValue, std::less<>> values_;
  TensorTable tensors_;
};

/// Of "model-00002-of-00003.gguf" the path of the first part of the model, of any other path itself.
std::filesystem::path first_gguf_part(const std::filesystem::path& path);
/// Part 1, 2, …, of so many, of a model whose first part is known.
std::filesystem::path gguf_part(const std::filesystem::path& first, std::int64_t part, std::int64_t parts);

}  // namespace headlight::model
