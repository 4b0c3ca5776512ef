#include "app/views/side_by_side/weight_map.h"

#include <imgui.h>

#include "app/shell/imgui_vectors.h"
#include "app/widgets/cell_numbers.h"

namespace headlight::app {

WeightMap::WeightMap(Frame& frame, const TileQuery& map, const view::Viewport& viewport, std::uint32_t place)
    : frame_(frame), viewport_(viewport), map_(map), place_(place) {
  const float scale = frame.ui.scale();
  const view::Viewport fitted(viewport.area(), viewport.rows(), viewport.columns());
  const TileQuery sharp = query(viewport.visible_region(scale)), whole = query(fitted.visible_region(scale));
  if (is_large_map(viewport.rows(), viewport.columns())) {
    layers_ = find_layers(frame, {.visible = sharp, .whole = whole, .rows = viewport.rows(), .columns = viewport.columns()});
    return;
  }
  sharp_ = find_tile(frame, sharp);
  if (!sharp_.tile) sharp_ = find_covering_tile(frame.result, sharp);
  whole_ = find_tile(frame, whole);
}

TileQuery WeightMap::query(const view::Region& region) const {
  TileQuery asked = map_;
  asked.row = region.row;
  asked.rows = std::max(region.rows, 1U);
  asked.column = region.column;
  asked.columns = std::max(region.columns, 1U);
  asked.pool = region.pool;
  asked.pooled_columns = region.pooled_columns;
  asked.pooling = !asked.is_exact() ? frame_.state.view.pooling : attention::Pooling::Max;
  return asked;
}

float WeightMap::largest() const {
  const ShownTile& known = layers_ ? layers_->summary : whole_.tile ? whole_ : sharp_;
  return known.tile ? fitted_range(*known.facts, frame_.state.view.color_spread).high : 0.0F;
}

const attention::Tile* WeightMap::exact() const { return whole_.tile && whole_.query.is_exact() ? whole_.tile : nullptr; }

void WeightMap::set_colors(shell::HeatmapImage& image, float largest) const {
  set_weight_colors(image, frame_.state, {}, false);
  const bool has_limits = frame_.state.view.color_limits.contains(attention::Stage::Weights);
  if (!has_limits && largest > 0.0F) image.high = largest;
}

shell::HeatmapImage WeightMap::colors(float largest) const {
  shell::HeatmapImage image;
  set_colors(image, largest);
  return image;
}

void WeightMap::draw(float largest) {
  const view::Rect cells = viewport_.visible();
  ImGui::GetWindowDrawList()->AddRectFilled(cells.origin, cells.end(), frame_.ui.theme().missing);
  if (layers_) {
    for (const ShownTile& tile : layers_->tiles) draw_tile(tile, largest);
    return;
  }
  if (whole_.tile && whole_.tile != sharp_.tile) draw_tile(whole_, largest);
  if (sharp_.tile) draw_tile(sharp_, largest);
}

void WeightMap::draw_tile(const ShownTile& shown, float largest) {
  const TileQuery& query = shown.query;
  const view::Rect cells = viewport_.visible();
  const glm::vec2 cell = viewport_.cell_size();
  shell::HeatmapImage image = heatmap_of(shown, place_, frame_.ui.theme());
  set_colors(image, largest);
  image.area = {.origin = viewport_.matrix().origin + glm::vec2(query.column, query.row) * cell,
                .size = glm::vec2(query.tile_columns() * query.column_pool(), query.tile_rows() * query.pool) * cell};
  image.clip = cells;
  frame_.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
  if (!query.is_exact()) return;
  ImGui::PushClipRect(cells.origin, cells.end(), true);
  const bool has_room = cell.x >= kLeastNumberCellWidth && cell.y >= kNumberCellHeight;
  if (has_room && frame_.state.view.show_numbers) draw_cell_numbers(frame_, image, *shown.tile);
  draw_weight_marks(frame_, image, *shown.tile);
  ImGui::PopClipRect();
}

std::optional<SharedWeight> shared_weight(const attention::Tile& left, const attention::Tile& right,
                                          attention::KeyRange queries) {
  const std::uint32_t rows = std::min(left.request.tile_rows(), queries.end), columns = left.request.tile_columns();
  SharedWeight shared;
  std::uint32_t counted = 0;
  for (std::uint32_t row = queries.begin; row < rows; ++row) {
    double both = 0.0, sum_left = 0.0, sum_right = 0.0;
    for (std::uint32_t column = 0; column < columns; ++column) {
      const double a = left.at(row, column), b = right.at(row, column);
      both += std::min(a, b);
      sum_left += a;
      sum_right += b;
    }
    if (!std::isfinite(sum_left + sum_right) || sum_left + sum_right == 0.0) continue;
    ++counted;
    shared.mean += both;
    if (counted == 1 || both < shared.least) {
      shared.least = both;
      shared.least_at = row;
    }
  }
  if (counted == 0) return std::nullopt;
  shared.mean /= counted;
  return shared;
}

}  // namespace headlight::app
