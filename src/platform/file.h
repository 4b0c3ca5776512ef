#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

/// The border to operating systems: functions of the system's headers are called in this folder alone. Reasons are
/// codes of std::system_category(), whose message() is the system's own. Functions are for any thread where they don't
/// say otherwise.
namespace headlight::platform {

/// Numbers of the files that every process has open.
inline constexpr int kStandardInput = 0, kStandardOutput = 1, kStandardError = 2;

/// The number of an open file or socket, closed with this; −1: none. Child processes don't inherit it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

enum class FileKind : std::uint8_t { Regular, Folder, Other };  ///< Other: pipes and devices, which may have no end

/// The identity of a file and the time when it was last written: equal stamps make it likely that the content is the
/// same, without reading it.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;  ///< since 1970, as the file system reports it
  FileKind kind = FileKind::Regular;

  bool operator==(const FileStamp&) const = default;
};

/// Returns the stamp of the file at a path, links followed; none where there is no such file, or the system refuses to
/// describe it.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);
/// Returns the stamp of an open file.
std::optional<FileStamp> stamp_of(int descriptor);

/// Opens a file of any kind for reading. Never waits for a pipe. None: `error` says why.
Descriptor open_to_read(const std::filesystem::path& path, std::error_code& error);
/// Up to `most` bytes from where the last call ended, which may be fewer than there are; 0 at the end, or where `error` says
/// why not. Goes on after a signal, and waits where the descriptor doesn't block.
std::size_t read_some(int descriptor, char* to, std::size_t most, std::error_code& error);
/// `count` bytes from `offset` on; fewer at the file's end, or where `error` says why not.
std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, std::error_code& error);
/// Would read_some() return without waiting?
bool has_input(int descriptor);
/// Does a file have bytes where it is read next? Of what is no file: false.
bool has_more(int descriptor);
bool is_terminal(int descriptor);

/// A new file to write to; with access as the user's other files have. None: there is something of that name, a link too, or
/// `error` says why.
Descriptor create_file(const std::filesystem::path& path, std::error_code& error);
/// A new file in that folder that has no name until give_name(), and is gone without. None where the system has no such
/// files.
Descriptor create_nameless(const std::filesystem::path& folder);
/// Nothing must be at `path`.
std::error_code give_name(int nameless, const std::filesystem::path& path);
/// Gives the file `by` the name `path`, which a file may have that it replaces: a reader finds one of the two. Where the
/// system doesn't replace a file that a program has open, that one is called `aside` in the same folder until then, and for
/// a moment there is none at `path`.
std::error_code replace_file(const std::filesystem::path& by, const std::filesystem::path& path,
                             const std::filesystem::path& aside);
/// Lets the user alone read and write the file; nothing where the system has other means.
void make_private(int descriptor);
/// A file in that folder to write and read, which is gone with its descriptor. None: `error` says why.
Descriptor create_scratch(const std::filesystem::path& folder, std::error_code& error);
/// Writes all bytes, after those that were written before. Goes on after a signal.
std::error_code write_all(int descriptor, std::string_view bytes);
/// Writes the bytes at `offset`, in place of what was there.
std::error_code write_at(int descriptor, std::string_view bytes, std::uint64_t offset);
/// Waits until the file's bytes are on the disk; what doesn't support that, as pipes, counts as done.
std::error_code sync_file(int descriptor);
std::error_code sync_file(const std::filesystem::path& path);
/// Waits until names that were added to the folder or changed in it are on the disk, where the system supports that.
void sync_folder(const std::filesystem::path& folder);
/// Opens a file and locks it until the descriptor is closed or the process ends in whatever way. `is_new` creates it, locked
/// before it has its name, so that no other process locks it first. None: `error` says why; another process may hold it.
Descriptor lock_file(const std::filesystem::path& path, bool is_new, std::error_code& error);

}  // namespace headlight::platform
