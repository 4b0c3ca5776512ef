#include "app/widgets/folder_list.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"

namespace headlight::app {

namespace fs = std::filesystem;

namespace {

bool draw_entry(Frame& frame, std::size_t index, const std::string& name, shell::Color color) {
  frame.ui.ensure_glyphs(name);
  const Ink ink(frame.ui.fonts().body, color);
  ImGui::PushID(static_cast<int>(index));
  const bool is_clicked = ImGui::Selectable(name.c_str());
  ImGui::PopID();
  return is_clicked;
}

}  // namespace

void FolderList::open(const fs::path& folder) {
  is_open_ = true;
  std::error_code failure;
  fs::path at = fs::absolute(folder, failure).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  while (at.has_relative_path() && !fs::is_directory(at, failure)) at = at.parent_path();
  enter(at);
}

void FolderList::enter(const fs::path& folder) {
  std::vector<std::string> names, files;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure) {
    trouble_ = fmt::format("{}: {}", folder.string(), failure.message());
    return;
  }
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    const fs::path& path = entries->path();
    std::error_code unreadable;
    if (entries->is_directory(unreadable)) {
      names.push_back(path.filename().string());
    } else if (std::ranges::find(extensions_, path.extension().string()) != extensions_.end()) {
      files.push_back(path.filename().string());
    }
    if (failure) break;
  }
  std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name.starts_with('.'), name); });
  std::ranges::sort(files);
  names_ = std::move(names);
  files_ = std::move(files);
  folder_ = folder;
  trouble_.clear();
}

std::optional<fs::path> FolderList::draw(Frame& frame, float height) {
  const shell::Theme& theme = frame.ui.theme();
  std::optional<fs::path> next, chosen;
  frame.ui.ensure_glyphs(folder_.string());
  {
    const Ink ink(frame.ui.fonts().strong, theme.text);
    ImGui::TextUnformatted(fit_text(frame.ui.fonts().strong, folder_.string(), ImGui::GetContentRegionAvail().x).c_str());
  }
  if (!trouble_.empty()) {
    const Ink ink(frame.ui.fonts().small, theme.warning);
    ImGui::PushTextWrapPos(0.0F);
    ImGui::TextUnformatted(trouble_.c_str());
    ImGui::PopTextWrapPos();
  }
  ImGui::PushStyleColor(ImGuiCol_ChildBg, theme.field);
  ImGui::BeginChild("folders", {0.0F, height}, true);
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "folders");
    if (folder_.has_relative_path()) {
      if (ImGui::Selectable("..")) next = folder_.parent_path();
      mark_last_item(frame, "folder.up");
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (draw_entry(frame, i, names_[i] + "/", theme.text)) next = folder_ / names_[i];
      mark_last_item(frame, fmt::format("folder.{}", i));
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (draw_entry(frame, names_.size() + i, files_[i], theme.accent)) chosen = folder_ / files_[i];
      mark_last_item(frame, fmt::format("folder.file.{}", i));
    }
  }
  if (names_.empty() && files_.empty()) {
    const Ink ink(frame.ui.fonts().small, theme.text_dim);
    ImGui::TextUnformatted("Nothing to choose in here");
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
  if (next) enter(*next);

  constexpr float kWidth = 140.0F;
  if (ImGui::Button("Use this folder", {kWidth, 0.0F})) chosen = folder_;
  mark_last_item(frame, "folder.use");
  ImGui::SameLine();
  const bool is_cancelled = ImGui::Button("Back", {96.0F, 0.0F});
  mark_last_item(frame, "folder.back");
  if (chosen || is_cancelled) is_open_ = false;
  return chosen;
}

}  // namespace headlight::app
