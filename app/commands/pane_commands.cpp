#include "app/commands/command_list.h"
#include "app/state/view_pane.h"
#include "app/views/view_table.h"

namespace headlight::app {
namespace {

using shell::Key;

bool has_panes(const CommandContext& context) { return !context.state.view.panes.parts.empty(); }
bool has_room(const CommandContext& context) { return panes_of(context.state.view.panes).size() < kMostPanes; }

constexpr const char* kNoRoom = "No more than six panes fit: close one first.";

MenuEntry in_menu(std::string label, int part) { return {"View", std::move(label), 2, "Panes", part}; }

/// Adds, for each line of the table of views, the command that opens it in a pane of its own.
void add_views_beside(std::vector<Command>& list) {
  for (const View& view : views()) {
    list.push_back({.id = fmt::format("pane.beside.{}", view.id),
                    .label = fmt::format("Beside what is shown: {}", view.title),
                    .help = fmt::format("Opens the view {} at the right of the pane that has the keyboard.", view.title),
                    .menu = in_menu(std::string(view.title), 1),
                    .run =
                        [id = view.id](const CommandContext& context) {
                          context.transient.shows_one_pane = false;
                          open_beside(context.state.view, pane_with_keys(context.state.view), PaneEdge::Right, id);
                        },
                    .is_enabled = has_room,
                    .refusal = kNoRoom});
  }
}

/// Gives the keyboard to the pane after the one that has it.
void go_on(const CommandContext& context) {
  ViewChoices& view = context.state.view;
  const std::vector<ViewPane*> panes = panes_of(view.panes);
  const auto at = std::ranges::find(panes, &pane_with_keys(view));
  give_keys(view, **(std::next(at) == panes.end() ? panes.begin() : std::next(at)));
}

}  // namespace

std::vector<Command> pane_commands() {
  std::vector<Command> list{
      {.id = "pane.below",
       .label = "The same view below",
       .help = "Divides the pane that has the keyboard in two, one above the other.",
       .words = "split",
       .menu = in_menu("Below: the same view", 0),
       .run =
           [](const CommandContext& context) {
             ViewChoices& view = context.state.view;
             context.transient.shows_one_pane = false;
             open_beside(view, pane_with_keys(view), PaneEdge::Bottom, std::string(view.tab));
           },
       .is_enabled = has_room,
       .refusal = kNoRoom},
      {.id = "pane.next",
       .label = "Next pane",
       .help = "Gives the keyboard to the next pane.",
       .keys = {{Key::F6, {}, "F6"}},
       .menu = in_menu("Next", 0),
       .run = go_on,
       .is_enabled = has_panes,
       .refusal = "There is one pane: drag a view's tab to an edge of it for a second."},
      {.id = "pane.pin",
       .label = "Pin the pane's head, or let it follow",
       .help = "Keeps the selected layer and head in the pane that has the keyboard, whatever is selected later.",
       .menu = in_menu("Pin its head", 0),
       .run =
           [](const CommandContext& context) {
             std::optional<Selection>& pinned = pane_with_keys(context.state.view).pinned;
             pinned = pinned ? std::nullopt : std::optional(context.state.selection);
           },
       .is_enabled = has_panes,
       .is_checked = [](const CommandContext& context) { return pane_with_keys(context.state.view).pinned.has_value(); },
       .refusal = "There is one pane, which shows the selected head."},
      {.id = "pane.maximise",
       .label = "Pane alone, or with the others",
       .help = "Gives the pane that has the keyboard the others' room, and takes it back.",
       .keys = {{Key::F6, shell::kShift, "Shift+F6"}},
       .menu = in_menu("Alone", 0),
       .run = [](const CommandContext& context) { context.transient.shows_one_pane = !context.transient.shows_one_pane; },
       .is_enabled = has_panes,
       .is_checked = [](const CommandContext& context) { return context.transient.shows_one_pane; },
       .refusal = "There is one pane, which has all the room."},
      {.id = "pane.close",
       .label = "Close the pane",
       .help = "Closes the pane that has the keyboard; its neighbour takes the room.",
       .menu = in_menu("Close", 0),
       .run =
           [](const CommandContext& context) {
             context.transient.shows_one_pane = false;
             close_pane(context.state.view, pane_with_keys(context.state.view));
           }},
      {.id = "pane.reset",
       .label = "One pane alone",
       .help = "Closes all panes but the one that has the keyboard.",
       .words = "reset layout",
       .menu = in_menu("Reset: one pane", 0),
       .run =
           [](const CommandContext& context) {
             context.state.view.panes = {};
             context.transient.shows_one_pane = false;
           },
       .is_enabled = has_panes,
       .refusal = "There is one pane already."},
      {.id = "pane.save",
       .label = "Save layout\u2026",
       .help = "Writes the views on screen and their places to a file, for any session and model.",
       .menu = in_menu("Save layout\u2026", 0),
       .run = of_window(&CommandHost::ask_for_file, FilePurpose::SaveLayout)},
      {.id = "pane.open",
       .label = "Open layout\u2026",
       .help = "Shows the views of a saved layout at their places; the text and the model stay.",
       .menu = in_menu("Open layout\u2026", 0),
       .run = of_window(&CommandHost::ask_for_file, FilePurpose::OpenLayout)}};
  add_views_beside(list);
  return list;
}

}  // namespace headlight::app
