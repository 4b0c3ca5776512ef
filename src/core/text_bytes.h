#pragma once

#include <memory>
#include <string_view>

#include "core/file.h"

namespace headlight {

inline constexpr std::string_view kStandardInput = "-";  ///< as a path: standard input

/// The bytes of a text file or of standard input, in order, unpacked where gzip compressed them. Nothing is read before
/// read() is called. A file's content must be what its name says: what gzip compressed is named .gz, and nothing else is.
class TextBytes {
 public:
  /// Opens the file; "-" is standard input. `takes_nul`: NUL bytes at the beginning don't make it a binary file.
  /// Throws Error naming the file that can't be opened.
  explicit TextBytes(const std::filesystem::path& path, bool takes_nul = false);
  ~TextBytes();
  TextBytes(const TextBytes&) = delete;
  TextBytes& operator=(const TextBytes&) = delete;

  /// Up to `most` bytes; 0 at the end alone. Throws Error naming the file: it can't be read, is damaged, or is no text, and
  /// then what it is (Arrow, Parquet, a zip archive, …).
  std::size_t read(char* to, std::size_t most);

  /// The file's path, or "standard input".
  const std::string& name() const { return name_; }
  /// Is it compressed? Known once something was read.
  bool is_packed() const { return inflater_ != nullptr; }
  /// Would read() return without waiting?
  bool is_ready() const;

 private:
  class Inflater;
  int number() const { return is_file_ ? file_.number() : platform::kStandardInput; }
  std::size_t read_raw(char* to, std::size_t most);
  void begin();

  std::string name_;
  bool takes_nul_ = false, is_file_ = false, has_begun_ = false;
  Descriptor file_;        ///< of standard input none
  std::string ahead_;      ///< raw bytes that were looked at and not yet given
  std::size_t given_ = 0;  ///< of `ahead_`
  std::unique_ptr<Inflater> inflater_;
};

/// Returns the kind of file that begins with these bytes, as "a zip archive"; empty for what may be text.
std::string_view binary_kind(std::string_view begin);

}  // namespace headlight
