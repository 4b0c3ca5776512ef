#include "app/commands/command_list.h"
#include "app/state/comparison.h"

namespace headlight::app {
namespace {

using shell::kControl;
using shell::kControlShift;
using shell::Key;

bool has_baseline(const CommandContext& context) { return context.state.compare.baseline.has_value(); }

void keep_baseline(const CommandContext& context) {
  CompareChoices& compare = context.state.compare;
  compare.baseline = make_baseline(context.state);
  compare.shows_difference = true;
  compare.is_second_text = false;
}

std::string tell_of_baseline(const State& after, bool) { return fmt::format("Baseline: {}", after.compare.baseline->name); }

void compare_with_model_alone(const CommandContext& context) {
  context.state.model().applies_adapter = false;
  keep_baseline(context);
  context.state.model().applies_adapter = true;
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
       .help = "Opens a second text below the first. Maps, logits and predictions show how the two differ, token by token.",
       .words = "Open a second text",
       .keys = {{Key::T, kControl, "Ctrl+T"}},
       .menu = {"Edit", "Compare with a second text", 4},
       .run = open_second_text,
       .is_enabled = [](const CommandContext& context) { return has_run(context) && context.window.can_open_second_text(); },
       .refusal = "A second text is for models with one text, and the playground"},
      {.id = "compare.exchange",
       .label = "Exchange both texts",
       .help = "The second text becomes the first, and the first the second.",
       .run = [](const CommandContext& context) { exchange_texts(context.state); },
       .is_enabled = [](const CommandContext& context) { return has_second_text(context.state); },
       .refusal = "There is no second text: Ctrl+T opens one"},
      {.id = "compare.freeze",
       .label = "Keep as baseline, to compare with it",
       .help = "From then on maps show how the present run differs from this one, and predictions show both.",
       .words = "Keep anew",
       .keys = {{Key::D, kControl, "Ctrl+D"}},
       .menu = {"Edit", "Keep as baseline", 4},
       .menus_of = kOfHead,
       .run = keep_baseline,
       .is_enabled = has_run,
       .tell = tell_of_baseline,
       .refusal = "There is no run yet that could be the baseline"},
      {.id = "compare.adapter",
       .label = "Compare with the model without its LoRA adapter",
       .help = "Keeps the run of the model alone as baseline: maps show what the adapter's training changed.",
       .words = "Compare with the model alone",
       .menu = {"Edit", "Compare with the model alone", 4},
       .run = compare_with_model_alone,
       .is_enabled = [](const CommandContext& context) { return has_run(context) && context.window.has_adapter(); },
       .tell = tell_of_baseline,
       .refusal = "The model on screen has no LoRA adapter"},
      {.id = "compare.difference",
       .label = "Show differences, or the run itself",
       .help = "Whether maps show the present run minus the baseline, or the present run.",
       .keys = {{Key::D, {}, "D"}},
       .menu = {"Edit", "Show differences", 4},
       .run = [](const CommandContext& context) { context.state.compare.shows_difference ^= true; },
       .is_enabled = has_baseline,
       .is_checked =
           [](const CommandContext& context) { return has_baseline(context) && context.state.compare.shows_difference; },
       .refusal = "There is no baseline to compare with: Ctrl+D keeps this run as one"},
      {.id = "compare.return",
       .label = "Go back to the baseline",
       .help = "Puts text, settings, masks and heads back to what they were when the baseline was kept.",
       .menu = {"Edit", "Go back to the baseline", 4},
       .run = [](const CommandContext& context) { return_to_baseline(context.state); },
       .is_enabled = [](const CommandContext& context) { return can_return_to_baseline(context.state); },
       .tell = [](const State&, bool) -> std::string { return "Back at the baseline"; }},
      {.id = "compare.stop",
       .label = "Stop comparing",
       .help = "Forgets the baseline or the second text; maps show the present run again.",
       .words = "Off, Close",
       .keys = {{Key::D, kControlShift, "Ctrl+Shift+D"}},
       .menu = {"Edit", "Stop comparing", 4},
       .run = [](const CommandContext& context) { stop_comparing(context.state); },
       .is_enabled = has_baseline},
  };
}

}  // namespace headlight::app
