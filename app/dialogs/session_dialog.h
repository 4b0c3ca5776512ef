#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/frame.h"
#include "app/shell/ui.h"
#include "app/widgets/folder_list.h"

namespace headlight::app {

/// Asks under which name to save a session, or which one to open. Before another file is overwritten it asks.
class SessionDialog {
 public:
  /// `current`: the file of the open session, which may be overwritten without a question; empty: none. `folder`: where a
  /// new one is proposed; empty: the home folder.
  void open_to_save(const std::filesystem::path& current, const std::string& folder);
  void open_to_load(const std::filesystem::path& current, const std::string& folder);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }

  struct Choice {
    std::filesystem::path path;
    bool saves = false;  ///< to write, else to read
  };
  /// What the user confirmed, once. The dialog stays open until close(), so that a failure can be shown.
  std::optional<Choice> draw(Frame& frame);
  /// Shows why the last choice failed, in one line.
  void refuse(const std::string& trouble) { trouble_ = trouble; }

 private:
  void open(bool saves, const std::filesystem::path& current);
  void draw_path(Frame& frame, bool& is_confirmed);
  /// The file that the field names; nullopt, with the reason or the question below the field, when it can't be used yet.
  std::optional<std::filesystem::path> confirm();
  void browse();

  bool is_open_ = false;
  bool saves_ = false;
  std::filesystem::path current_;
  std::string typed_;
  std::string trouble_;
  std::optional<std::filesystem::path> asked_;  ///< whether it may be replaced
  FolderList files_{{".json"}};
  shell::FieldFocus focus_ = shell::FieldFocus::None;
};

}  // namespace headlight::app
