#pragma once

#include "app/commands/command.h"
#include "app/commands/command_host.h"
#include "app/frame.h"
#include "app/window/dialogs/welcome_panel.h"
#include "app/window/layout.h"
#include "app/window/sidebar/panels.h"
#include "gpu/device_info.h"

namespace headlight::app {

/// The facts for the status line that aren't in the frame.
struct StatusContext {
  bool is_computing = false;
  float left = 12.0F;          ///< where the line may begin, from the window's left edge
  std::string job;             ///< an export under way: "Exporting 3 of 12"; empty without one
  bool verifies_head = false;  ///< asks for the selected head's verification and says what it found
};

/// Draws the line at the bottom: verification, device, GPU time of the last run, tokens, model size; at the right what is
/// going on, or the one line that says why the newest change can't be shown.
void draw_status_panel(Frame& frame, const StatusContext& context);

/// Returns the widths of the tabs in one row and in two, with `insets` of the buttons beside them.
TabWidths measure_tabs(const shell::Ui& ui, float insets);

/// Draws the tabs of the main area, one for each view, in their groups; a tab whose view has nothing to draw of this run is
/// dimmed and says why. And a remark when what they show is older than what was asked for. Fills the whole current window,
/// and the tabs at most `width` of it; the buttons that fold the panels have room at either end.
void draw_tabs_panel(Frame& frame, TabRows rows, float width, float left_inset = 0.0F);

/// Numbers as text with tabs between columns.
struct MapText {
  bool is_pending = false;  ///< they aren't computed yet; they are asked for
  std::string table = {};   ///< empty: there is none, and `message` says why
  std::string message = {};
};

/// Returns the numbers of the shown map that are to be copied: exact values of its stage, of the tokens themselves.
MapText map_text(Frame& frame, CopiedNumbers what);

/// Returns "query\tthe\tcat\nthe\t1\t0\n": rows and columns named by their labels. `values` [rows, columns]. Tabs and
/// newlines in labels become spaces.
std::string to_table(std::span<const std::string> rows, std::span<const std::string> columns, std::span<const float> values);

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
