#include "app/commands/command_list.h"

namespace headlight::app {
namespace {

using attention::Stage;
using shell::Key;

bool has_text(const CommandContext& context) { return has_run(context) && !context.transient.search.text.empty(); }
/// Does the map show weights? The search inside of whole maps goes by the largest weights of their squares.
bool shows_weights(const CommandContext& context) {
  const bool is_mean = context.state.selection.mean != HeadMean::None;
  return has_run(context) && (is_mean || context.state.view.heatmap_stage == Stage::Weights);
}

void open_search(const CommandContext& context) {
  context.state.view.tab = kHeadView;
  context.transient.search.is_open = true;
  context.transient.search.takes_keys = true;
}

Command step(std::string id, std::string label, std::string help, shell::Shortcut key, int steps) {
  return {.id = std::move(id),
          .label = std::move(label),
          .help = std::move(help),
          .keys = {key},
          .menu = {"Edit", steps > 0 ? "Next token found" : "Previous token found", 3},
          .run =
              [steps](const CommandContext& context) {
                context.state.view.tab = kHeadView;
                context.transient.search.is_open = true;
                context.transient.search.steps += steps;
              },
          .is_enabled = has_text,
          .refusal = "Nothing is looked for: Ctrl+F, then type a token."};
}

Command strongest(std::string id, const char* where, std::string help, shell::Shortcut key, StrongestOf of) {
  return {.id = std::move(id),
          .label = std::string("Next strongest cell of the ") + where,
          .help = std::move(help),
          .keys = {key},
          .menu = {"View", std::string("Of the ") + where, 1, "Next strongest cell"},
          .run =
              [of](const CommandContext& context) {
                context.state.view.tab = kHeadView;
                context.transient.seeks_strongest = of;
              },
          .is_enabled = of == StrongestOf::Map ? shows_weights : has_pin,
          .refusal = of == StrongestOf::Map ? "Only maps of weights are searched as a whole."
                                            : "No cell is pinned: click one, then go on from it."};
}

}  // namespace

std::vector<Command> search_commands() {
  return {{.id = "search.open",
           .label = "Find a token",
           .help = "Looks for a token by its text and goes to its row and column on the map.",
           .keys = {{Key::F, shell::kControl, "Ctrl+F"}},
           .menu = {"Edit", "Find token\u2026", 3},
           .run = open_search,
           .is_enabled = has_run},
          step("search.next", "Go to the next token found", "Goes on to the next token that Find has found.",
               {Key::F3, {}, "F3"}, 1),
          step("search.previous", "Go to the previous token found", "Goes back to the token found before.",
               {Key::F3, shell::kShift, "Shift+F3"}, -1),
          strongest("search.strongest_of_row", "row",
                    "Pins the cell of the pinned cell's row that comes next by value; after the weakest the "
                    "strongest again.",
                    {Key::N, {}, "N"}, StrongestOf::Row),
          strongest("search.strongest_of_column", "column",
                    "Pins the cell of the pinned cell's column that comes next by value; after the weakest the "
                    "strongest again.",
                    {Key::N, shell::kShift, "Shift+N"}, StrongestOf::Column),
          strongest("search.strongest_of_map", "whole map",
                    "Pins the map's strongest cell; again, the next one. After Esc it begins anew.", {Key::M, {}, "M"},
                    StrongestOf::Map)};
}

}  // namespace headlight::app
