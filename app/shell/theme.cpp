#include "app/shell/theme.h"

#include <glm/common.hpp>
#include <glm/vec3.hpp>

#include "chart/color.h"
#include "imgui.h"

namespace headlight::shell {
namespace {

constexpr Theme kLight{.kind = ThemeKind::Light,
                       .background = rgb(0xEEF0F3),
                       .panel = rgb(0xFBFCFD),
                       .field = rgb(0xF1F3F6),
                       .popup = rgb(0xFFFFFF),
                       .hover = rgb(0xE6EAF0),
                       .active = rgb(0xD9E2F1),
                       .border = rgb(0xD5DAE1),
                       .text = rgb(0x1B2027),
                       .text_dim = rgb(0x5A6472),
                       .text_on_accent = rgb(0xFFFFFF),
                       .accent = rgb(0x2F62C8),
                       .accent_hover = rgb(0x24509F),
                       .warning = rgb(0xA4470A),
                       .query = rgb(0x1F5FBF),
                       .key = rgb(0xB3362F),
                       .value = rgb(0x22703A),
                       .output = rgb(0x7440AC),
                       .query_fill = rgb(0xDCE8FA),
                       .key_fill = rgb(0xF9E0DD),
                       .value_fill = rgb(0xDBF0E0),
                       .output_fill = rgb(0xEBE0F7),
                       .padding = rgb(0xE4E7EB),
                       .hatch = rgb(0xA9B1BC),
                       .hatch_ground = rgb(0xE9ECF0),
                       .missing = rgb(0xE2E6EB),
                       .grid = with_alpha(rgb(0xFBFCFD), 150),
                       .crosshair = rgb(0xE07B00)};

constexpr Theme kDark{.kind = ThemeKind::Dark,
                      .background = rgb(0x14171C),
                      .panel = rgb(0x1C2027),
                      .field = rgb(0x272C35),
                      .popup = rgb(0x232831),
                      .hover = rgb(0x303743),
                      .active = rgb(0x2C3C59),
                      .border = rgb(0x363D49),
                      .text = rgb(0xE7EAEF),
                      .text_dim = rgb(0xA4ADBB),
                      .text_on_accent = rgb(0x0F1723),
                      .accent = rgb(0x7FA9F7),
                      .accent_hover = rgb(0xA3C2FB),
                      .warning = rgb(0xF0A868),
                      .query = rgb(0x7DB0F8),
                      .key = rgb(0xF59289),
                      .value = rgb(0x7CCB92),
                      .output = rgb(0xC7A2F0),
                      .query_fill = rgb(0x24374F),
                      .key_fill = rgb(0x4A2C2C),
                      .value_fill = rgb(0x233F2D),
                      .output_fill = rgb(0x3B2D4E),
                      .padding = rgb(0x2A2F38),
                      .hatch = rgb(0x596270),
                      .hatch_ground = rgb(0x2A2F37),
                      .missing = rgb(0x262B33),
                      .grid = with_alpha(rgb(0x1C2027), 150),
                      .crosshair = rgb(0xFFB347)};

/// The theme for projectors and eyes that need it: black grounds, white lines around everything, no muted text.
constexpr Theme kHighContrast{.kind = ThemeKind::HighContrast,
                              .background = rgb(0x000000),
                              .panel = rgb(0x000000),
                              .field = rgb(0x0A0A0A),
                              .popup = rgb(0x000000),
                              .hover = rgb(0x2E2E2E),
                              .active = rgb(0x003A70),
                              .border = rgb(0xB8B8B8),
                              .text = rgb(0xFFFFFF),
                              .text_dim = rgb(0xD6D6D6),
                              .text_on_accent = rgb(0x000000),
                              .accent = rgb(0xFFD400),
                              .accent_hover = rgb(0xFFE766),
                              .warning = rgb(0xFFB070),
                              .query = rgb(0x8FC4FF),
                              .key = rgb(0xFFA59C),
                              .value = rgb(0x86E8A2),
                              .output = rgb(0xDCBBFF),
                              .query_fill = rgb(0x00264D),
                              .key_fill = rgb(0x4A0D08),
                              .value_fill = rgb(0x003314),
                              .output_fill = rgb(0x2E1152),
                              .padding = rgb(0x1C1C1C),
                              .hatch = rgb(0x9A9A9A),
                              .hatch_ground = rgb(0x1A1A1A),
                              .missing = rgb(0x262626),
                              .grid = rgb(0x808080),
                              .crosshair = rgb(0xFFFFFF)};

void apply_sizes(ImGuiStyle& style) {
  style.WindowPadding = {12.0F, 10.0F};
  style.FramePadding = {9.0F, 5.0F};
  style.CellPadding = {6.0F, 3.0F};
  style.ItemSpacing = {8.0F, 7.0F};
  style.ItemInnerSpacing = {7.0F, 4.0F};
  style.IndentSpacing = 18.0F;
  style.ScrollbarSize = 12.0F;
  style.GrabMinSize = 12.0F;
  style.WindowBorderSize = 1.0F;
  style.ChildBorderSize = 1.0F;
  style.PopupBorderSize = 1.0F;
  style.FrameBorderSize = 1.0F;
  style.TabBorderSize = 0.0F;
  style.WindowRounding = 6.0F;
  style.ChildRounding = 6.0F;
  style.FrameRounding = 6.0F;
  style.PopupRounding = 6.0F;
  style.GrabRounding = 5.0F;
  style.TabRounding = 6.0F;
  style.ScrollbarRounding = 6.0F;
  style.WindowTitleAlign = {0.0F, 0.5F};
  style.WindowMenuButtonPosition = ImGuiDir_None;
  style.DisplaySafeAreaPadding = {4.0F, 4.0F};
}

}  // namespace

const Theme& theme_of(ThemeKind kind) {
  switch (kind) {
    case ThemeKind::Light:
      return kLight;
    case ThemeKind::Dark:
      return kDark;
    case ThemeKind::HighContrast:
      break;
  }
  return kHighContrast;
}

double contrast(Color a, Color b) { return chart::contrast(chart::unpack(a), chart::unpack(b)); }

Color blended(Color top, Color ground) {
  const float share = static_cast<float>(top >> 24) / 255.0F;
  const glm::uvec3 mixed(glm::round(glm::mix(glm::vec3(chart::unpack(ground)), glm::vec3(chart::unpack(top)), share)));
  return 0xFF000000U | mixed.b << 16 | mixed.g << 8 | mixed.r;
}

Color text_on(Color ground, Color preferred) {
  return chart::pack(chart::text_on(chart::unpack(ground), chart::unpack(preferred)));
}

Color mark_on(Color ground, Color mark, Color ink) {
  constexpr double kMin = 3.0;
  constexpr std::uint32_t kSteps = 16;
  const std::uint32_t alpha = mark >> 24;
  for (std::uint32_t step = 0; step <= kSteps; ++step) {
    const Color color = blended(with_alpha(mark, alpha + (255U - alpha) * step / kSteps), ground);
    if (contrast(color, ground) >= kMin) return color;
  }
  for (std::uint32_t step = 1; step < kSteps; ++step) {
    const Color color = blended(with_alpha(ink, 255U * step / kSteps), mark);
    if (contrast(color, ground) >= kMin) return color;
  }
  return ink;
}

void apply(const Theme& theme, ImGuiStyle& style) {
  style = ImGuiStyle();
  apply_sizes(style);
  const auto set = [&](ImGuiCol slot, Color color) { style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(color); };
  const Color none = with_alpha(theme.panel, 0);
  set(ImGuiCol_Text, theme.text);
  set(ImGuiCol_TextDisabled, theme.text_dim);
  set(ImGuiCol_WindowBg, theme.panel);
  set(ImGuiCol_ChildBg, none);
  set(ImGuiCol_PopupBg, theme.popup);
  set(ImGuiCol_Border, theme.border);
  set(ImGuiCol_BorderShadow, none);
  set(ImGuiCol_FrameBg, theme.field);
  set(ImGuiCol_FrameBgHovered, theme.hover);
  set(ImGuiCol_FrameBgActive, theme.active);
  set(ImGuiCol_TitleBg, theme.panel);
  set(ImGuiCol_TitleBgActive, theme.panel);
  set(ImGuiCol_TitleBgCollapsed, theme.panel);
  set(ImGuiCol_MenuBarBg, theme.background);
  set(ImGuiCol_ScrollbarBg, none);
  set(ImGuiCol_ScrollbarGrab, theme.border);
  set(ImGuiCol_ScrollbarGrabHovered, theme.text_dim);
  set(ImGuiCol_ScrollbarGrabActive, theme.accent);
  set(ImGuiCol_CheckMark, theme.accent);
  // The number is written over them, also while the pointer is there.
  set(ImGuiCol_SliderGrab, with_alpha(theme.accent, theme.kind == ThemeKind::Light ? 130 : 108));
  set(ImGuiCol_SliderGrabActive, with_alpha(theme.accent_hover, theme.kind == ThemeKind::Light ? 150 : 86));
  set(ImGuiCol_Button, theme.field);
  set(ImGuiCol_ButtonHovered, theme.hover);
  set(ImGuiCol_ButtonActive, theme.active);
  set(ImGuiCol_Header, theme.active);
  set(ImGuiCol_HeaderHovered, theme.hover);
  set(ImGuiCol_HeaderActive, theme.active);
  set(ImGuiCol_Separator, theme.border);
  set(ImGuiCol_SeparatorHovered, theme.accent);
  set(ImGuiCol_SeparatorActive, theme.accent);
  set(ImGuiCol_ResizeGrip, none);
  set(ImGuiCol_ResizeGripHovered, theme.accent);
  set(ImGuiCol_ResizeGripActive, theme.accent);
  set(ImGuiCol_Tab, none);
  set(ImGuiCol_TabHovered, theme.hover);
  set(ImGuiCol_TabActive, theme.active);
  set(ImGuiCol_TabUnfocused, none);
  set(ImGuiCol_TabUnfocusedActive, theme.active);
  set(ImGuiCol_PlotLines, theme.accent);
  set(ImGuiCol_PlotLinesHovered, theme.accent_hover);
  set(ImGuiCol_PlotHistogram, theme.accent);
  set(ImGuiCol_PlotHistogramHovered, theme.accent_hover);
  set(ImGuiCol_TableHeaderBg, theme.field);
  set(ImGuiCol_TableBorderStrong, theme.border);
  set(ImGuiCol_TableBorderLight, theme.border);
  set(ImGuiCol_TableRowBg, none);
  set(ImGuiCol_TableRowBgAlt, with_alpha(theme.text, 8));
  set(ImGuiCol_TextSelectedBg, with_alpha(theme.accent, 90));
  set(ImGuiCol_DragDropTarget, theme.accent);
  set(ImGuiCol_NavHighlight, theme.accent);
  set(ImGuiCol_NavWindowingHighlight, theme.accent);
  set(ImGuiCol_NavWindowingDimBg, with_alpha(theme.background, 150));
  set(ImGuiCol_ModalWindowDimBg, with_alpha(rgb(0x0B0D10), theme.kind == ThemeKind::Light ? 90 : 150));
}

}  // namespace headlight::shell
