#include "panels/folder_list.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "panels/ink.h"
#include "panels/label_text.h"

namespace headlight::app {

namespace fs = std::filesystem;

void FolderList::open(const fs::path& folder) {
  is_open_ = true;
  std::error_code failure;
  fs::path at = fs::absolute(folder, failure).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();
  while (at.has_relative_path() && !fs::is_directory(at, failure)) at = at.parent_path();
  enter(at);
}

void FolderList::enter(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure) {
    trouble_ = fmt::format("{}: {}", folder.string(), failure.message());
    return;
  }
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    const std::string name = entries->path().filename().string();
    std::error_code unreadable;
    if (!name.starts_with('.') && entries->is_directory(unreadable)) names.push_back(name);
    if (failure) break;
  }
  std::ranges::sort(names);
  names_ = std::move(names);
  folder_ = folder;
  trouble_.clear();
}

std::optional<fs::path> FolderList::draw(Frame& frame, float height) {
  const shell::Theme& theme = frame.ui.theme();
  std::optional<fs::path> next;
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
  if (folder_.has_relative_path()) {
    if (ImGui::Selectable("..")) next = folder_.parent_path();
    mark_last_item(frame, "folder.up");
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    frame.ui.ensure_glyphs(names_[i]);
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(names_[i].c_str())) next = folder_ / names_[i];
    ImGui::PopID();
    mark_last_item(frame, fmt::format("folder.{}", i));
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
  if (next) enter(*next);

  constexpr float kWidth = 140.0F;
  const bool is_chosen = ImGui::Button("Use this folder", {kWidth, 0.0F});
  mark_last_item(frame, "folder.use");
  ImGui::SameLine();
  const bool is_cancelled = ImGui::Button("Back", {96.0F, 0.0F});
  mark_last_item(frame, "folder.back");
  if (is_chosen || is_cancelled) is_open_ = false;
  return is_chosen ? std::optional(folder_) : std::nullopt;
}

}  // namespace headlight::app
