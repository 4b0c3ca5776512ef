#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "platform/file.h"

namespace headlight {

using platform::Descriptor;

/// Opens a regular file for reading. Never waits for a pipe. Throws Error naming the file and the system's reason, also for
/// pipes and devices, which may have no end, and for folders.
Descriptor open_to_read(const std::filesystem::path& path);

/// platform::read_some(). Throws Error naming `name` and the system's reason.
std::size_t read_some(int descriptor, char* to, std::size_t most, const std::string& name);

/// platform::read_at(). Throws as read_some().
std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, const std::string& name);

/// The folder for files that only pass through. Throws Error where TMPDIR names none.
std::filesystem::path passing_place();

/// A folder there that is closed to other users, of a name that can't be guessed; removed with the object.
class PassingFolder {
 public:
  PassingFolder();
  ~PassingFolder();
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A file that only passes through: what an AtomicFile or a StagedPath finishes at `path`, in a folder that is there, never
/// gets that name, and is gone however the program ends. One at a time.
class PassingFile {
 public:
  explicit PassingFile(const std::filesystem::path& path);
  ~PassingFile();
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;

  /// The one for this path; null: there is none.
  static PassingFile* at(const std::filesystem::path& path);
  void take(Descriptor file) { file_ = std::move(file); }
  /// The whole of it, part by part.
  void read(const std::function<void(std::string_view)>& use) const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

/// Throws Error when `content` is a Git LFS pointer, which replaces a large file that wasn't fetched: a few lines of text
/// with the file's hash and size. `path` names the file in the message.
void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path);

/// A file that is replaced atomically: a reader of `path` sees the old file or all of the new one, and a full disk, a killed
/// program or a power failure leaves the old one intact. Until finish() the new file has no name where the system supports
/// that (O_TMPFILE), so that nothing of it is left over; elsewhere it has a random name in `path`'s folder, so that no link
/// placed in advance can redirect it. Every function throws Error naming `path` and the system's reason.
class AtomicFile {
 public:
  /// The kind of file until finish(). Nameless falls back to Named where the file system lacks it.
  enum class Staging { Nameless, Named };

  explicit AtomicFile(std::filesystem::path path, Staging staging = Staging::Nameless);
  /// Removes the new file unless finish() was called; the file at `path` then stays unchanged.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Lets the user alone read and write the file.
  void make_private() { platform::make_private(file_.number()); }
  void append(std::string_view bytes);
  /// Waits until the bytes are on the disk and moves the file into place.
  void finish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty while the file is nameless
  Descriptor file_;
  std::string waiting_;  ///< to be written
};

/// Writes `content` through an AtomicFile.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content);
/// Writes a file that the user alone may read (0600), in a folder that is created and that only the user may enter
/// (0700).
void write_private_file(const std::filesystem::path& path, std::string_view content);

inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;  ///< bytes that read_file() takes by default

/// The whole of a regular file. Throws Error naming the file and the reason when it can't be read, when it has more than
/// `largest` bytes, and when it is a pipe, a device or a folder, which may have no end. A Git LFS
/// pointer is refused too.
std::string read_file(const std::filesystem::path& path, std::uint64_t largest = kLargestFile);

/// The first bytes of a regular file, `most` if it has so many. Throws as read_file().
std::string read_beginning(const std::filesystem::path& path, std::size_t most);

/// Creates the folder and its parents. Throws Error naming the folder and the system's reason.
void make_directories(const std::filesystem::path& directory);

/// Creates them likewise, and lets the user alone (0700) into the folder.
void make_private_directory(const std::filesystem::path& directory);

/// A place beside `path` for a library that writes files by their name, where AtomicFile can't be handed to it: the file at
/// `path` stays as it is until finish(). The name is random; what a killed program left under such names is removed after an
/// hour. finish() throws Error naming `path` and the system's reason.
class StagedPath {
 public:
  explicit StagedPath(std::filesystem::path path);
  /// Removes what was written without finish().
  ~StagedPath();
  StagedPath(const StagedPath&) = delete;
  StagedPath& operator=(const StagedPath&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }
  /// Waits until the bytes are on the disk and moves the file into place.
  void finish();

 private:
  std::filesystem::path path_, temporary_;
};

}  // namespace headlight
