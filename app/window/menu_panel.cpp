#include "app/window/panels.h"

#include <exception>
#include <iterator>

#include <fmt/ranges.h>

#include "app/commands/command_list.h"
#include "app/models/starter_view.h"
#include "app/widgets/controls.h"
#include "gpu/driver_advice.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

constexpr std::array kMenus = {"File", "Edit", "View", "Help"};
constexpr const char* kOneMenu = "Menu";

/// Returns what makes a line of menus as high as the window's first row.
float row_padding() { return (kTopRowHeight - ImGui::GetFontSize()) * 0.5F; }

/// Returns the commands of one menu or submenu, in the order in which they are drawn.
std::vector<const Command*> commands_of(std::string_view menu) {
  std::vector<const Command*> list;
  for (const Command& command : commands()) {
    if (command.menu.menu == menu) list.push_back(&command);
  }
  std::ranges::stable_sort(list, {}, [](const Command* command) { return command->menu.section; });
  return list;
}

/// File, Edit, View and Help are the commands that name them as their menu, and what only this installation or this
/// computer knows: models, notebooks, devices.
class Menus {
 public:
  Menus(Frame& frame, const MenuContext& context) : frame_(frame), context_(context) {}

  /// Draws the entries of a context menu, below what it is of.
  MenuChoice draw_for(MenuTarget target, const std::string& title) {
    heading(title.c_str());
    ImGui::Separator();
    for (const Command& command : commands()) {
      if ((command.menus_of & static_cast<std::uint8_t>(target)) != 0) entry(command, command.label);
    }
    return std::move(choice_);
  }

  MenuChoice draw(bool is_one, bool opens) {
    if (opens) open(is_one ? kOneMenu : kMenus.front());
    if (is_one) {
      const auto draw_all = [this] {
        for (const char* title : kMenus) menu(title, [this, title] { draw_commands(title); });
      };
      choice_.is_open = menu(kOneMenu, draw_all, row_padding());
      return std::move(choice_);
    }
    std::optional<std::size_t> shown;
    for (std::size_t i = 0; i < kMenus.size(); ++i) {
      if (menu(
              kMenus[i], [this, i] { draw_commands(kMenus[i]); }, row_padding()))
        shown = i;
    }
    choice_.is_open = shown.has_value();
    const bool goes_right = frame_.ui.is_pressed(shell::Key::Right), goes_left = frame_.ui.is_pressed(shell::Key::Left);
    if (shown && goes_right != goes_left) open(kMenus[(*shown + (goes_right ? 1 : kMenus.size() - 1)) % kMenus.size()]);
    return std::move(choice_);
  }

 private:
  /// `padding`: of the line that the title is in; popups have their own.
  template <typename Draw>
  bool menu(const char* title, const Draw& draw_entries, float padding = ImGui::GetStyle().FramePadding.y) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ImGui::GetStyle().FramePadding.x, padding));
    const bool is_open = ImGui::BeginMenu(title);
    ImGui::PopStyleVar();
    mark(fmt::format("menu.{}", title), title);
    frame_.ui.keyboard().note_submenu();
    if (!is_open) return false;
    {
      const shell::ControlArea area(frame_.ui.keyboard(), 0);
      draw_entries();
    }
    ImGui::EndMenu();
    return true;
  }

  void mark(std::string name, std::string_view label, const char* help = nullptr) {
    mark_last_item(frame_, std::move(name), help);
    frame_.ui.keyboard().name_last(label);
  }

  /// Opens a menu of the line for the keyboard.
  void open(const char* title) {
    frame_.ui.keyboard().begin();
    ImGui::OpenPopup(title);
    frame_.ui.request_redraw(2);
  }

  void entry(const Command& command) { entry(command, command.menu.label); }

  void entry(const Command& command, std::string label) {
    const CommandContext& context = context_.commands;
    if (const std::string object = command.object ? command.object(context) : std::string(); !object.empty()) {
      label += ": " + object;
    }
    const std::string keys(keys_text(command));
    const bool is_checked = command.is_checked && command.is_checked(context);
    if (ImGui::MenuItem(fmt::format("{}###{}", label, command.id).c_str(), keys.empty() ? nullptr : keys.c_str(), is_checked,
                        is_enabled(command, context))) {
      choice_.command = &command;
    }
    mark(fmt::format("menu.{}", command.menu.label.empty() ? command.id : command.menu.label), label, command.help.c_str());
  }

  void draw_commands(const char* title) {
    const std::vector<const Command*> list = commands_of(title);
    std::vector<std::string_view> submenus;  // that are drawn already
    for (std::size_t i = 0; i < list.size(); ++i) {
      const MenuEntry& shown = list[i]->menu;
      if (i > 0 && shown.section != list[i - 1]->menu.section) end_section(title, list[i - 1]->menu.section);
      if (shown.submenu.empty()) {
        entry(*list[i]);
      } else if (std::ranges::find(submenus, shown.submenu) == submenus.end()) {
        submenus.push_back(shown.submenu);
        menu(shown.submenu.c_str(), [&] { draw_submenu(list, shown.submenu); });
      }
    }
    if (std::string_view(title) == "Edit") {
      ImGui::Separator();
      menu("Device", [this] { draw_devices(); });
    }
  }

  void draw_submenu(const std::vector<const Command*>& of_menu, const std::string& title) {
    std::vector<const Command*> list;
    std::ranges::copy_if(of_menu, std::back_inserter(list),
                         [&](const Command* some) { return some->menu.submenu == title; });
    std::ranges::stable_sort(list, {}, [](const Command* command) { return command->menu.part; });
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0 && list[i]->menu.part != list[i - 1]->menu.part) ImGui::Separator();
      entry(*list[i]);
    }
  }

  void end_section(std::string_view title, int section) {
    if (title == "File" && section == 0) menu("Recent files", [this] { draw_recent(); });
    if (title == "File" && section == 0) menu("Bundled models", [this] { draw_bundled(); });
    if (title == "File" && section == 0) menu("Presets", [this] { draw_presets(); });
    ImGui::Separator();
  }

  void heading(const char* text) { write_text(frame_.ui.fonts().small, frame_.ui.theme().text_dim, text); }

  void draw_bundled() {
    bool has_any = false;
    for (const WelcomeCard& card : context_.cards()) {
      const bool is_model = card.kind == WelcomeCard::Kind::Translator || card.kind == WelcomeCard::Kind::Captions;
      if (!is_model) continue;
      has_any = true;
      if (ImGui::MenuItem(card.title.c_str(), nullptr, card.is_shown)) choice_.card = card;
      mark("menu." + card.title, card.title);
    }
    if (!has_any) heading("None are installed.");
  }

  void draw_recent() {
    const std::vector<std::string> files = context_.recent();
    for (const std::string& path : files) {
      const std::string name = utf8(std::filesystem::path(path).filename());
      frame_.ui.ensure_glyphs(name);
      if (ImGui::MenuItem(fmt::format("{}###{}", frame_.ui.shaped(name), path).c_str())) choice_.file = path;
      mark("menu.recent." + name, name, path.c_str());
    }
    if (files.empty()) heading("None was opened, or is still there.");
  }

  void draw_presets() {
    if (ImGui::MenuItem("Playground", nullptr, is_playground(frame_.state.source))) {
      select_preset(frame_.state, "");
    }
    mark("menu.Playground", "Playground");
    ImGui::Separator();
    for (const PresetInfo& preset : context_.presets()) {
      if (ImGui::MenuItem(preset.title.c_str(), nullptr, notebook_name(frame_.state.source) == preset.name)) {
        select_preset(frame_.state, preset.name);
      }
      mark("menu." + preset.name, preset.title, preset.summary.c_str());
    }
  }

  void draw_devices() {
    const std::vector<gpu::DeviceInfo>& devices = context_.devices();
    if (devices.empty()) {
      heading(fmt::format("No Vulkan device: {}.", gpu::driver_advice()).c_str());
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
      mark(fmt::format("menu.device.{}", device.index), device.name);
      if (!device.is_usable()) heading(fmt::format("    lacks: {}", fmt::join(device.lacks, "; ")).c_str());
    }
  }

  Frame& frame_;
  const MenuContext& context_;
  MenuChoice choice_;
};

}  // namespace

bool begin_top_row() {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ImGui::GetStyle().FramePadding.x, row_padding()));
  const bool is_visible = ImGui::BeginMainMenuBar();
  ImGui::PopStyleVar(2);
  return is_visible;
}

void end_top_row() { ImGui::EndMainMenuBar(); }

float menus_width(const shell::Ui& ui, bool is_one) {
  const auto width_of = [&](const char* title) {
    return std::ceil(text_width(ui.fonts().body, title)) + 2.0F * ImGui::GetStyle().ItemSpacing.x;
  };
  float width = 0.0F;
  for (const char* title : kMenus) width += width_of(title);
  return is_one ? width_of(kOneMenu) : width;
}

MenuChoice draw_menu_panel(Frame& frame, const MenuContext& context, RowForm form, bool opens) {
  if (!begin_top_row()) return {};
  ImGui::SetCursorPosX(row_start(context.layout));
  MenuChoice choice = Menus(frame, context).draw(form >= RowForm::OneMenu, opens);
  end_top_row();
  return choice;
}

MenuChoice draw_context_menu(Frame& frame, const MenuContext& context, MenuTarget target, const std::string& title) {
  return Menus(frame, context).draw_for(target, title);
}

const std::vector<PresetInfo>& MenuCatalog::presets() {
  if (!presets_.empty()) return presets_;
  for (const inference::NotebookPreset& preset : inference::notebook_presets())
    presets_.push_back({std::string(preset.name), std::string(preset.title), std::string(preset.summary)});
  return presets_;
}

const PresetInfo* MenuCatalog::preset(const std::string& name) {
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find(presets(), name, &PresetInfo::name);
  return found == presets_.end() ? nullptr : &*found;
}

const std::vector<gpu::DeviceInfo>& MenuCatalog::devices() {
  if (devices_) return *devices_;
  try {
    devices_ = gpu::list_devices();
  } catch (const std::exception&) {
    devices_.emplace();  // the menu says that there is none
  }
  return *devices_;
}

const std::optional<std::string>& MenuCatalog::bundled_model(std::string_view name) {
  const auto known = bundled_.find(name);
  if (known != bundled_.end()) return known->second;
  const std::optional<std::filesystem::path> path = find_bundled_model(name);
  return bundled_.emplace(name, path ? std::optional(path->string()) : std::nullopt).first->second;
}

}  // namespace headlight::app
