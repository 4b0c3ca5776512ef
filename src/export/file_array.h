#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "core/tensor.h"

namespace headlight::exporting {

enum class ArrayType : std::uint8_t { F32, I64, Text };

/// One array for a file, read in parts: its numbers may exceed the memory.
struct FileArray {
  std::string name;  ///< "weights"
  ArrayType type = ArrayType::F32;
  std::uint32_t text_length = 0;  ///< characters of each text; shorter ones end in zeros
  Shape shape;
  std::size_t parts = 1;
  /// Appends the bytes of a part, row-major and little-endian as in memory; texts are UTF-32. Called for each part once, in
  /// order; throws to cancel.
  std::function<void(std::size_t part, std::string& bytes)> read;

  std::size_t value_size() const;
  std::uint64_t byte_count() const;
  std::string npy_header() const;
};

/// Called between the parts of a file with the share of its bytes that is written, 0 … 1; throws to cancel.
using WriteObserver = std::function<void(double share)>;

/// Reads an array's bytes, part by part.
class ArrayReader {
 public:
  /// `total`: bytes of all arrays of the file; `before`: bytes of the arrays before this one.
  ArrayReader(const FileArray& array, std::uint64_t before, std::uint64_t total, const WriteObserver& observe)
      : array_(&array), before_(before), total_(total), observe_(&observe) {}

  /// The next part, valid until the next call; nullopt after the last one. Throws Error where the parts aren't as many bytes
  /// as the shape needs.
  std::optional<std::string_view> next();

 private:
  const FileArray* array_;
  std::uint64_t before_, total_, found_ = 0;
  const WriteObserver* observe_;
  std::size_t part_ = 0;
  std::string bytes_;
};

/// Each file is moved to its path when it is complete and on the disk. All throw Error in one line when it can't be written,
/// and when the parts of an array aren't as many bytes as its shape needs.
void write_npy(const std::filesystem::path& path, const FileArray& array, const WriteObserver& observe);
/// A zip archive of "name.npy" and, as they are, of texts; stored, so that readers can map it.
void write_npz(const std::filesystem::path& path, std::span<const FileArray> arrays,
               const std::map<std::string, std::string>& texts, const WriteObserver& observe);
/// A file that becomes a member of an archive as it is.
struct StoredFile {
  std::string name;
  std::filesystem::path path;
};
/// A zip archive of files and texts; stored.
void write_zip(const std::filesystem::path& path, std::span<const StoredFile> files,
               const std::map<std::string, std::string>& texts);
/// No array may be of texts: the format has numbers only. `metadata`: "__metadata__".
void write_safetensors(const std::filesystem::path& path, std::span<const FileArray> arrays,
                       const std::map<std::string, std::string>& metadata, const WriteObserver& observe);

/// Appends numbers as they are in memory.
void append_numbers(std::span<const float> values, std::string& bytes);

/// A float tensor that is in memory.
FileArray array_of(std::string name, Tensor tensor);
/// [batch, token]; texts of a row that is shorter are empty. Bytes that aren't UTF-8 become U+FFFD.
FileArray array_of(std::string name, const std::vector<std::vector<std::string>>& texts);
FileArray array_of(std::string name, Shape shape, std::vector<std::int64_t> numbers);

}  // namespace headlight::exporting
