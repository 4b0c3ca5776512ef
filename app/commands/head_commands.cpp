#include "app/commands/command_list.h"
#include "app/state/model_changes.h"

namespace headlight::app {
namespace {

using attention::FixedPattern;
using shell::Key;

/// Has the layer an output projection? Without one a gain would change nothing.
bool has_output_projection(const CommandContext& context) {
  const auto shape = context.shapes.find(context.state.selection.block);
  return shape != context.shapes.end() && shape->second.d_output > 0;
}

void knock_out(const CommandContext& context) {
  const Selection& selection = context.state.selection;
  const float gain = head_gain(context.state, selection.block, selection.head);
  set_head_gain(context.state, selection.block, selection.head, gain == 0.0F ? 1.0F : 0.0F);
}

std::uint32_t heads_of_layer(const CommandContext& context) {
  const auto shape = context.shapes.find(context.state.selection.block);
  return shape == context.shapes.end() ? 0 : shape->second.heads;
}

/// Is every other head of the layer knocked out, and this one not?
bool is_solo(const State& state, std::uint32_t heads) {
  const Selection& selection = state.selection;
  for (std::uint32_t head = 0; head < heads; ++head) {
    if ((head_gain(state, selection.block, head) == 0.0F) == (head == selection.head)) return false;
  }
  return heads > 1;
}

void solo(const CommandContext& context) {
  State& state = context.state;
  const Selection& selection = state.selection;
  const std::uint32_t heads = heads_of_layer(context);
  const bool was_solo = is_solo(state, heads);
  for (std::uint32_t head = 0; head < heads; ++head) {
    if (head != selection.head) {
      set_head_gain(state, selection.block, head, was_solo ? 1.0F : 0.0F);
    } else if (head_gain(state, selection.block, head) == 0.0F) {
      set_head_gain(state, selection.block, head, 1.0F);
    }
  }
}

std::optional<attention::ReplacementPattern> pattern_of(const State& state) {
  return fixed_pattern(state, state.selection.block, state.selection.head);
}

bool has_head(const CommandContext& context) { return heads_of_layer(context) > 0; }

std::string tell_of_pattern(const State& after, const char* what) {
  const Selection& selection = after.selection;
  return fmt::format("Layer {} · head {} {}", selection.block.layer.value, selection.head,
                     pattern_of(after) ? fmt::format("attends to {}", what) : "attends as computed");
}

/// Replaces the selected head's pattern, or gives its own back.
Command pattern_command(const char* id, const char* label, const char* menu_label, const char* what, FixedPattern pattern) {
  return {.id = id,
          .label = label,
          .help = "Its scores don't count any more; what the mask hides stays hidden. Again: its own pattern comes back.",
          .menu = {"Edit", menu_label, 2, "Pattern of the head"},
          .run =
              [pattern](const CommandContext& context) {
                State& state = context.state;
                const std::pair head(state.selection.block, state.selection.head);
                if (pattern_of(state) == pattern) {
                  state.patterns.erase(head);
                } else {
                  state.patterns[head] = pattern;
                }
              },
          .is_enabled = has_head,
          .is_checked = [pattern](const CommandContext& context) { return pattern_of(context.state) == pattern; },
          .tell = [what](const State& after, bool) { return tell_of_pattern(after, what); }};
}

std::string tell_of_solo(const State& after, bool) {
  const Selection& selection = after.selection;
  const bool has_muted = std::ranges::any_of(after.gains, [&](const auto& gain) {
    return gain.first.first == selection.block && gain.first.second != selection.head && gain.second == 0.0F;
  });
  return has_muted ? fmt::format("Layer {}: only head {}", selection.block.layer.value, selection.head)
                   : fmt::format("Layer {}: all heads", selection.block.layer.value);
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
       .help = "The rest of the model goes on as if this head added nothing.",
       .words = "Knock out, Restore",
       .keys = {{Key::K, {}, "K"}},
       .menus_of = kOfHead,
       .run = knock_out,
       .is_enabled = has_output_projection,
       .tell = tell_of_gain,
       .refusal = "No head can be knocked out here: there is no output projection"},
      {.id = "head.halve",
       .label = "Halve what the head adds, or bring it back",
       .help = "A gain of a half: the rest of the model goes on with half of what this head adds.",
       .words = "Half, Whole, gain",
       .menus_of = kOfHead,
       .run =
           [](const CommandContext& context) {
             const Selection& selection = context.state.selection;
             const float gain = head_gain(context.state, selection.block, selection.head);
             set_head_gain(context.state, selection.block, selection.head, gain == 0.5F ? 1.0F : 0.5F);
           },
       .is_enabled = has_output_projection},
      {.id = "head.solo",
       .label = "Leave only this head in its layer, or bring the others back",
       .help = "Knocks out all other heads of the layer.",
       .keys = {{Key::S, {}, "S"}},
       .menus_of = kOfHead,
       .run = solo,
       .is_enabled =
           [](const CommandContext& context) { return has_output_projection(context) && heads_of_layer(context) > 1; },
       .tell = tell_of_solo,
       .refusal = "No head can be knocked out here: there is no output projection, or only one head"},
      pattern_command("head.look_at_all", "Replace the head's pattern: all visible tokens alike", "All visible tokens alike",
                      "all visible tokens alike", FixedPattern::Uniform),
      pattern_command("head.look_at_itself", "Replace the head's pattern: only the token itself", "Only the token itself",
                      "the token itself", FixedPattern::Diagonal),
      pattern_command("head.look_at_previous", "Replace the head's pattern: only the token before", "Only the token before",
                      "the token before", FixedPattern::Previous),
      pattern_command("head.look_at_first", "Replace the head's pattern: only the first token", "Only the first token",
                      "the first token", FixedPattern::First),
      {.id = "head.reset_patterns",
       .label = "Give all heads their own patterns back",
       .help = "Heads whose patterns were replaced attend as computed again.",
       .menu = {"Edit", "All heads as computed", 2, "Pattern of the head", 1},
       .run = [](const CommandContext& context) { context.state.patterns.clear(); },
       .is_enabled = [](const CommandContext& context) { return !context.state.patterns.empty(); },
       .tell = [](const State&, bool is_changed) -> std::string { return is_changed ? "Patterns are as computed" : ""; }},
      {.id = "head.reset_gains",
       .label = "Bring all heads back",
       .help = "Brings back every head that was knocked out or scaled (gains of 1).",
       .menu = {"Edit", "Bring all heads back", 2},
       .run = [](const CommandContext& context) { context.state.gains.clear(); },
       .is_enabled = [](const CommandContext& context) { return !context.state.gains.empty(); }},
      {.id = "head.reset_model",
       .label = "Reset masks and heads",
       .help = "Puts masks and heads back to what the model was trained with.",
       .words = "Back to the notebook's numbers",
       .menu = {"Edit", "Reset masks and heads", 2},
       .run = [](const CommandContext& context) { restore_training(context.state); },
       .is_enabled = [](const CommandContext& context) { return !model_changes(context.state).empty(); },
       .tell = [](const State&, bool is_changed) -> std::string { return is_changed ? "Masks and heads reset" : ""; }},
  };
}

}  // namespace headlight::app
