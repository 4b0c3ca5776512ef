#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Is what was typed a path, and no part of a name?
bool is_path(std::string_view typed);
/// Is a name listed where this was typed: has it that in it, in either case? A path lists all names.
bool is_in_name(std::string_view typed, std::string_view name);

/// A list of a folder's folders, and optionally its files, to browse to the wanted one, by pointer or by keys: what is typed
/// finds names or is a path, arrows move, Enter opens, Ctrl+Enter takes the folder. Draws into the current window.
class FolderList {
 public:
  /// Shows files with one of these extensions (".gguf") as well.
  explicit FolderList(std::vector<std::string> extensions = {}) : extensions_(std::move(extensions)) {}

  /// Starts at the typed path ("~": the home folder; also where it is empty), or at its nearest existing parent. `recent`:
  /// folders to offer beside the home folder, the working folder and the cache of models.
  void open(const std::string& typed, const std::vector<std::filesystem::path>& recent = {});
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Returns the chosen folder or file, once. `height`: of the list, in UI units.
  std::optional<std::filesystem::path> draw(Frame& frame, float height);

 private:
  struct Entry {
    std::string name;
    bool is_folder = true;
    bool is_model = false;  ///< a folder that holds a model
  };
  struct Place {
    std::string name;
    std::filesystem::path folder;
  };
  void enter(const std::filesystem::path& folder);
  /// Entries that are shown: those that what is typed finds.
  std::vector<std::size_t> listed() const;
  void draw_places(Frame& frame);
  /// Returns what Enter chose in the field.
  std::optional<std::filesystem::path> draw_field(Frame& frame, const std::vector<std::size_t>& shown);
  std::optional<std::filesystem::path> draw_entries(Frame& frame, const std::vector<std::size_t>& shown, float height);
  /// Goes to what was typed as a path, or takes it where it is a file.
  std::optional<std::filesystem::path> take_path();
  /// Enters a folder; a file, and where models are looked for a model's folder, is the choice.
  std::optional<std::filesystem::path> take(const Entry& entry, bool takes_models);

  bool is_open_ = false;
  bool shows_hidden_ = false;
  std::filesystem::path folder_;
  std::vector<Entry> entries_;  ///< folders, then files, each sorted
  std::vector<std::string> extensions_;
  std::vector<Place> places_;
  std::string typed_, trouble_;
  std::size_t marked_ = 0;  ///< of what is shown
  bool follows_mark_ = false;
  shell::FieldFocus focus_ = shell::FieldFocus::None;
};

}  // namespace headlight::app
