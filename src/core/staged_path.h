#pragma once

#include <filesystem>

namespace headlight {

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
