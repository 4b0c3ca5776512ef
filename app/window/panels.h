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

/// The forms of the window's first row: what it gives up, one after the other, where the window is narrow.
enum class RowForm : std::uint8_t {
  Whole,      ///< menus, groups, the views of the one on screen, a button to find commands
  KeyHint,    ///< of that button the key alone
  OneMenu,    ///< one menu has the others
  ViewList,   ///< the group's views are a list that opens
  GroupList,  ///< and groups are in that list too; no button to find commands
};
/// Returns the form that fits into `width`, in UI units, whatever view is shown.
RowForm row_form(const shell::Ui& ui, float width);

/// The view that was shown last, by its group.
using ShownViews = std::map<std::string_view, std::string_view, std::less<>>;

/// The facts for the row that aren't in the frame.
struct RowContext {
  RowForm form = RowForm::Whole;
  ShownViews& last;
  const Layout& layout;
  bool can_go_back = false, can_go_forward = false;
};
/// The panels that are folded or opened by the row's buttons.
struct RowChoice {
  bool folds_sidebar = false, folds_grid = false;
};

/// Draws what follows the menus: the groups of views, the views of the one on screen, in which a view that has nothing to
/// draw of this run is dimmed and says why, Back and Forward, the palette's button, and a remark when what is shown is older
/// than what was asked for. Nothing in it moves when another view is shown.
RowChoice draw_top_row(Frame& frame, const RowContext& context);

/// Begin and end the row's ImGui window, to which both menus and views are added. Returns false where nothing of it is seen.
bool begin_top_row();
void end_top_row();
/// Returns where the row's first menu begins: after the button that folds the left panel, where there is one.
float row_start(const Layout& layout);
/// Returns the width of all menus, or of the one that has them.
float menus_width(const shell::Ui& ui, bool is_one);

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
  std::function<std::vector<WelcomeCard>()> cards;  ///< of the welcome panel; those of bundled models are in the File menu
  const Layout& layout;
  std::function<std::vector<std::string>()> recent;  ///< paths of files and models that were opened and are there still
};

/// The user's choice in a menu, which the window carries out.
struct MenuChoice {
  const Command* command = nullptr;
  std::optional<std::string> device;  ///< as --device takes it: the name, or the index where several have that name
  std::optional<WelcomeCard> card;    ///< what to begin with
  std::optional<std::string> file;    ///< a recent one
  bool is_open = false;               ///< a menu is
};

/// Draws the menus, with which the window's first row begins. `opens`: the first one, for the keyboard.
MenuChoice draw_menu_panel(Frame& frame, const MenuContext& context, RowForm form, bool opens);

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
