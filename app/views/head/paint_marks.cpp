#include "app/views/head/paint_marks.h"

#include <algorithm>

#include "app/shell/imgui_vectors.h"
#include "app/shell/theme.h"

namespace headlight::app {
namespace {

constexpr float kLeastCell = 5.0F;  // UI units, below which a mark would hide its cell
constexpr std::size_t kMostMarks = 4'000;

class PaintMarks {
 public:
  PaintMarks(const Frame& frame, const view::Viewport& viewport)
      : frame_(frame), viewport_(viewport), region_(viewport.visible_region()), list_(ImGui::GetWindowDrawList()) {}

  void draw() {
    const Selection& selection = frame_.state.selection;
    const attention::MaskSpec& mask = selected_mask(frame_.state);
    const view::Rect cells = viewport_.visible();
    ImGui::PushClipRect(to_imgui(cells.origin), to_imgui(cells.end()), true);
    if (mask.documents) draw_documents(*mask.documents);
    const glm::vec2 cell = viewport_.cell_size();
    const bool is_one_head = selection.mean == HeadMean::None;
    if (is_one_head && std::min(cell.x, cell.y) >= kLeastCell) {
      const auto pattern = fixed_pattern(frame_.state, selection.block, selection.head);
      if (pattern) {
        for_each_visible(pattern->weights, [&](attention::Cell at, float) { frame_cell(at); });
      }
      for (const auto& [scope, numbers] : mask.biases) {
        for_each_visible(numbers, [&](attention::Cell at, float) {
          const float bias = mask.bias(selection.block.layer.value, selection.batch, selection.head, at);
          const bool is_replaced = pattern && pattern->weights.has_row(at.query);
          if (bias != 0.0F && !is_replaced) sign(at, bias > 0.0F);
        });
      }
    }
    ImGui::PopClipRect();
  }

 private:
  view::Rect rect_of(attention::Cell at) const { return viewport_.rect_of({.row = at.query, .column = at.key}); }

  void draw_documents(const attention::Documents& documents) {
    const auto found = documents.find(frame_.state.selection.batch);
    if (found == documents.end()) return;
    const view::Rect matrix = viewport_.matrix();
    const shell::Color color = frame_.ui.theme().warning;
    for (const std::uint32_t begin : found->second) {
      if (begin >= viewport_.rows() || begin >= viewport_.columns()) break;
      const glm::vec2 at = rect_of({.query = begin, .key = begin}).origin;
      list_->AddLine({matrix.origin.x, at.y}, {matrix.end().x, at.y}, color, 1.5F);
      list_->AddLine({at.x, matrix.origin.y}, {at.x, matrix.end().y}, color, 1.5F);
    }
  }

  template <typename Visit>
  void for_each_visible(const attention::NumberRuns& numbers, const Visit& visit) {
    const auto runs = numbers.runs();
    const std::uint32_t end_row = region_.row + region_.rows, end_key = region_.column + region_.columns;
    auto run = std::ranges::partition_point(runs, [&](const auto& one) { return one.query < region_.row; });
    for (; run != runs.end() && run->query < end_row; ++run) {
      const std::uint32_t first = std::max(run->first_key, region_.column);
      const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(run->end_key(), end_key));
      for (std::uint32_t key = first; key < end; ++key) {
        if (++marks_ > kMostMarks) return;
        visit({.query = run->query, .key = key}, run->paint);
      }
    }
  }

  /// In the cell's upper right corner, on a ground of its own, so that it is seen on any colour.
  void sign(attention::Cell at, bool is_plus) {
    const shell::Theme& theme = frame_.ui.theme();
    const view::Rect cell = rect_of(at);
    const float size = std::clamp(std::min(cell.size.x, cell.size.y) * 0.3F, 4.0F, 11.0F);
    const glm::vec2 center{cell.end().x - size * 0.5F - 1.0F, cell.origin.y + size * 0.5F + 1.0F};
    const float half = size * 0.5F, arm = half * 0.65F;
    list_->AddRectFilled(to_imgui(center - half), to_imgui(center + half), theme.popup, 1.0F);
    const shell::Color color = is_plus ? theme.accent : theme.warning;
    list_->AddLine({center.x - arm, center.y}, {center.x + arm, center.y}, color, 1.5F);
    if (is_plus) list_->AddLine({center.x, center.y - arm}, {center.x, center.y + arm}, color, 1.5F);
  }

  void frame_cell(attention::Cell at) {
    const view::Rect cell = rect_of(at);
    list_->AddRect(to_imgui(cell.origin + 1.0F), to_imgui(cell.end() - 1.0F), frame_.ui.theme().accent, 0.0F, 0, 1.5F);
  }

  const Frame& frame_;
  const view::Viewport& viewport_;
  view::Region region_;
  ImDrawList* list_;
  std::size_t marks_ = 0;
};

}  // namespace

void draw_paint_marks(const Frame& frame, const view::Viewport& viewport) { PaintMarks(frame, viewport).draw(); }

}  // namespace headlight::app
