#include "app/window/menu_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/state/model_changes.h"
#include "app/widgets/ink.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

constexpr std::array kUiScales = {0.0F, 0.5F, 0.67F, 0.8F, 0.9F, 1.0F, 1.1F, 1.25F, 1.5F, 1.75F, 2.0F, 2.5F, 3.0F, 4.0F};

class Menus {
 public:
  Menus(Frame& frame, const MenuContext& context) : frame_(frame), context_(context) {}

  MenuChoice draw() {
    menu("File", &Menus::draw_file);
    menu("Edit", &Menus::draw_edit);
    menu("View", &Menus::draw_view);
    menu("Presets", &Menus::draw_presets);
    menu("Device", &Menus::draw_devices);
    menu("Help", &Menus::draw_help);
    return std::move(choice_);
  }

 private:
  void menu(const char* title, void (Menus::*draw_entries)()) {
    const bool is_open = ImGui::BeginMenu(title);
    mark_last_item(frame_, fmt::format("menu.{}", title));
    if (!is_open) return;
    (this->*draw_entries)();
    ImGui::EndMenu();
  }

  void entry(const char* label, Action action, bool is_enabled = true, const char* explanation = nullptr) {
    const std::string keys(keys_of(action));
    if (ImGui::MenuItem(label, keys.empty() ? nullptr : keys.c_str(), false, is_enabled)) choice_.action = action;
    mark_last_item(frame_, fmt::format("menu.{}", label), explanation);
  }

  /// One of several values; the chosen one has a tick.
  template <typename Value>
  void option(const char* label, Value& value, const Value& option_value, const char* keys = nullptr,
              const char* family = "") {
    if (ImGui::MenuItem(label, keys, value == option_value)) value = option_value;
    mark_last_item(frame_, fmt::format("menu.{}{}", family, label));
  }

  void heading(const char* text) {
    const Ink ink(frame_.ui.fonts().small, frame_.ui.theme().text_dim);
    ImGui::TextUnformatted(text);
  }

  void draw_file() {
    entry("Open model\u2026", Action::OpenModel);
    submenu("Bundled models", &Menus::draw_bundled);
    ImGui::Separator();
    entry("Export\u2026", Action::Export, frame_.result.run != 0);
    entry("Save screenshot\u2026", Action::SaveScreenshot);
    ImGui::Separator();
    entry("Quit", Action::Quit);
  }

  void draw_bundled() {
    bool has_any = false;
    for (const WelcomeCard& card : context_.cards()) {
      const bool is_model = card.kind == WelcomeCard::Kind::Translator || card.kind == WelcomeCard::Kind::Captions;
      if (!is_model) continue;
      has_any = true;
      if (ImGui::MenuItem(card.title.c_str(), nullptr, card.is_shown)) choice_.card = card;
      mark_last_item(frame_, "menu." + card.title);
    }
    if (!has_any) heading("None are installed.");
  }

  void draw_edit() {
    const std::string undo = context_.undo_label.empty() ? "Undo" : "Undo: " + context_.undo_label;
    const std::string redo = context_.redo_label.empty() ? "Redo" : "Redo: " + context_.redo_label;
    entry((undo + "###undo").c_str(), Action::Undo, !context_.undo_label.empty(), "Takes back the last change.");
    entry((redo + "###redo").c_str(), Action::Redo, !context_.redo_label.empty(), "Makes the change again.");
    ImGui::Separator();
    entry("Copy figure", Action::CopyFigure, frame_.result.run != 0);
    entry("Copy cell", Action::CopyCell, frame_.state.view.pinned.has_value());
    ImGui::Separator();
    entry("Reset masks", Action::ResetMasks);
    if (ImGui::MenuItem("Reset head gains", nullptr, false, !frame_.state.gains.empty())) frame_.state.gains.clear();
    mark_last_item(frame_, "menu.Reset head gains");
    entry("Reset masks and heads", Action::ResetModel, !model_changes(frame_.state).empty());
    ImGui::Separator();
    entry("Write into the text box", Action::WriteText);
    entry("Paint the mask", Action::Paint);
  }

  void draw_view() {
    ViewChoices& view = frame_.state.view;
    option("Head", view.tab, Tab::Head, "1");
    option("Steps", view.tab, Tab::Steps, "2");
    option("Predictions", view.tab, Tab::Predictions, "3");
    draw_alignment();
    ImGui::Separator();
    submenu("Map", &Menus::draw_stages);
    submenu("Colour map", &Menus::draw_color_maps);
    submenu("Colour range", &Menus::draw_ranges);
    submenu("Order of the grid", &Menus::draw_orders);
    ImGui::MenuItem("Numbers in cells", nullptr, &view.show_numbers);
    mark_last_item(frame_, "menu.Numbers in cells");
    ImGui::Separator();
    entry("Left panel", Action::ToggleSidebar);
    entry("Right panel", Action::ToggleGrid);
    ImGui::Separator();
    option("Dark", view.theme, Theme::Dark);
    option("Light", view.theme, Theme::Light);
    submenu("Interface scale", &Menus::draw_scales);
  }

  void submenu(const char* title, void (Menus::*draw_entries)()) { menu(title, draw_entries); }

  void draw_stages() {
    attention::Stage& stage = frame_.state.view.heatmap_stage;
    option("Raw scores", stage, attention::Stage::Scores);
    option("Scaled scores", stage, attention::Stage::Scaled);
    option("Masked scores", stage, attention::Stage::Masked);
    option("Weights", stage, attention::Stage::Weights);
  }

  void draw_color_maps() {
    for (const view::ColorMap map : view::kColorMaps) {
      const std::string name(view::to_string(map));
      if (map != view::ColorMap::BlueRed) option(name.c_str(), frame_.state.view.color_map, name, nullptr, "color.");
    }
  }

  void draw_ranges() {
    ViewChoices& view = frame_.state.view;
    option("Absolute", view.color_range, ColorRange::Absolute);
    option("Each row its own", view.color_range, ColorRange::PerRow);
    ImGui::Separator();
    option("Linear", view.color_spread, view::ScaleSpread::Linear);
    option("Logarithmic", view.color_spread, view::ScaleSpread::Log);
    ImGui::Separator();
    if (ImGui::MenuItem("Fit every map", nullptr, false, !view.color_limits.empty())) view.color_limits.clear();
    mark_last_item(frame_, "menu.Fit every map");
  }

  /// The mean of an encoder–decoder's cross-attention: which source words each written word comes from.
  void draw_alignment() {
    const bool has_cross = std::ranges::any_of(
        frame_.result.shapes, [](const auto& shape) { return shape.first.kind == model::BlockKind::Cross; });
    Selection& selection = frame_.state.selection;
    const bool is_shown = selection.mean == HeadMean::Kind && selection.block.kind == model::BlockKind::Cross &&
                          frame_.state.view.tab == Tab::Head;
    if (ImGui::MenuItem("Alignment (mean of cross-attention)", nullptr, is_shown, has_cross)) {
      selection.block.kind = model::BlockKind::Cross;
      selection.mean = HeadMean::Kind;
      frame_.state.view.tab = Tab::Head;
      clamp_selection(frame_.state, frame_.result.shapes);
    }
    mark_last_item(frame_, "menu.Alignment");
  }

  void draw_orders() {
    option("By layer and head", frame_.state.view.grid_order, GridOrder::ByLayer);
    option("Most concentrated first", frame_.state.view.grid_order, GridOrder::ByConcentration);
  }

  void draw_scales() {
    for (const float scale : kUiScales) {
      const int percent = static_cast<int>(std::lround(scale * 100.0F));
      const std::string label = percent == 0 ? "As the monitor asks" : fmt::format("{} %", percent);
      option(label.c_str(), frame_.state.view.ui_scale, scale, nullptr, percent == 0 ? "" : "scale.");
    }
  }

  void draw_presets() {
    if (ImGui::MenuItem("Playground", nullptr, frame_.state.preset.empty() && frame_.state.model.path.empty())) {
      select_preset(frame_.state, "");
    }
    mark_last_item(frame_, "menu.Playground");
    ImGui::Separator();
    for (const PresetInfo& preset : context_.presets()) {
      if (ImGui::MenuItem(preset.title.c_str(), nullptr, frame_.state.preset == preset.name)) {
        select_preset(frame_.state, preset.name);
      }
      mark_last_item(frame_, "menu." + preset.name, preset.summary.c_str());
    }
  }

  void draw_devices() {
    const std::vector<gpu::DeviceInfo>& devices = context_.devices();
    if (devices.empty()) {
      heading("No Vulkan device. Install a driver, for instance mesa-vulkan-drivers.");
      return;
    }
    for (const gpu::DeviceInfo& device : devices) {
      const std::string label = fmt::format("{}##{}", device.name, device.index);
      const bool is_chosen = frame_.result.device == device.name;
      if (ImGui::MenuItem(label.c_str(), device.kind.c_str(), is_chosen, device.is_usable()) && !is_chosen) {
        const auto is_namesake = [&](const gpu::DeviceInfo& other) { return other.name == device.name; };
        const bool is_unique = std::ranges::count_if(devices, is_namesake) == 1;
        choice_.device = is_unique ? device.name : std::to_string(device.index);
      }
      mark_last_item(frame_, fmt::format("menu.device.{}", device.index));
      if (!device.is_usable()) heading(fmt::format("    lacks: {}", fmt::join(device.lacks, "; ")).c_str());
    }
  }

  void draw_help() {
    entry("Welcome", Action::ShowWelcome);
    entry("Keys and words", Action::ShowShortcuts);
    entry("About", Action::ShowAbout);
  }

  Frame& frame_;
  const MenuContext& context_;
  MenuChoice choice_;
};

}  // namespace

MenuChoice draw_menu_panel(Frame& frame, const MenuContext& context) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  const bool is_visible = ImGui::BeginMainMenuBar();
  ImGui::PopStyleVar();
  if (!is_visible) return {};
  MenuChoice choice = Menus(frame, context).draw();
  ImGui::EndMainMenuBar();
  return choice;
}

}  // namespace headlight::app
