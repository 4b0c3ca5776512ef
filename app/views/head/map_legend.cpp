#include "app/state/map_settings.h"
#include "app/views/head/map_parts.h"

#include "app/widgets/controls.h"
#include "app/widgets/tile_numbers.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kScalePadding = 6.0F;   // of the scale's buttons
constexpr float kSwitchHeight = 26.0F;  // of the scale's switch, and of the line that explains stripes
constexpr float kOddHeight = 40.0F;     // of the two lines that explain the colour of what isn't a number
constexpr float kZoomHeight = 40.0F;
constexpr float kHintLine = 16.0F;

void draw_hatched_sample(const shell::Theme& theme, ImVec2 low) {
  constexpr float kEdge = 14.0F;
  const ImVec2 high(low.x + kEdge, low.y + kEdge);
  fill_rect(to_glm(low), to_glm(high), theme.hatch_ground);
  ImGui::PushClipRect(low, high, true);
  for (float shift = -kEdge; shift < kEdge; shift += 5.0F) {
    draw_line({low.x + shift, high.y}, {low.x + shift + kEdge, low.y}, theme.hatch, 1.5F);
  }
  ImGui::PopClipRect();
  outline_rect(to_glm(low), to_glm(high), theme.border);
}

}  // namespace

MapLegend::MapLegend(Frame& frame, const MapHeatmap& heatmap, float zoom)
    : frame_(frame),
      hint_(heatmap.hint()),
      has_scale_(shown_stage(frame.state) == Stage::Weights && !head_map_shows_difference(frame)),
      has_masked_cells_(heatmap.has_masked_cells()),
      has_odd_cells_(heatmap.has_odd_cells()),
      zoom_(zoom) {
  if (heatmap.has_range_choice()) range_.emplace(frame, shown_stage(frame.state), heatmap.range());
  if (!hint_) return;
  hint_lines_ = break_lines(frame.ui.fonts().small, hint_->text, kBarRoom - 22.0F);
  hint_lines_.emplace_back(hint_->link);
}

float MapLegend::height() const {
  return (range_ ? range_->height() : 0.0F) + (has_scale_ ? kSwitchHeight : 0.0F) +
         (hint_ ? kHintLine * static_cast<float>(hint_lines_.size()) + 10.0F : 0.0F) +
         (has_masked_cells_ ? kSwitchHeight : 0.0F) + (has_odd_cells_ ? kOddHeight : 0.0F) +
         (is_zoomed() ? kZoomHeight : 0.0F);
}

void MapLegend::draw(glm::vec2 at) {
  const shell::Theme& theme = frame_.ui.theme();
  ImFont* font = frame_.ui.fonts().small;
  if (has_scale_) {
    draw_scale(at);
    at.y += kSwitchHeight;
  }
  if (range_) {
    const float height = range_->height();
    range_->draw(at);
    at.y += height;
  }
  if (hint_) at.y = draw_hint(at);
  if (has_masked_cells_) {
    draw_hatched_sample(theme, at);
    put_text(font, {at.x + 20.0F, at.y}, theme.text_dim, "masked");
    at.y += kSwitchHeight;
  }
  if (has_odd_cells_) {
    fill_rect(at, at + 14.0F, chart::kNotFinitePacked);
    put_text(font, {at.x + 20.0F, at.y}, theme.text_dim, "not a");
    put_text(font, {at.x + 20.0F, at.y + 14.0F}, theme.text_dim, "number");
    at.y += kOddHeight;
  }
  if (!is_zoomed()) return;
  const std::string text = fmt::format("zoom {:.1f}×", zoom_);
  put_text(font, at, theme.text, text);
  put_text(font, {at.x, at.y + 17.0F}, theme.text_dim, "0: whole map");
}

/// Draws the choice of how colours follow the weights.
void MapLegend::draw_scale(glm::vec2 at) {
  ImGui::SetCursorScreenPos(at);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(1.0F, 1.0F));
  choose(frame_, kMapView.color_spread, {"lin", "√", "log"}, kScalePadding);
  ImGui::PopStyleVar();
}

/// Returns the y below it.
float MapLegend::draw_hint(glm::vec2 at) {
  const shell::Theme& theme = frame_.ui.theme();
  ImGui::SetCursorScreenPos(at);
  const float height = kHintLine * static_cast<float>(hint_lines_.size());
  if (click_area("fit range", {kBarRoom - 20.0F, height})) {
    frame_.state.view.color_limits.erase(Stage::Weights);
    frame_.state.set(kMapView.color_range, hint_->range);
  }
  mark_last_item(frame_, "head.fit_range");
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  for (std::size_t line = 0; line < hint_lines_.size(); ++line) {
    const bool is_link = line + 1 == hint_lines_.size();
    put_text(frame_.ui.fonts().small, {at.x, at.y + kHintLine * static_cast<float>(line)},
             is_link ? (is_hovered ? theme.accent_hover : theme.accent) : theme.text, hint_lines_[line]);
  }
  return at.y + height + 10.0F;
}

}  // namespace headlight::app
