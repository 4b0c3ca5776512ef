#include <algorithm>
#include <utility>
#include <vector>

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

constexpr std::uint32_t kMostPatternTokens = 512;  // whose cells are painted one by one

bool can_replace_pattern(const CommandContext& context) {
  const auto shape = context.shapes.find(context.state.selection.block);
  return shape != context.shapes.end() && context.state.selection.block.kind != model::BlockKind::Cross &&
         shape->second.queries == shape->second.keys && shape->second.queries <= kMostPatternTokens;
}

/// Masks all but one key of each query of the selected head, `behind` tokens before it or else the first.
void look_behind(const CommandContext& context, std::uint32_t behind) {
  const Selection& selection = context.state.selection;
  const std::uint32_t tokens = context.shapes.at(selection.block).queries;
  std::vector<attention::PaintedCell> cells;
  for (std::uint32_t query = 0; query < tokens; ++query) {
    for (std::uint32_t key = 0; key < tokens; ++key) {
      cells.emplace_back(attention::Cell{.query = query, .key = key}, key == query - std::min(query, behind));
    }
  }
  const attention::PaintScope scope{.layer = selection.block.layer.value, .batch = selection.batch, .head = selection.head};
  selected_mask(context.state).painted[scope] = attention::CellRuns(std::move(cells));
}

std::string tell_of_pattern(const State& after, const char* what) {
  const Selection& selection = after.selection;
  return fmt::format("Layer {} · head {} looks only at {}", selection.block.layer.value, selection.head, what);
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
       .group = "Head",
       .help = "The rest of the model goes on as if this head added nothing.",
       .keys = {{Key::K, {}, "K"}},
       .run = knock_out,
       .is_enabled = has_output_projection,
       .tell = tell_of_gain,
       .refusal = "No head can be knocked out here: there is no output projection"},
      {.id = "head.solo",
       .label = "Leave only this head in its layer, or bring the others back",
       .group = "Head",
       .help = "Knocks out all other heads of the layer.",
       .keys = {{Key::S, {}, "S"}},
       .run = solo,
       .is_enabled =
           [](const CommandContext& context) { return has_output_projection(context) && heads_of_layer(context) > 1; },
       .tell = tell_of_solo,
       .refusal = "No head can be knocked out here: there is no output projection, or only one head"},
      {.id = "head.look_at_itself",
       .label = "Let the head look only at the token itself",
       .group = "Head",
       .help = "Masks all other keys of this head, of a text of up to 512 tokens; Ctrl+Shift+R brings them back.",
       .run = [](const CommandContext& context) { look_behind(context, 0); },
       .is_enabled = can_replace_pattern,
       .tell = [](const State& after, bool) { return tell_of_pattern(after, "the token itself"); }},
      {.id = "head.look_at_previous",
       .label = "Let the head look only at the token before",
       .group = "Head",
       .help = "Masks all other keys of this head, of a text of up to 512 tokens; Ctrl+Shift+R brings them back.",
       .run = [](const CommandContext& context) { look_behind(context, 1); },
       .is_enabled = can_replace_pattern,
       .tell = [](const State& after, bool) { return tell_of_pattern(after, "the token before"); }},
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
