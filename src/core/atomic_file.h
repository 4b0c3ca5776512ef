#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

/// A file that takes its place as a whole: a reader of `path` sees the old file or all of the new one, and a full disk, a
/// killed program or a power failure costs the old one nothing. Until finish() the new file has no name where the system
/// can do that (O_TMPFILE), so that nothing of it is left behind; elsewhere it has a random one beside `path`, which no link
/// put there in advance can lead astray. Every function throws Error naming `path` and the system's reason.
class AtomicFile {
 public:
  /// How the bytes are kept until finish(). Nameless falls back on Named where the file system lacks it.
  enum class Staging { Nameless, Named };

  explicit AtomicFile(std::filesystem::path path, Staging staging = Staging::Nameless);
  /// Without finish() the file at `path` stays what it was.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::string_view bytes);
  /// Waits until the bytes are on the disk and moves the file into place.
  void finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool open_nameless();
  void open_named();
  void give_name();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty while the file is nameless
  std::unique_ptr<std::FILE, CloseFile> file_;
};

/// `content` as an AtomicFile.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content);

inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;  ///< bytes that read_file() takes by default

/// The whole of a regular file. Throws Error naming the file and the reason when it can't be read, when it has more than
/// `largest` bytes, and when it is a pipe, a device or a folder: those could go on for ever. A Git LFS
/// pointer is refused too.
std::string read_file(const std::filesystem::path& path, std::uint64_t largest = kLargestFile);

/// Creates the folder and its parents. Throws Error naming the folder and the system's reason.
void make_directories(const std::filesystem::path& directory);

}  // namespace headlight
