#include "app/widgets/folder_list.h"

#include <cctype>
#include <system_error>

#include "app/state/opened_file.h"
#include "app/widgets/controls.h"
#include "model/hub_cache.h"

namespace headlight::app {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxRecentFolders = 3;

bool is_hidden_name(const std::string& name) { return name.starts_with('.'); }

/// Does a folder hold a model: as Hugging Face writes it, or as its cache keeps it?
bool holds_model(const fs::path& folder) {
  std::error_code failure;
  return fs::exists(folder / "config.json", failure) || fs::is_directory(folder / "snapshots", failure);
}

/// Folders that something was chosen in since the program was started, the newest first.
std::vector<fs::path>& chosen_before() {
  static std::vector<fs::path> folders;
  return folders;
}

void remember_folder(const fs::path& folder) {
  std::vector<fs::path>& folders = chosen_before();
  std::erase(folders, folder);
  folders.insert(folders.begin(), folder);
  folders.resize(std::min(folders.size(), kMaxRecentFolders));
}

fs::path nearest_folder(const fs::path& folder) {
  std::error_code failure;
  fs::path at = fs::absolute(folder, failure).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  while (at.has_relative_path() && !fs::is_directory(at, failure)) at = at.parent_path();
  return at;
}

}  // namespace

void FolderList::open(const std::string& typed, const std::vector<fs::path>& recent) {
  is_open_ = true;
  focus_ = shell::FieldFocus::AtEnd;
  places_.clear();
  const auto add = [&](std::string name, const fs::path& place) {
    std::error_code failure;
    const bool is_new = std::ranges::none_of(places_, [&](const Place& known) { return known.folder == place; });
    if (is_new && fs::is_directory(place, failure)) places_.push_back({.name = std::move(name), .folder = place});
  };
  std::error_code failure;
  fs::path folder = fs::current_path(failure);
  try {
    add("Home", expand_home("~"));
    add("Downloads", expand_home("~/Downloads"));
    folder = expand_home(typed.empty() ? "~" : typed);
  } catch (const Error&) {  // without HOME there are no such places
  }
  add("Working folder", fs::current_path(failure));
  add("Model cache", model::hub_cache_folder());
  add("Whole disk", fs::current_path(failure).root_path());
  const std::size_t fixed = places_.size();
  std::vector<fs::path> folders = chosen_before();
  folders.insert(folders.end(), recent.begin(), recent.end());
  for (const fs::path& one : folders) {
    if (places_.size() < fixed + kMaxRecentFolders && !one.empty()) add(utf8(one.filename()), one.lexically_normal());
  }
  enter(nearest_folder(folder));
}

void FolderList::enter(const fs::path& folder) {
  std::vector<Entry> folders, files;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure) {
    trouble_ = fmt::format("{}: {}", utf8(folder), failure.message());
    return;
  }
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    const fs::path& path = entries->path();
    std::error_code unreadable;
    if (entries->is_directory(unreadable)) {
      folders.push_back({.name = utf8(path.filename()), .is_model = holds_model(path)});
    } else if (std::ranges::find(extensions_, utf8(path.extension())) != extensions_.end()) {
      files.push_back({.name = utf8(path.filename()), .is_folder = false});
    }
    if (failure) break;
  }
  std::ranges::sort(folders, {}, &Entry::name);
  std::ranges::sort(files, {}, &Entry::name);
  entries_ = std::move(folders);
  entries_.insert(entries_.end(), files.begin(), files.end());
  folder_ = folder;
  trouble_.clear();
  typed_.clear();
  marked_ = 0;
}

bool is_path(std::string_view typed) {
  return typed.find('/') != std::string_view::npos || typed.starts_with('~') || typed == ".." || typed == ".";
}

bool is_in_name(std::string_view typed, std::string_view name) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return is_path(typed) || !std::ranges::search(name, typed, {}, lower, lower).empty() || typed.empty();
}

std::vector<std::size_t> FolderList::listed() const {
  const bool shows_hidden = shows_hidden_ || (!is_path(typed_) && is_hidden_name(typed_));
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool is_found = is_in_name(typed_, entries_[i].name);
    if (is_found && (shows_hidden || !is_hidden_name(entries_[i].name))) shown.push_back(i);
  }
  return shown;
}

std::optional<fs::path> FolderList::take_path() {
  try {
    const fs::path path = (folder_ / expand_home(typed_)).lexically_normal();
    std::error_code failure;
    if (fs::is_directory(path, failure)) {
      enter(nearest_folder(path));
    } else if (fs::exists(path, failure)) {
      return path;
    } else {
      trouble_ = fmt::format("{} isn't there", utf8(path));
    }
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  return std::nullopt;
}

std::optional<fs::path> FolderList::take(const Entry& entry, bool takes_models) {
  const fs::path path = folder_ / entry.name;
  if (!entry.is_folder || (takes_models && entry.is_model)) return path;
  enter(path);
  return std::nullopt;
}

void FolderList::draw_places(Frame& frame) {
  for (const Place& place : places_) {
    frame.ui.ensure_glyphs(place.name);
    if (draw_button(frame, "folder.place." + place.name, place.name.c_str(),
                    fmt::format("Goes to {}.", utf8(place.folder)).c_str())) {
      enter(place.folder);
      focus_ = shell::FieldFocus::AtEnd;
    }
    ImGui::SameLine();
  }
  check_box(frame, "folder.hidden", "Hidden", shows_hidden_, "Shows names that begin with a dot as well.");
}

std::optional<fs::path> FolderList::draw_field(Frame& frame, const std::vector<std::size_t>& shown) {
  const std::string before = typed_;
  const bool is_entered = frame.ui.text_field("##folder.typed", typed_,
                                              {.focus = std::exchange(focus_, shell::FieldFocus::None),
                                               .passes_escape = true,
                                               .passes_list_keys = true,
                                               .hint = "Type to find a name, or a path",
                                               .enter_confirms = true});
  mark_last_item(
      frame, "folder.typed",
      "Finds what has this in its name; a path goes there. Arrows move, Enter opens, Ctrl+Enter takes the folder.");
  if (typed_ != before) {
    marked_ = 0;
    trouble_.clear();
  }
  follows_mark_ = move_mark(frame, marked_, shown.size());
  if (!is_entered) return std::nullopt;
  focus_ = shell::FieldFocus::AtEnd;  // Enter ends the editing
  if (is_path(typed_)) return take_path();
  if (marked_ >= shown.size()) return std::nullopt;
  const bool takes_models = std::ranges::find(extensions_, ".gguf") != extensions_.end();
  const Entry entry = entries_[shown[marked_]];
  return take(entry, takes_models);
}

std::optional<fs::path> FolderList::draw_entries(Frame& frame, const std::vector<std::size_t>& shown, float height) {
  const shell::Theme& theme = frame.ui.theme();
  std::optional<fs::path> next, chosen;
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.field);
  ImGui::BeginChild("folders", {0.0F, height}, true);
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "folders");
    if (folder_.has_relative_path()) {
      if (ImGui::Selectable("..")) next = folder_.parent_path();
      mark_last_item(frame, "folder.up");
    }
    std::size_t folders = 0, files = 0;
    for (std::size_t row = 0; row < shown.size(); ++row) {
      const Entry& entry = entries_[shown[row]];
      frame.ui.ensure_glyphs(entry.name);
      const float right = ImGui::GetCursorPosX() + width_left();
      {
        const TextStyleScope ink(frame.ui.fonts().body, entry.is_folder ? theme.text : theme.accent);
        ImGui::PushID(static_cast<int>(row));
        const bool is_clicked = ImGui::Selectable((entry.name + (entry.is_folder ? "/" : "")).c_str(), row == marked_);
        ImGui::PopID();
        if (is_clicked) (entry.is_folder ? next : chosen) = folder_ / entry.name;
      }
      if (row == marked_ && follows_mark_) ImGui::SetScrollHereY();
      mark_last_item(frame, entry.is_folder ? fmt::format("folder.{}", folders++) : fmt::format("folder.file.{}", files++));
      if (!entry.is_model) continue;
      ImGui::SameLine(right - text_width(frame.ui.fonts().small, "model"));
      write_dim(frame, "model");
    }
  }
  if (shown.empty()) {
    write_dim(frame, typed_.empty()    ? "Nothing to choose in here"
                     : is_path(typed_) ? "Nothing to choose in here; Enter goes to what is typed"
                                       : "Nothing has this in its name");
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
  if (next) enter(*next);
  return chosen;
}

std::optional<fs::path> FolderList::draw(Frame& frame, float height) {
  const shell::Theme& theme = frame.ui.theme();
  frame.ui.ensure_glyphs(utf8(folder_));
  write_strong(frame, fit_text(frame.ui.fonts().strong, utf8(folder_), width_left()));
  draw_places(frame);
  const bool is_taken = frame.ui.is_pressed(shell::Key::Enter, shell::kControl);
  const fs::path here = folder_;
  std::optional<fs::path> chosen = draw_field(frame, listed());
  if (!trouble_.empty()) {
    write_wrapped(frame.ui.fonts().small, theme.warning, trouble_);
  }
  if (const std::optional<fs::path> clicked =
          draw_entries(frame, listed(), height - ImGui::GetFrameHeightWithSpacing() * 2.0F))
    chosen = clicked;

  if (draw_button(frame, "folder.use", "Use this folder", nullptr, 140.0F)) chosen = folder_;
  if (is_taken) chosen = here;
  ImGui::SameLine();
  const bool is_cancelled = draw_button(frame, "folder.back", "Back", nullptr, 96.0F);
  if (chosen) remember_folder(folder_);
  if (chosen || is_cancelled) is_open_ = false;
  return chosen;
}

}  // namespace headlight::app
