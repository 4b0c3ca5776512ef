#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "panels/panel.h"

namespace headlight::app {

/// The folders inside a folder, to go through them until the wanted one is found. Draws into the current window.
class FolderList {
 public:
  /// Begins at `folder`, or at the nearest one above it that exists.
  void open(const std::filesystem::path& folder);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// The chosen folder, once. `height`: of the list, in UI units.
  std::optional<std::filesystem::path> draw(Frame& frame, float height);

 private:
  void enter(const std::filesystem::path& folder);

  bool is_open_ = false;
  std::filesystem::path folder_;
  std::vector<std::string> names_;  ///< of the folders inside, sorted; hidden ones are left out
  std::string trouble_;
};

}  // namespace headlight::app
