#include "app/commands/command_list.h"
#include "app/state/block_settings.h"
#include "app/views/view_table.h"

namespace headlight::app {
namespace {

using shell::kAlt;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

constexpr std::array kUiScales = {0.5F, 0.67F, 0.8F, 0.9F, 1.0F, 1.1F, 1.25F, 1.5F, 1.75F, 2.0F, 2.5F, 3.0F, 4.0F};

float next_scale(float scale) {
  const float from = scale > 0.0F ? scale : 1.0F;
  const auto* found = std::upper_bound(kUiScales.begin(), kUiScales.end(), from + 0.005F);
  return found == kUiScales.end() ? kUiScales.back() : *found;
}

float previous_scale(float scale) {
  const float from = scale > 0.0F ? scale : 1.0F;
  const auto* found = std::lower_bound(kUiScales.begin(), kUiScales.end(), from - 0.005F);
  return found == kUiScales.begin() ? kUiScales.front() : *std::prev(found);
}

/// Adds one command for each line of the table of views.
void add_views(std::vector<Command>& list) {
  for (const View& view : views()) {
    const std::string id(view.id);
    Command& command = list.emplace_back();
    command.id = "view." + id;
    command.label = fmt::format("Show {}", view.title);
    command.group = fmt::format("View: {}", view.group);
    command.help = view.help;
    command.words = view.words;
    command.keys = {view.key};
    command.menu = {"View", std::string(view.title), 0, std::string(view.group)};
    command.menus_of = view.menus_of;
    command.run = [id](const CommandContext& context) { context.state.view.tab = id; };
    command.is_checked = [id](const CommandContext& context) { return context.state.view.tab == id; };
  }
}

Command scale_command(float scale) {
  const std::string percent = fmt::format("{} %", std::lround(scale * 100.0F));
  return view_choice(fmt::format("view.scale.{}", std::lround(scale * 100.0F)), "Interface at " + percent,
                     "Draws everything at this size.", {"View", percent, 3, "Interface scale", 1}, &ViewChoices::ui_scale,
                     scale);
}

Command theme_command(const char* id, const char* label, const char* help, const char* menu_label, Theme theme) {
  return view_choice(id, label, help, {"View", menu_label, 3}, &ViewChoices::theme, theme);
}

Command motion_command() {
  Command command = setting_toggle("view.reduce_motion", kBlockView.reduces_motion);
  command.label = command.menu.label = "Reduce motion";
  command.help = "Rows of new tokens and the steps of the Block view change without movement; another time brings it back.";
  command.menu.section = 3;
  return command;
}

Command activations_command() {
  return {.id = "view.activations",
          .label = "Largest activations",
          .help = "Shows the largest number of the residual stream for each token and layer, in the Block view.",
          .run = [](const CommandContext& context) {
            context.state.view.tab = "block";
            context.state.set(kBlockView.activations, true);
          }};
}

void add_scales(std::vector<Command>& list) {
  list.push_back(
      {.id = "view.larger",
       .label = "Larger interface",
       .help = "Draws everything one step larger.",
       .keys = {{Key::Equal, kControl, "Ctrl++"}, {Key::Equal, kControlShift, ""}},
       .menu = {"View", "Larger", 3, "Interface scale"},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.state.view.ui_scale = next_scale(context.state.view.ui_scale); }});
  list.push_back({.id = "view.smaller",
                  .label = "Smaller interface",
                  .help = "Draws everything one step smaller.",
                  .keys = {{Key::Minus, kControl, "Ctrl+-"}},
                  .menu = {"View", "Smaller", 3, "Interface scale"},
                  .works_while_loading = true,
                  .run = [](const CommandContext& context) {
                    context.state.view.ui_scale = previous_scale(context.state.view.ui_scale);
                  }});
  Command& monitor = list.emplace_back(
      view_choice("view.scale.monitor", "Interface as the monitor asks", "Follows the monitor's own scale.",
                  {"View", "As the monitor asks", 3, "Interface scale", 1}, &ViewChoices::ui_scale, 0.0F));
  monitor.keys = {{Key::Digit0, kControl, "Ctrl+0"}};
  for (const float scale : kUiScales) list.push_back(scale_command(scale));
}

/// Switches a view's check box, in the view that has it.
Command check_command(const SettingGroup& group, const AnySetting& setting) {
  return {.id = setting.path(),
          .label = fmt::format("{}: {}", setting.text.undo, setting.text.label),
          .group = "Settings of views",
          .help = std::string(setting.text.help),
          .run =
              [&group, &setting](const CommandContext& context) {
                context.state.put(setting, !std::get<bool>(context.state.value(setting)));
                context.state.view.tab = group.view;
              },
          .is_enabled = has_run,
          .is_checked = [&setting](const CommandContext& context) { return std::get<bool>(context.state.value(setting)); }};
}

/// Adds a command for each value of a setting that has buttons, in the view that shows what it changes, and for its check
/// boxes.
void add_settings(std::vector<Command>& list) {
  for (const SettingGroup* group : setting_groups()) {
    for (const AnySetting* setting : group->settings) {
      const bool is_box = setting->kind == AnySetting::Kind::Switch && setting->text.options.empty();
      if (is_box && !setting->text.label.empty() && !group->view.empty()) list.push_back(check_command(*group, *setting));
      for (std::size_t i = 0; i < setting->text.options.size(); ++i) {
        const Option& option = setting->text.options[i];
        if (option.label.empty()) continue;
        const bool is_of_view = !group->view.empty();
        MenuEntry menu;
        if (!setting->text.menu.empty()) menu = {"View", std::string(option.label), 1, std::string(setting->text.menu), 1};
        list.push_back({.id = fmt::format("{}.{}", setting->path(), option.name),
                        .label = fmt::format("{}: {}", setting->text.undo, option.label),
                        .group = is_of_view ? "Settings of views" : "Settings of maps",
                        .help = std::string(option.help),
                        .menu = std::move(menu),
                        .works_while_loading = !is_of_view,
                        .run =
                            [group, setting, i](const CommandContext& context) {
                              choices_of(context.state, *setting).put(*setting, setting->value_of(i));
                              if (!group->view.empty()) context.state.view.tab = group->view;
                            },
                        .is_enabled = is_of_view ? has_run : nullptr,
                        .is_checked =
                            [group, setting, i](const CommandContext& context) {
                              const bool is_seen = group->view.empty() || context.state.view.tab == group->view;
                              return is_seen && choices_of(context.state, *setting).value(*setting) == setting->value_of(i);
                            }});
      }
    }
  }
}

}  // namespace

std::vector<Command> view_commands() {
  std::vector<Command> list;
  add_views(list);
  constexpr int kBeforeViews = -100;  // sections of the menu
  list.insert(
      list.end(),
      {{.id = "view.back",
        .label = "Back to what was looked at before",
        .help = "Goes back to the view, head and cell that were on screen before; changes nothing else.",
        .words = "previous place",
        .keys = {{Key::Left, kAlt, "Alt+Left"}},
        .menu = {"View", "Back", kBeforeViews},
        .run = of_window(&CommandHost::go_back),
        .is_enabled = of_window(&CommandHost::can_go_back),
        .refusal = "Nothing was looked at before this."},
       {.id = "view.forward",
        .label = "Forward to what was left by going back",
        .help = "Goes to the view, head and cell that were left by going back.",
        .keys = {{Key::Right, kAlt, "Alt+Right"}},
        .menu = {"View", "Forward", kBeforeViews},
        .run = of_window(&CommandHost::go_forward),
        .is_enabled = of_window(&CommandHost::can_go_forward),
        .refusal = "Nothing was left by going back."},
       {.id = "view.sidebar",
        .label = "Fold or open the left panel",
        .help = "Folds or opens the panel at the left: a lesson's card, or a chip's settings that are kept there.",
        .keys = {{Key::B, kControl, "Ctrl+B"}},
        .menu = {"View", "Left panel", 2},
        .works_while_loading = true,
        .run = of_window(&CommandHost::toggle_sidebar)},
       {.id = "view.grid",
        .label = "Fold or open the right panel",
        .help = "Folds or opens the grid of heads.",
        .keys = {{Key::G, kControl, "Ctrl+G"}},
        .menu = {"View", "Right panel", 2},
        .works_while_loading = true,
        .run = of_window(&CommandHost::toggle_grid)},
       {.id = "view.theme",
        .label = "Dark, light or high contrast",
        .help = "Changes from the dark window to the light one, to the one of high contrast, and back.",
        .keys = {{Key::T, {}, "T"}},
        .works_while_loading = true,
        .run =
            [](const CommandContext& context) {
              Theme& theme = context.state.view.theme;
              theme = theme == Theme::Dark ? Theme::Light : theme == Theme::Light ? Theme::HighContrast : Theme::Dark;
            }},
       theme_command("view.theme.dark", "Dark window", "A dark window.", "Dark", Theme::Dark),
       theme_command("view.theme.light", "Light window", "A light window.", "Light", Theme::Light),
       theme_command("view.theme.high_contrast", "Window of high contrast",
                     "Black grounds, white lines and text: for projectors.", "High contrast", Theme::HighContrast),
       activations_command(),
       motion_command(),
       {.id = "view.presentation",
        .label = "Presentation on or off",
        .help = "Shows the view, and a lesson's card, alone in large type for a class; Ctrl+B folds the card, Esc or F5 "
                "leaves it.",
        .keys = {{Key::F5, {}, "F5"}},
        .menu = {"View", "Presentation", 2},
        .run = of_window(&CommandHost::toggle_presentation),
        .is_checked = of_window(&CommandHost::is_presenting)}});
  add_scales(list);
  add_settings(list);
  return list;
}

}  // namespace headlight::app
