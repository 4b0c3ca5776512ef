#include "panels/help_dialogs.h"

#include <vulkan/vulkan_core.h>

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "panels/actions.h"
#include "panels/dialog.h"
#include "panels/ink.h"

namespace headlight::app {
namespace {

/// What the pointer does on the big heatmap.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kGestures = {
    {{"Click", "Pin a cell, or unpin it"},
     {"B, then drag", "Mask or unmask cells with the brush"},
     {"Wheel", "Zoom"},
     {"Drag", "Move the map; with the brush Shift+drag"},
     {"0", "Fit the map"}}};

void draw_group(Frame& frame, std::string_view title) {
  ImGui::TableNextRow(0, 26.0F);
  ImGui::TableNextColumn();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 6.0F);
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  ImGui::TextUnformatted(title.data(), title.data() + title.size());
}

void draw_row(Frame& frame, std::string_view meaning, std::string_view keys) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(meaning.data(), meaning.data() + meaning.size());
  ImGui::TableNextColumn();
  const Ink ink(frame.ui.fonts().mono, frame.ui.theme().accent);
  ImGui::TextUnformatted(keys.data(), keys.data() + keys.size());
}

}  // namespace

void draw_shortcuts_dialog(Frame& frame, bool& is_open) {
  const Dialog dialog(frame, "Shortcuts", is_open, 440.0F);
  if (!dialog.is_visible()) return;
  const shell::Theme& theme = frame.ui.theme();
  if (ImGui::BeginTable("keys", 2, ImGuiTableFlags_SizingFixedFit)) {
    ImGui::TableSetupColumn("action", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("keys", ImGuiTableColumnFlags_WidthFixed, 140.0F);
    std::string_view group;
    for (const Shortcut& shortcut : shortcuts()) {
      if (shortcut.keys.empty()) continue;
      if (shortcut.group != group) draw_group(frame, group = shortcut.group);
      draw_row(frame, shortcut.label, shortcut.keys);
    }
    draw_group(frame, "On the map");
    for (const auto& [gesture, meaning] : kGestures) draw_row(frame, meaning, gesture);
    ImGui::EndTable();
  }
  ImGui::Spacing();
  const Ink ink(frame.ui.fonts().small, theme.text_dim);
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted("While a text is being edited, plain keys are the text's. Esc leaves it.");
  ImGui::PopTextWrapPos();
}

void draw_about_dialog(Frame& frame, bool& is_open, const std::string& renderer) {
  const Dialog dialog(frame, "About", is_open, 440.0F);
  if (!dialog.is_visible()) return;
  {
    const Ink ink(frame.ui.fonts().title, frame.ui.theme().text);
    ImGui::TextUnformatted("Headlight " HEADLIGHT_VERSION);
  }
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted("Type a sentence and see every head of a transformer attend to it.");
  ImGui::Spacing();
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const std::string computes = frame.result.device.empty() ? "none" : frame.result.device;
  ImGui::TextUnformatted(fmt::format("Computes on: {}", computes).c_str());
  ImGui::TextUnformatted(fmt::format("Draws on: {}", renderer).c_str());
  ImGui::TextUnformatted(fmt::format("Dear ImGui {}, Vulkan headers 1.{}.{}", ImGui::GetVersion(),
                                     VK_API_VERSION_MINOR(VK_HEADER_VERSION_COMPLETE), VK_HEADER_VERSION)
                             .c_str());
  ImGui::TextUnformatted("MIT licence");
  ImGui::PopTextWrapPos();
}

}  // namespace headlight::app
