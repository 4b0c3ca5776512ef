#include <fmt/format.h>

#include "app/commands/command_groups.h"
#include "app/state/comparison.h"

namespace headlight::app {
namespace {

using shell::kControl;
using shell::kControlShift;
using shell::Key;

bool has_frozen(const CommandContext& context) { return context.state.compare.frozen.has_value(); }

void freeze_run(const CommandContext& context) {
  CompareChoices& compare = context.state.compare;
  compare.frozen = freeze(context.state);
  compare.shows_difference = true;
  compare.is_second_text = false;
}

void open_second_text(const CommandContext& context) {
  if (!has_second_text(context.state)) compare_with_text(context.state, context.state.text());
  context.state.compare.shows_difference = true;
  context.window.focus_second_text();
}

}  // namespace

std::vector<Command> compare_commands() {
  return {
      {.id = "compare.second_text",
       .label = "Compare with a second text",
       .group = "Compare",
       .help = "Opens a second text below the first. Maps, logits and predictions show how the two differ, token by token.",
       .keys = {{Key::T, kControl, "Ctrl+T"}},
       .menu = {.menu = "Edit", .label = "Compare with a second text", .section = 4},
       .run = open_second_text,
       .is_enabled = [](const CommandContext& context) { return has_run(context) && context.window.can_open_second_text(); },
       .refusal = "A second text is for models with one text, and the playground"},
      {.id = "compare.exchange",
       .label = "Exchange both texts",
       .group = "Compare",
       .help = "The second text becomes the first, and the first the second.",
       .run = [](const CommandContext& context) { exchange_texts(context.state); },
       .is_enabled = [](const CommandContext& context) { return has_second_text(context.state); },
       .refusal = "There is no second text: Ctrl+T opens one"},
      {.id = "compare.freeze",
       .label = "Freeze this run, to compare with it",
       .group = "Compare",
       .help = "From then on maps show how the present run differs from this one, and predictions show both.",
       .keys = {{Key::D, kControl, "Ctrl+D"}},
       .menu = {.menu = "Edit", .label = "Freeze this run", .section = 4},
       .menus_of = kOfHead,
       .run = freeze_run,
       .is_enabled = has_run,
       .tell = [](const State& after, bool) { return fmt::format("Frozen: {}", after.compare.frozen->name); },
       .refusal = "There is no run yet that could be frozen"},
      {.id = "compare.difference",
       .label = "Show differences, or the run itself",
       .group = "Compare",
       .help = "Whether maps show the present run minus the frozen one, or the present run.",
       .keys = {{Key::D, {}, "D"}},
       .menu = {.menu = "Edit", .label = "Show differences", .section = 4},
       .run = [](const CommandContext& context) { context.state.compare.shows_difference ^= true; },
       .is_enabled = has_frozen,
       .is_checked =
           [](const CommandContext& context) { return has_frozen(context) && context.state.compare.shows_difference; },
       .refusal = "Nothing is frozen to compare with: Ctrl+D freezes this run"},
      {.id = "compare.return",
       .label = "Go back to the frozen run",
       .group = "Compare",
       .help = "Puts text, settings, masks and heads back to what they were when the run was frozen.",
       .menu = {.menu = "Edit", .label = "Go back to the frozen run", .section = 4},
       .run = [](const CommandContext& context) { return_to_frozen(context.state); },
       .is_enabled = [](const CommandContext& context) { return can_return_to_frozen(context.state); },
       .tell = [](const State&, bool) -> std::string { return "Back at the frozen run"; }},
      {.id = "compare.stop",
       .label = "Stop comparing",
       .group = "Compare",
       .help = "Forgets the frozen run or the second text; maps show the present run again.",
       .keys = {{Key::D, kControlShift, "Ctrl+Shift+D"}},
       .menu = {.menu = "Edit", .label = "Stop comparing", .section = 4},
       .run = [](const CommandContext& context) { stop_comparing(context.state); },
       .is_enabled = has_frozen},
  };
}

}  // namespace headlight::app
