#include "app/shapes/quantities/strongest.h"
#include "app/state/block_settings.h"
#include "app/views/head/head_parts.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/token_menu.h"

namespace headlight::app {

namespace {

constexpr float kFieldWidth = 220.0F;

/// Returns the token of the pinned cell that a search goes on from: its key.
std::optional<std::uint32_t> pinned_token(const Frame& frame) {
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  return pinned ? std::optional(pinned->key) : std::nullopt;
}

void show_token(Frame& frame, const MapTokens& tokens, std::uint32_t token) {
  const std::optional<attention::Cell> before = frame.state.view.pinned;
  const std::uint32_t query = tokens.are_same ? token : before ? before->query : 0;
  frame.state.view.pinned = attention::Cell{.query = query, .key = token};
  frame.transient.reveals = frame.state.view.pinned;
  frame.ui.request_redraw(2);
}

std::string count_text(const std::vector<std::uint32_t>& found, std::optional<std::uint32_t> token) {
  if (found.empty()) return "none";
  const auto pinned = token ? std::ranges::find(found, *token) : found.end();
  if (pinned == found.end()) return fmt::format("{} found", found.size());
  return fmt::format("{} of {}", pinned - found.begin() + 1, found.size());
}

}  // namespace

void draw_token_search(Frame& frame, const MapTokens& tokens) {
  TokenSearch& search = frame.transient.search;
  int steps = std::exchange(search.steps, 0);
  if (!search.is_open || !tokens.keys) return;
  const shell::FieldFocus focus =
      std::exchange(search.takes_keys, false) ? shell::FieldFocus::SelectAll : shell::FieldFocus::None;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetStyle().ItemSpacing.x);
  const bool is_confirmed = frame.ui.text_field(
      "##search", search.text,
      {.width = kFieldWidth, .focus = focus, .passes_escape = true, .hint = "Find a token", .enter_confirms = true});
  mark_last_item(frame, "search.text",
                 "A part of the text, across tokens too; Enter goes on to the next token where it begins");
  if (is_confirmed) {
    steps += ImGui::GetIO().KeyShift ? -1 : 1;
    search.takes_keys = true;  // Enter goes on as often as it is pressed
  }
  ImGui::SameLine();
  if (draw_button(frame, "search.previous", "Previous", "The token found before (Shift+Enter, Shift+F3)")) --steps;
  ImGui::SameLine();
  if (draw_button(frame, "search.next", "Next", "The next token found (Enter, F3)")) ++steps;
  ImGui::SameLine();
  const bool is_closed = draw_button(frame, "search.close", "Close", "Close the search (Esc)");
  const std::vector<std::uint32_t> found = tokens_with(*tokens.keys, search.text);
  if (steps != 0) {
    if (const std::optional<std::size_t> index = step_among(found, pinned_token(frame), steps)) {
      show_token(frame, tokens, found[*index]);
    }
  }
  ImGui::SameLine();
  write_dim(frame, search.text.empty() ? "" : count_text(found, pinned_token(frame)));
  if (is_closed) search.is_open = false;
}

void follow_strongest(Frame& frame, std::uint32_t rows, std::uint32_t columns) {
  Transient& transient = frame.transient;
  if (!transient.seeks_strongest) return;
  StrongestQuestion question{.map = shown_map(frame.state.selection, frame.result.shapes,
                                              tile_of(frame, shown_stage(frame.state)), shows_norms(frame.state)),
                             .rows = rows,
                             .columns = columns,
                             .of = *transient.seeks_strongest,
                             .from = frame.state.view.pinned};
  const bool has_line = question.of == StrongestOf::Map || question.from;
  const bool is_outside = question.from && (question.from->query >= rows || question.from->key >= columns);
  if (!has_line || is_outside) return transient.seeks_strongest.reset();
  const StrongestAnswer answer = seek_strongest(question, [&](const TileQuery& query) -> const attention::Tile* {
    const EngineTile* known = frame.ask(query);
    return known && known->run == frame.result.run ? known->tile.get() : nullptr;
  });
  if (!answer.needs.empty()) return;  // the engine's answers come with a later frame
  transient.seeks_strongest.reset();
  if (!answer.found) return;
  frame.state.view.pinned = answer.found->cell;
  transient.reveals = answer.found->cell;
  frame.ui.request_redraw(2);
}

void RowReveal::observe(const Frame& frame, std::uint32_t rows, double now_s) {
  const std::uint32_t batch = frame.state.selection.batch;
  const std::uint32_t before = std::exchange(rows_, rows);
  const bool is_same_line = std::exchange(batch_, batch) == batch;
  // The last token's row comes when the generation has ended already.
  const std::uint32_t written = frame.generation ? frame.generation->count() : 0;
  const bool is_written = written > written_;
  if (rows != before || written < written_) written_ = written;
  if (is_written && is_same_line && before > 0 && rows > before) {
    row_ = rows - 1;
    started_s_ = now_s;
  }
  const bool is_skipped = ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsKeyPressed(ImGuiKey_Escape, false);
  if (!is_same_line || is_skipped || frame.state[kBlockView.reduces_motion] || (row_ && *row_ + 1 != rows)) row_.reset();
  part_ = row_ ? static_cast<float>((now_s - started_s_) / kSeconds) * frame.state[kBlockView.speed] : 1.0F;
  if (!(part_ < 1.0F)) row_.reset();
}

void RowReveal::draw(Frame& frame, const chart::Viewport& viewport) const {
  if (!row_ || *row_ >= viewport.rows()) return;
  frame.ui.request_redraw(2);  // this frame is one of them
  const chart::Rect cells = viewport.visible();
  // A causal row ends at its own token; what is after it is masked and stays as it is.
  const bool is_square = viewport.rows() == viewport.columns();
  const std::uint32_t end = is_square ? *row_ + 1 : viewport.columns();
  const chart::Rect last = viewport.rect_of({.row = *row_, .column = end - 1});
  const chart::Rect start = viewport.rect_of({.row = *row_, .column = 0});
  ImGui::PushClipRect(cells.origin - 2.0F, cells.end() + 2.0F, true);
  const float reached = start.origin.x + part_ * (last.end().x - start.origin.x);
  fill_rect({reached, start.origin.y}, last.end(), frame.ui.theme().missing);
  outline_rect(start.origin - 1.0F, last.end() + 1.0F, frame.ui.theme().accent, 0.0F, 1.5F);
  ImGui::PopClipRect();
  frame.mark("head.new_row", {.origin = start.origin, .size = last.end() - start.origin});
}

}  // namespace headlight::app
