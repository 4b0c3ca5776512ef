#pragma once

#include <functional>
#include <string_view>

#include "core/descriptor.h"

namespace headlight {

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

}  // namespace headlight
