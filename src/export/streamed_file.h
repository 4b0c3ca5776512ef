#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace headlight::exporting {

/// Takes the next bytes of a file that is made piece by piece.
using Sink = std::function<void(std::string_view)>;

/// A file too large to be held whole, with the promise of core/atomic_file.h: it is written beside `path` under a temporary
/// name and takes its place in finish(); without finish() nothing of it remains.
class StreamedFile {
 public:
  /// Throws Error naming the file and the system's reason, as the other functions do.
  explicit StreamedFile(std::filesystem::path path);
  ~StreamedFile();
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;

  void append(std::string_view bytes);
  void finish();
  /// append() as a Sink; the file must outlive it.
  Sink sink();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace headlight::exporting
