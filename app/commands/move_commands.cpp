#include <iterator>

#include "app/commands/command_list.h"
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

/// Has the program the arrow keys? The view on screen may take them for itself.
bool has_arrows(const CommandContext& context) {
  return has_selected_head(context) && !find_view(context.state.view.tab).takes_arrows;
}

bool has_lines(const CommandContext& context) {
  const inference::BlockShape* shape = selected_shape(context);
  return shape && shape->batch > 1 && !find_view(context.state.view.tab).takes_pages;
}

/// Returns the number before or after `from` among `count`; stops at the ends.
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

/// Moves through the layers in the order of the shapes (kind by kind, layer by layer); stops at the ends.
void move_layer(const CommandContext& context, int steps) {
  const auto found = context.shapes.find(context.state.selection.block);
  if (found == context.shapes.end()) return;
  model::BlockRef& block = context.state.selection.block;
  if (steps < 0 && found != context.shapes.begin()) block = std::prev(found)->first;
  if (steps > 0 && std::next(found) != context.shapes.end()) block = std::next(found)->first;
  clamp_selection(context.state, context.shapes);
}

/// Locks the token before or after the locked one, of its side; stops at the ends. Without one: the first query.
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

void move_query(const CommandContext& context, int steps) { move_cell(context, steps, 0); }
void move_key(const CommandContext& context, int steps) { move_cell(context, 0, steps); }

/// Returns the command of a step back or on along one axis.
Command move_step(const char* id, const char* label, const char* help, std::vector<shell::Shortcut> keys,
                  void (*move)(const CommandContext& context, int steps), int steps,
                  bool (*is_enabled)(const CommandContext&)) {
  return {.id = id,
          .label = label,
          .help = help,
          .keys = std::move(keys),
          .run = [move, steps](const CommandContext& context) { move(context, steps); },
          .is_enabled = is_enabled};
}

}  // namespace

std::vector<Command> move_commands() {
  using shell::kShift;
  return {
      move_step("move.previous_head", "Previous head", "Shows the head before, of the same layer.",
                {{Key::Left, {}, "Left"}}, move_head, -1, has_arrows),
      move_step("move.next_head", "Next head", "Shows the next head of the same layer.", {{Key::Right, {}, "Right"}},
                move_head, 1, has_arrows),
      move_step("move.previous_layer", "Previous layer", "Shows the same head of the layer before.", {{Key::Up, {}, "Up"}},
                move_layer, -1, has_arrows),
      move_step("move.next_layer", "Next layer", "Shows the same head of the next layer.", {{Key::Down, {}, "Down"}},
                move_layer, 1, has_arrows),
      move_step("move.previous_token", "Lock the previous token", "Locks the token before the locked one, of the same side.",
                {{Key::Up, kShift, "Shift+Up"}, {Key::Left, kShift, ""}}, move_token, -1, has_selected_head),
      move_step("move.next_token", "Lock the next token",
                "Locks the token after the locked one, of the same side; without one the first query.",
                {{Key::Down, kShift, "Shift+Down"}, {Key::Right, kShift, ""}}, move_token, 1, has_selected_head),
      move_step("move.previous_line", "Previous line of the batch", "Shows the maps of the line before.",
                {{Key::PageUp, {}, "Page Up"}}, move_line, -1, has_lines),
      move_step("move.next_line", "Next line of the batch", "Shows the maps of the next line.",
                {{Key::PageDown, {}, "Page Down"}}, move_line, 1, has_lines),
      move_step("move.previous_query", "Pin the query before", "Pins the cell of the query before, with the same key.",
                {{Key::Up, kControl, "Ctrl+Up"}}, move_query, -1, has_selected_head),
      move_step("move.next_query", "Pin the next query", "Pins the cell of the next query, with the same key.",
                {{Key::Down, kControl, "Ctrl+Down"}}, move_query, 1, has_selected_head),
      move_step("move.previous_key", "Pin the key before", "Pins the cell of the key before, of the same query.",
                {{Key::Left, kControl, "Ctrl+Left"}}, move_key, -1, has_selected_head),
      move_step("move.next_key", "Pin the next key", "Pins the cell of the next key, of the same query.",
                {{Key::Right, kControl, "Ctrl+Right"}}, move_key, 1, has_selected_head)};
}

}  // namespace headlight::app
