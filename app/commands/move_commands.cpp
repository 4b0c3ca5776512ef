#include <iterator>

#include "app/commands/command_groups.h"
#include "app/views/view_table.h"

namespace headlight::app {
namespace {

using shell::kControl;
using shell::Key;

const inference::BlockShape* selected_shape(const CommandContext& context) {
  const auto found = context.shapes.find(context.state.selection.block);
  return found == context.shapes.end() ? nullptr : &found->second;
}

bool has_selected_head(const CommandContext& context) { return selected_shape(context) != nullptr; }

/// Where the view on screen doesn't take the arrow keys for itself.
bool has_arrows(const CommandContext& context) {
  return has_selected_head(context) && !find_view(context.state.view.tab).takes_arrows;
}

bool has_lines(const CommandContext& context) {
  const inference::BlockShape* shape = selected_shape(context);
  return shape && shape->batch > 1;
}

/// The number before or behind `from` among `count`; stops at the ends.
std::uint32_t number_beside(std::uint32_t from, int steps, std::uint32_t count) {
  if (steps < 0) return from > 0 ? from - 1 : 0;
  return std::min(from + 1, std::max(count, 1U) - 1);
}

void move_head(const CommandContext& context, int steps) {
  const inference::BlockShape* shape = selected_shape(context);
  if (!shape) return;
  Selection& selection = context.state.selection;
  selection.head = number_beside(selection.head, steps, shape->heads);
  selection.mean = HeadMean::None;
  clamp_selection(context.state, context.shapes);
}

/// In the order of the shapes (kind by kind, layer by layer); stops at the ends.
void move_layer(const CommandContext& context, int steps) {
  const auto found = context.shapes.find(context.state.selection.block);
  if (found == context.shapes.end()) return;
  model::BlockRef& block = context.state.selection.block;
  if (steps < 0 && found != context.shapes.begin()) block = std::prev(found)->first;
  if (steps > 0 && std::next(found) != context.shapes.end()) block = std::next(found)->first;
  clamp_selection(context.state, context.shapes);
}

/// Locks the token before or behind the locked one, of its side; stops at the ends. Without one: the first query.
void move_token(const CommandContext& context, int steps) {
  const inference::BlockShape* shape = selected_shape(context);
  if (!shape) return;
  std::optional<LockedToken>& locked = context.state.view.locked;
  if (!locked) {
    locked = LockedToken{};
  } else {
    locked->token = number_beside(locked->token, steps, locked->side == MapSide::Query ? shape->queries : shape->keys);
  }
}

/// Pins the cell beside the pinned one; without one, beside the cell that the view shows.
void move_cell(const CommandContext& context, int queries, int keys) {
  const inference::BlockShape* shape = selected_shape(context);
  if (!shape) return;
  const bool shows_cell = context.transient.hovered && attention::is_map(context.transient.hovered_stage);
  attention::Cell cell = shows_cell ? *context.transient.hovered : attention::Cell{};
  if (context.state.view.pinned) cell = *context.state.view.pinned;
  if (queries != 0) cell.query = number_beside(cell.query, queries, shape->queries);
  if (keys != 0) cell.key = number_beside(cell.key, keys, shape->keys);
  context.state.view.pinned = cell;
  context.transient.reveals = cell;
}

void move_line(const CommandContext& context, int steps) {
  const inference::BlockShape* shape = selected_shape(context);
  if (!shape) return;
  Selection& selection = context.state.selection;
  selection.batch = number_beside(selection.batch, steps, shape->batch);
  clamp_selection(context.state, context.shapes);
}

}  // namespace

std::vector<Command> move_commands() {
  return {
      {.id = "move.previous_head",
       .label = "Previous head",
       .help = "Shows the head before, of the same layer.",
       .keys = {{Key::Left, {}, "Left"}},
       .run = [](const CommandContext& context) { move_head(context, -1); },
       .is_enabled = has_arrows},
      {.id = "move.next_head",
       .label = "Next head",
       .help = "Shows the next head of the same layer.",
       .keys = {{Key::Right, {}, "Right"}},
       .run = [](const CommandContext& context) { move_head(context, 1); },
       .is_enabled = has_arrows},
      {.id = "move.previous_layer",
       .label = "Previous layer",
       .help = "Shows the same head of the layer before.",
       .keys = {{Key::Up, {}, "Up"}},
       .run = [](const CommandContext& context) { move_layer(context, -1); },
       .is_enabled = has_arrows},
      {.id = "move.next_layer",
       .label = "Next layer",
       .help = "Shows the same head of the next layer.",
       .keys = {{Key::Down, {}, "Down"}},
       .run = [](const CommandContext& context) { move_layer(context, 1); },
       .is_enabled = has_arrows},
      {.id = "move.previous_token",
       .label = "Lock the previous token",
       .help = "Locks the token before the locked one, of the same side.",
       .keys = {{Key::Up, shell::kShift, "Shift+Up"}, {Key::Left, shell::kShift, ""}},
       .run = [](const CommandContext& context) { move_token(context, -1); },
       .is_enabled = has_selected_head},
      {.id = "move.next_token",
       .label = "Lock the next token",
       .help = "Locks the token behind the locked one, of the same side; without one the first query.",
       .keys = {{Key::Down, shell::kShift, "Shift+Down"}, {Key::Right, shell::kShift, ""}},
       .run = [](const CommandContext& context) { move_token(context, 1); },
       .is_enabled = has_selected_head},
      {.id = "move.previous_line",
       .label = "Previous line of the batch",
       .help = "Shows the maps of the line before.",
       .keys = {{Key::PageUp, {}, "Page Up"}},
       .run = [](const CommandContext& context) { move_line(context, -1); },
       .is_enabled = has_lines},
      {.id = "move.next_line",
       .label = "Next line of the batch",
       .help = "Shows the maps of the next line.",
       .keys = {{Key::PageDown, {}, "Page Down"}},
       .run = [](const CommandContext& context) { move_line(context, 1); },
       .is_enabled = has_lines},
      {.id = "move.previous_query",
       .label = "Pin the query before",
       .help = "Pins the cell of the query before, with the same key.",
       .keys = {{Key::Up, kControl, "Ctrl+Up"}},
       .run = [](const CommandContext& context) { move_cell(context, -1, 0); },
       .is_enabled = has_selected_head},
      {.id = "move.next_query",
       .label = "Pin the next query",
       .help = "Pins the cell of the next query, with the same key.",
       .keys = {{Key::Down, kControl, "Ctrl+Down"}},
       .run = [](const CommandContext& context) { move_cell(context, 1, 0); },
       .is_enabled = has_selected_head},
      {.id = "move.previous_key",
       .label = "Pin the key before",
       .help = "Pins the cell of the key before, of the same query.",
       .keys = {{Key::Left, kControl, "Ctrl+Left"}},
       .run = [](const CommandContext& context) { move_cell(context, 0, -1); },
       .is_enabled = has_selected_head},
      {.id = "move.next_key",
       .label = "Pin the next key",
       .help = "Pins the cell of the next key, of the same query.",
       .keys = {{Key::Right, kControl, "Ctrl+Right"}},
       .run = [](const CommandContext& context) { move_cell(context, 0, 1); },
       .is_enabled = has_selected_head},
  };
}

}  // namespace headlight::app
