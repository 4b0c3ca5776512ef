#include <fmt/format.h>

#include "app/commands/command_groups.h"
#include "app/state/model_changes.h"

namespace headlight::app {
namespace {

using shell::Key;

/// Without an output projection a gain would change nothing.
bool has_output_projection(const CommandContext& context) {
  const auto shape = context.shapes.find(context.state.selection.block);
  return shape != context.shapes.end() && shape->second.d_output > 0;
}

void knock_out(const CommandContext& context) {
  const Selection& selection = context.state.selection;
  const float gain = head_gain(context.state, selection.block, selection.head);
  set_head_gain(context.state, selection.block, selection.head, gain == 0.0F ? 1.0F : 0.0F);
}

std::string tell_of_gain(const State& after, bool) {
  const Selection& selection = after.selection;
  const bool is_knocked_out = head_gain(after, selection.block, selection.head) == 0.0F;
  return fmt::format("Layer {} · head {} {}", selection.block.layer.value, selection.head,
                     is_knocked_out ? "knocked out" : "brought back");
}

}  // namespace

std::vector<Command> head_commands() {
  return {
      {.id = "head.knock_out",
       .label = "Knock the head out, or bring it back",
       .group = "Head",
       .help = "The rest of the model goes on as if this head added nothing.",
       .keys = {{Key::K, {}, "K"}},
       .run = knock_out,
       .is_enabled = has_output_projection,
       .tell = tell_of_gain,
       .refusal = "No head can be knocked out here: there is no output projection"},
      {.id = "head.reset_gains",
       .label = "Reset head gains",
       .group = "Head",
       .help = "Brings back every head that was knocked out or scaled.",
       .menu = {.menu = "Edit", .label = "Reset head gains", .section = 2},
       .run = [](const CommandContext& context) { context.state.gains.clear(); },
       .is_enabled = [](const CommandContext& context) { return !context.state.gains.empty(); }},
      {.id = "head.reset_model",
       .label = "Reset masks and heads",
       .group = "Head",
       .help = "Puts masks and heads back to what the model was trained with.",
       .menu = {.menu = "Edit", .label = "Reset masks and heads", .section = 2},
       .run = [](const CommandContext& context) { restore_training(context.state); },
       .is_enabled = [](const CommandContext& context) { return !model_changes(context.state).empty(); },
       .tell = [](const State&, bool is_changed) -> std::string { return is_changed ? "Masks and heads reset" : ""; }},
  };
}

}  // namespace headlight::app
