#pragma once

#include "app/commands/command.h"
#include "app/dialogs/welcome_panel.h"
#include "app/sidebar/model_panel.h"
#include "gpu/device_info.h"

namespace headlight::app {

/// The contents of the menus besides the frame. Lists are asked for when their menu opens, not before.
struct MenuContext {
  CommandContext commands;
  std::function<const std::vector<PresetInfo>&()> presets;
  std::function<const std::vector<gpu::DeviceInfo>&()> devices;
  std::function<std::vector<WelcomeCard>()> cards;   ///< of the welcome panel; those of bundled models are in the File menu
  std::function<std::vector<std::string>()> recent;  ///< paths of files and models that were opened and are there still
};

/// The user's choice in a menu, which the window carries out.
struct MenuChoice {
  const Command* command = nullptr;
  std::optional<std::string> device;  ///< as --device takes it: the name, or the index where several have that name
  std::optional<WelcomeCard> card;    ///< what to begin with
  std::optional<std::string> file;    ///< a recent one
};

/// Draws the menu bar at the window's top.
MenuChoice draw_menu_panel(Frame& frame, const MenuContext& context);

/// Draws the entries of a context menu, into the popup that is open: the commands that it offers. `title`: what it is of.
MenuChoice draw_context_menu(Frame& frame, const MenuContext& context, MenuTarget target, const std::string& title);

/// Lists for the menus that take long to find out: asked for once, when a menu is first opened.
class MenuCatalog {
 public:
  /// Returns every notebook with its title.
  const std::vector<PresetInfo>& presets();
  /// Returns the notebook of this name; nullptr when there is none.
  const PresetInfo* preset(const std::string& name);
  const std::vector<gpu::DeviceInfo>& devices();
  /// Returns the path of a bundled model; nothing where this installation lacks it.
  const std::optional<std::string>& bundled_model(std::string_view name);

 private:
  std::vector<PresetInfo> presets_;
  std::optional<std::vector<gpu::DeviceInfo>> devices_;
  std::map<std::string, std::optional<std::string>, std::less<>> bundled_;
};

}  // namespace headlight::app
