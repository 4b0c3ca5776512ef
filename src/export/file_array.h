#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
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
  /// Appends the bytes of a part, row-major and little-endian as in memory; texts are UTF-32.
  std::function<void(std::size_t part, std::string& bytes)> read;

  std::size_t value_size() const;
  std::uint64_t byte_count() const;
  std::string npy_header() const;
};

/// A file of arrays while it is written, part by part. It is moved to its path when it is complete and on the disk. All
/// throw Error in one line when it can't be written.
class ArrayFile {
 public:
  struct Part {
    std::size_t array = 0, part = 0;
  };

  virtual ~ArrayFile() = default;
  /// Whose bytes append() takes next; nullopt: all are there, and finish() is next.
  std::optional<Part> next() const;
  /// Throws Error where the parts of an array aren't as many bytes as its shape needs.
  void append(std::string_view bytes);
  virtual void finish() = 0;
  /// Returns the share of all bytes that is written, less than 1.
  double share() const { return static_cast<double>(written_) / static_cast<double>(total_); }

 protected:
  explicit ArrayFile(std::span<const FileArray> arrays);
  virtual void begin(const FileArray& /*array*/) {}
  virtual void write(std::string_view bytes) = 0;
  virtual void end() {}

  std::vector<FileArray> arrays_;   ///< without what they read
  std::vector<std::size_t> order_;  ///< of the arrays in the file

 private:
  std::size_t at_ = 0, part_ = 0;  ///< the next one's place in order_, and its part
  std::uint64_t found_ = 0, written_ = 0, total_ = 1;
};

std::unique_ptr<ArrayFile> open_npy(const std::filesystem::path& path, const FileArray& array);
/// A zip archive of "name.npy" and, as they are, of texts; stored, so that readers can map it.
std::unique_ptr<ArrayFile> open_npz(const std::filesystem::path& path, std::span<const FileArray> arrays,
                                    std::map<std::string, std::string> texts);
/// No array may be of texts: the format has numbers only. `metadata`: "__metadata__".
std::unique_ptr<ArrayFile> open_safetensors(const std::filesystem::path& path, std::span<const FileArray> arrays,
                                            const std::map<std::string, std::string>& metadata);

/// A file that becomes a member of an archive as it is.
struct StoredFile {
  std::string name;
  std::filesystem::path path;
};
/// A zip archive of files and texts; stored. It is moved to its path likewise.
void write_zip(const std::filesystem::path& path, std::span<const StoredFile> files,
               const std::map<std::string, std::string>& texts);
/// Appends numbers as they are in memory.
void append_numbers(std::span<const float> values, std::string& bytes);

/// A float tensor that is in memory.
FileArray array_of(std::string name, Tensor tensor);
/// [batch, token]; texts of a row that is shorter are empty. Bytes that aren't UTF-8 become U+FFFD.
FileArray array_of(std::string name, const std::vector<std::vector<std::string>>& texts);
FileArray array_of(std::string name, Shape shape, std::vector<std::int64_t> numbers);

}  // namespace headlight::exporting
