#include "app/views/heads/pattern_pad.h"

#include "app/engine/analyses/head_ranking.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kPadSize = 224.0F;  // at most, UI units
constexpr float kMinPadCell = 6.0F, kMaxPadCell = 18.0F;
constexpr std::uint32_t kHiddenAlpha = 90;  // of 255, of drawn cells that the mask hides

attention::KeyRange first_of(attention::KeyRange range) {
  return {range.begin, std::min(range.end, range.begin + PatternPad::kMax)};
}

}  // namespace

std::optional<std::string> PatternPad::draw(Frame& frame, const std::string& formula) {
  update(frame, formula);
  if (pattern_.cells.empty()) return std::nullopt;
  const float most = static_cast<float>(std::max(pattern_.queries, pattern_.keys));
  const float cell = std::clamp(std::floor(kPadSize / most), kMinPadCell, kMaxPadCell);
  const chart::Rect box{.origin = cursor_position(),
                        .size = {cell * static_cast<float>(pattern_.keys), cell * static_cast<float>(pattern_.queries)}};
  click_area("##pad", to_imgui(box.size));
  const bool ends = ink_ && ImGui::IsItemDeactivated();
  follow_pointer(frame, box, cell);
  draw_cells(frame, box, cell);
  mark_pointer_item(
      frame, "heads.pad",
      "Rows are queries, columns keys. Press and drag to draw the pattern that heads are expected to have, or to "
      "take cells away; the formula follows, and the pad shows any formula that is typed.");
  if (!ends) {
    if (is_too_long_) {
      draw_note(frame, "heads.pad.long", "This drawing has too many parts for a formula: take some away.",
                frame.ui.theme().warning);
    }
    return std::nullopt;
  }
  ink_.reset();
  std::optional<std::string> drawn = formula_of(pattern_);
  is_too_long_ = !drawn;
  frame.ui.request_redraw(2);
  return drawn;
}

void PatternPad::update(const Frame& frame, const std::string& formula) {
  const Selection& selection = frame.state.selection;
  const Of now{.run = frame.result.run,
               .block = selection.block,
               .batch = selection.batch,
               .head = selection.head,
               .formula = formula};
  if (of_ == now) return;  // also where no formula has what was drawn
  of_ = now;
  ink_.reset();
  is_too_long_ = false;
  const attention::KeyRange queries = first_of(query_range(frame)), keys = first_of(key_range(frame));
  pattern_ = {.first_query = queries.begin,
              .first_key = keys.begin,
              .queries = queries.end - queries.begin,
              .keys = keys.end - keys.begin};
  pattern_.cells.assign(std::size_t{pattern_.queries} * pattern_.keys, 0);
  hidden_ = pattern_.cells;
  const ShownMask mask(frame);
  const attention::ExpressionMap map = mask.map();
  for (std::uint32_t row = 0; row < pattern_.queries; ++row) {
    for (std::uint32_t column = 0; column < pattern_.keys; ++column) {
      const attention::Cell cell{.query = queries.begin + row, .key = keys.begin + column};
      const bool is_visible = mask.spec().is_visible(map, selection.batch, cell, key_range(frame));
      hidden_[std::size_t{row} * pattern_.keys + column] = is_visible ? 0 : 1;
    }
  }
  if (formula.empty() || pattern_.cells.empty()) return;
  const PatternRows rows(pattern_query(selection, HeadPattern::Typed, formula),
                         {.network = frame.result.network,
                          .input = frame.result.input,
                          .inputs = frame.result.inputs,
                          .shapes = frame.result.shapes,
                          .has_logits = frame.result.has_logits},
                         queries, keys);
  pattern_.cells = rows.rows(selection.head_ref(), queries.begin, pattern_.queries);
}

void PatternPad::follow_pointer(Frame& frame, const chart::Rect& box, float cell) {
  const glm::vec2 at = (pointer_position() - box.origin) / cell;
  const bool is_inside = at.x >= 0.0F && at.y >= 0.0F && at.x < static_cast<float>(pattern_.keys) &&
                         at.y < static_cast<float>(pattern_.queries);
  if (!is_inside || !(ImGui::IsItemHovered() || ImGui::IsItemActive())) return;
  const auto row = static_cast<std::uint32_t>(at.y), column = static_cast<std::uint32_t>(at.x);
  frame.point_at(attention::Cell{.query = pattern_.first_query + row, .key = pattern_.first_key + column});
  if (ImGui::IsItemActivated() && !ImGui::GetIO().KeyCtrl) {
    ink_ = pattern_.at(row, column) == 0 ? std::uint8_t{1} : std::uint8_t{0};
  }
  if (ink_) pattern_.at(row, column) = *ink_;
}

void PatternPad::draw_cells(const Frame& frame, const chart::Rect& box, float cell) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const shell::Theme& theme = frame.ui.theme();
  list->AddRectFilled(to_imgui(box.origin), to_imgui(box.end()), theme.border);
  for (std::size_t at = 0; at < pattern_.cells.size(); ++at) {
    const std::size_t query = at / pattern_.keys, key = at % pattern_.keys;
    const glm::vec2 place(static_cast<float>(key), static_cast<float>(query));
    const glm::vec2 low = box.origin + cell * place;
    const bool is_drawn = pattern_.cells[at] != 0, is_hidden = hidden_[at] != 0;
    const shell::Color color = is_drawn    ? shell::with_alpha(theme.accent, is_hidden ? kHiddenAlpha : 255U)
                               : is_hidden ? theme.hatch_ground
                                           : theme.field;
    list->AddRectFilled(to_imgui(low), to_imgui(low + cell - 1.0F), color, 1.0F);
    if (is_hidden) list->AddLine({low.x, low.y + cell - 1.0F}, {low.x + cell - 1.0F, low.y}, theme.hatch);
  }
}

}  // namespace headlight::app
