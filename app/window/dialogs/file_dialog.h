#pragma once

#include "app/commands/command_host.h"
#include "app/shell/ui.h"
#include "app/widgets/folder_list.h"

namespace headlight::app {

/// Asks under which name to save a session, steps, a layout or a picture, or which session, text, capture, survey, lens,
/// prompts or layout to open. The user is asked before another file is overwritten.
class FileDialog {
 public:
  /// Opens the dialog. `current`: the file of the open session, which may be overwritten without a question; empty: none.
  /// `folder`: where a new one is proposed; empty: the home folder.
  void open(FilePurpose purpose, const std::filesystem::path& current, const std::string& folder);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }

  /// Returns the file that the user confirmed, once. The dialog stays open until close(), so that a failure can be shown.
  std::optional<std::filesystem::path> draw(Frame& frame);
  /// Shows why the last choice failed, in one line.
  void refuse(const std::string& trouble) { trouble_ = trouble; }

 private:
  void draw_path(Frame& frame, bool& is_confirmed);
  /// Returns the file that the field names; nullopt, with the reason or the question below the field, when it can't be used
  /// yet.
  std::optional<std::filesystem::path> confirm();

  bool is_open_ = false;
  FilePurpose purpose_ = FilePurpose::OpenText;
  std::filesystem::path current_;
  std::string typed_;
  std::string trouble_;
  std::optional<std::filesystem::path> asked_;  ///< whether it may be replaced
  FolderList files_;
  shell::FieldFocus focus_ = shell::FieldFocus::None;
};

}  // namespace headlight::app
