#include "app/views/head/head_parts.h"

#include "app/widgets/text.h"

#include "app/state/block_settings.h"
#include "app/widgets/text.h"

namespace headlight::app {

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

void RowReveal::draw(Frame& frame, const view::Viewport& viewport) const {
  if (!row_ || *row_ >= viewport.rows()) return;
  frame.ui.request_redraw(2);  // this frame is one of them
  const view::Rect cells = viewport.visible();
  // A causal row ends at its own token; what is after it is masked and stays as it is.
  const bool is_square = viewport.rows() == viewport.columns();
  const std::uint32_t end = is_square ? *row_ + 1 : viewport.columns();
  const view::Rect last = viewport.rect_of({.row = *row_, .column = end - 1});
  const view::Rect start = viewport.rect_of({.row = *row_, .column = 0});
  ImGui::PushClipRect(cells.origin - 2.0F, cells.end() + 2.0F, true);
  const float reached = start.origin.x + part_ * (last.end().x - start.origin.x);
  fill_rect({reached, start.origin.y}, last.end(), frame.ui.theme().missing);
  outline_rect(start.origin - 1.0F, last.end() + 1.0F, frame.ui.theme().accent, 0.0F, 1.5F);
  ImGui::PopClipRect();
  frame.mark("head.new_row", {.origin = start.origin, .size = last.end() - start.origin});
}

}  // namespace headlight::app
