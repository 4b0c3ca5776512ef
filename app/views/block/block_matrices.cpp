#include "app/views/block/block_parts.h"

#include "app/widgets/arithmetic_strip.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::uint32_t kPlace = 0xB10C;
constexpr glm::vec2 kCell(46.0F, 19.0F);
constexpr float kGutter = 96.0F;
constexpr float kTicks = 17.0F;
constexpr std::uint32_t kAligned = 16;  // the asked region changes every so many cells of scrolling

/// Returns the region of the matrix in sight, widened so that it changes seldom.
chart::Region region_in_sight(glm::uvec2 count, glm::vec2 scrolled, glm::vec2 room) {
  const auto aligned = [](glm::vec2 at) { return glm::uvec2(glm::max(at / kCell, 0.0F)) / kAligned; };
  const glm::uvec2 first = glm::min(aligned(scrolled) * kAligned, count - 1U);
  const glm::uvec2 end = glm::max(glm::min((aligned(scrolled + room) + 1U) * kAligned, count), first + 1U);
  return {.row = first.y, .rows = end.y - first.y, .column = first.x, .columns = end.x - first.x};
}

/// Draws the cells in sight of an unfolded matrix, with their numbers.
void draw_cells(Frame& frame, const BlockNode& node, const chart::Region& region, glm::vec2 origin) {
  const chart::Rect area{.origin = origin + glm::vec2(region.column, region.row) * kCell,
                         .size = glm::vec2(region.columns, region.rows) * kCell};
  const ShownTile shown = find_tile(frame, node_cells(frame, node, region));
  if (!shown.tile) return fill_rect(area, frame.ui.theme().missing);
  shell::HeatmapImage image = heatmap_of(shown, kPlace, frame.ui.theme());
  image.area = area;
  color_matrix(frame, image, shown);
  draw_heatmap(frame, image);
  draw_cell_numbers(frame, image, *shown.tile);
  draw_weight_marks(frame, image, *shown.tile);
}

const model::TokenBatch* row_tokens(const Frame& frame, const BlockNode& node) {
  if (!frame.result.input) return nullptr;
  return StepMatrix(node.stage).has_key_rows() ? &shown_keys(frame) : &shown_queries(frame);
}

void draw_labels(Frame& frame, const BlockNode& node, const chart::Region& region, glm::vec2 corner, glm::vec2 cells,
                 glm::vec2 room) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool has_key_rows = StepMatrix(node.stage).has_key_rows();
  const bool is_map = attention::is_map(node.stage);
  const model::TokenBatch* tokens = row_tokens(frame, node);
  const auto written = tokens && is_map ? written_tokens(frame) : std::nullopt;
  list->PushClipRect(ImVec2(corner.x, corner.y + kTicks), ImVec2(corner.x + kGutter, corner.y + room.y), true);
  for (std::uint32_t row = region.row; row < region.row + region.rows; ++row) {
    const float y = cells.y + static_cast<float>(row) * kCell.y + 2.0F;
    const std::string index = fmt::format("{}", row);
    put_text(fonts.mono_small, {corner.x, y}, has_key_rows ? theme.key : theme.query, index);
    if (!tokens) continue;
    const std::string name = written && row < written->size() ? (*written)[row] : token_name(frame, *tokens, row);
    put_text(fonts.small, {corner.x + 32.0F, y - 1.0F}, theme.text, fit_text(fonts.small, name, kGutter - 38.0F));
  }
  list->PopClipRect();
  list->PushClipRect(ImVec2(corner.x + kGutter, corner.y), ImVec2(corner.x + room.x, corner.y + kTicks), true);
  for (std::uint32_t column = region.column; column < region.column + region.columns; ++column) {
    const std::string index = fmt::format("{}", column);
    const float x = cells.x + (static_cast<float>(column) + 0.5F) * kCell.x - text_width(fonts.mono_small, index) * 0.5F;
    put_text(fonts.mono_small, {std::round(x), corner.y + 1.0F}, is_map ? theme.key : theme.text_dim, index);
  }
  list->PopClipRect();
}

/// Returns "query 2 “short” · key 5 “first”", or the token and the component.
std::string describe_cell(Frame& frame, const BlockNode& node, attention::Cell cell) {
  if (!frame.result.input) return {};
  const model::TokenBatch& queries = shown_queries(frame);
  const model::TokenBatch& keys = shown_keys(frame);
  if (attention::is_map(node.stage)) {
    return fmt::format("query {} “{}” · key {} “{}”", cell.query, row_name(frame, cell.query), cell.key,
                       token_name(frame, keys, cell.key));
  }
  const bool has_key_rows = StepMatrix(node.stage).has_key_rows();
  return fmt::format("token {} “{}” · component {}", cell.query,
                     token_name(frame, has_key_rows ? keys : queries, cell.query), cell.key);
}

}  // namespace

std::optional<attention::Cell> draw_unfolded(Frame& frame, const BlockNode& node,
                                             const std::optional<attention::Cell>& marked) {
  if (node.rows == 0 || node.columns == 0) return std::nullopt;
  const glm::vec2 corner = cursor_position();
  const glm::vec2 room = region_left();
  ImGui::SetCursorScreenPos(corner + glm::vec2(kGutter, kTicks));
  ImGui::BeginChild("cells", glm::max(room - glm::vec2(kGutter, kTicks), glm::vec2(16.0F)), false,
                    ImGuiWindowFlags_HorizontalScrollbar);
  const glm::vec2 origin = cursor_position();
  const glm::vec2 scrolled(ImGui::GetScrollX(), ImGui::GetScrollY());
  const chart::Region region = region_in_sight({node.columns, node.rows}, scrolled, window_rect().size);
  draw_cells(frame, node, region, origin);
  frame.mark("block.cells", window_rect());
  std::optional<attention::Cell> hovered;
  const glm::vec2 at = (pointer_position() - origin) / kCell;
  const bool is_inside =
      at.x >= 0.0F && at.y >= 0.0F && at.x < static_cast<float>(node.columns) && at.y < static_cast<float>(node.rows);
  if (ImGui::IsWindowHovered() && is_inside) {
    hovered = attention::Cell{.query = static_cast<std::uint32_t>(at.y), .key = static_cast<std::uint32_t>(at.x)};
  }
  const std::optional<attention::Cell> outlined = hovered ? hovered : marked;
  if (outlined) {
    const glm::vec2 low = origin + glm::vec2(outlined->key, outlined->query) * kCell;
    outline_rect(low - 1.0F, low + kCell + 1.0F, frame.ui.theme().text, 2.0F, 2.0F);
  }
  ImGui::Dummy(glm::vec2(node.columns, node.rows) * kCell);
  ImGui::EndChild();
  draw_labels(frame, node, region, corner, origin, room);
  return hovered;
}

void draw_cell_strip(Frame& frame, const HeadSubject& subject, const BlockNode* node, attention::Cell cell, float height,
                     bool& shows_all_terms) {
  if (!node) return draw_arithmetic_strip(frame, {.height = height}, shows_all_terms);
  const Selection& selection = frame.state.selection;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const Arithmetic arithmetic = explain_cell(question_about(frame, subject, node->stage, cell), numbers);
  const NumberRef number = number_of(frame, node->id(), cell, arithmetic.result);
  frame.transient.pointed_number = number;
  draw_arithmetic_strip(frame,
                        {.arithmetic = &arithmetic,
                         .title = node->quantity().title.c_str(),
                         .color = color_of_node(*node, frame.ui.theme()),
                         .tokens = describe_cell(frame, *node, cell),
                         .height = height,
                         .number = number},
                        shows_all_terms);
}

}  // namespace headlight::app
