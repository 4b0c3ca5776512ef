#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/frame.h"

namespace headlight::app {

/// A list of a folder's folders, and optionally its files, to browse to the wanted one. Draws into the current window.
class FolderList {
 public:
  /// Shows files with one of these extensions (".gguf") as well.
  explicit FolderList(std::vector<std::string> extensions = {}) : extensions_(std::move(extensions)) {}

  /// Starts at `folder`, or at its nearest existing parent.
  void open(const std::filesystem::path& folder);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// The chosen folder or file, once. `height`: of the list, in UI units.
  std::optional<std::filesystem::path> draw(Frame& frame, float height);

 private:
  void enter(const std::filesystem::path& folder);

  bool is_open_ = false;
  std::filesystem::path folder_;
  std::vector<std::string> names_;  ///< of the folders inside, sorted, hidden ones last
  std::vector<std::string> files_;  ///< with one of the extensions, sorted
  std::vector<std::string> extensions_;
  std::string trouble_;
};

}  // namespace headlight::app
