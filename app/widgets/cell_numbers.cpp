#include "app/widgets/cell_numbers.h"

#include <cfloat>

#include "app/state/dropout_settings.h"
#include "app/state/map_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/tile_numbers.h"
#include "chart/color.h"
#include "chart/number_format.h"

namespace headlight::app {

std::optional<std::string> cell_text(Frame& frame, attention::Cell cell) {
  if (!frame.result.input) return std::nullopt;
  const Selection& selection = frame.state.selection;
  const model::BlockKind kind = selection.block.kind;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const std::optional<float> weight = numbers.value(attention::Stage::Weights, cell.query, cell.key);
  const std::optional<float> scaled = numbers.value(attention::Stage::Scaled, cell.query, cell.key);
  const inference::BlockShape* shape = selected_shape(frame);
  const bool has_scores = !shape || !shape->only_weights;
  if (!weight || (has_scores && !scaled)) return std::nullopt;
  const model::ModelInput& input = *frame.result.input;
  const auto name = [&](const model::TokenBatch& tokens, std::uint32_t index) {
    const std::string* text = tokens.label(selection.batch, index);
    return text != nullptr ? *text : std::string();
  };
  std::string text =
      fmt::format("layer {}, head {}\nquery {}: {}\nkey {}: {}\nweight {:.7g}", selection.block.layer.value, selection.head,
                  cell.query, name(input.queries(kind), cell.query), cell.key, name(input.keys(kind), cell.key), *weight);
  if (has_scores) text += fmt::format("\nscaled score {:.7g}", *scaled);
  return text;
}

namespace {

using attention::Stage;

/// Cells from these sizes on have larger letters.
constexpr glm::vec2 kLargeCell{66.0F, 28.0F}, kLargeText{96.0F, 60.0F}, kHugeText{140.0F, 100.0F};

/// Returns how many decimals fit every cell of this size; none: no number fits, or the user wants none.
std::optional<std::uint32_t> decimals_for(const Frame& frame, glm::vec2 cell) {
  if (!frame.state[kMapView.show_numbers] || font_size(frame.ui.fonts().mono_small) > cell.y) return std::nullopt;
  for (const std::uint32_t decimals : {2U, 1U}) {
    if (text_width(frame.ui.fonts().mono_small, chart::format_fixed(-8.88F, decimals)) + 2.0F <= cell.x) return decimals;
  }
  return std::nullopt;
}

void draw_number(const Frame& frame, double value, shell::Color ground, const chart::Rect& box) {
  const std::optional<std::uint32_t> decimals = decimals_for(frame, box.size);
  if (!decimals) return;
  constexpr float kAir = 4.0F;  // of a number that has decimals to lose
  const bool is_large = box.size.x >= kLargeCell.x && box.size.y >= kLargeCell.y;
  ImFont* font = is_large ? frame.ui.fonts().mono : frame.ui.fonts().mono_small;
  std::uint32_t kept = *decimals;
  std::string number = chart::format_fixed(static_cast<float>(value), kept);
  while (kept > 0 && text_width(font, number) + (kept > 1 ? kAir : 0.0F) > box.size.x)
    number = chart::format_fixed(static_cast<float>(value), --kept);
  if (text_width(font, number) > box.size.x) return;
  put_text(font,
           {std::round(box.origin.x + (box.size.x - text_width(font, number)) * 0.5F),
            std::round(box.origin.y + (box.size.y - font_size(font)) * 0.5F)},
           readable_on(ground), number);
}

/// Writes the first line, and the second one below it or at the end, where it fits.
void draw_text(const Frame& frame, const std::string& text, shell::Color ground, const chart::Rect& box) {
  if (text.empty()) return;
  frame.ui.ensure_glyphs(text);
  const auto has = [&](glm::vec2 least) { return box.size.x >= least.x && box.size.y >= least.y; };
  const shell::FontSet& fonts = frame.ui.fonts();
  ImFont* font = has(kHugeText) ? fonts.line : has(kLargeText) ? fonts.body : fonts.small;
  constexpr float kEdge = 6.0F, kLeastName = 46.0F;
  const std::size_t line = text.find('\n');
  const std::string number = line == std::string::npos ? "" : text.substr(line + 1);
  const float high = font_size(font), width = text_width(font, number);
  const bool is_below = !number.empty() && box.size.y >= 2.0F * high + 4.0F;
  const bool is_beside = !number.empty() && !is_below && box.size.x > width + kLeastName;
  const float y = std::round(box.center().y - (is_below ? high : 0.5F * high));
  const shell::Color ink = readable_on(ground);
  const float room = box.size.x - 2.0F * kEdge - (is_beside ? width + kEdge : 0.0F);
  put_text(font, {box.origin.x + kEdge, y}, ink, fit_text(font, text.substr(0, line), room));
  if (is_below) put_text(font, {box.origin.x + kEdge, y + high}, ink, number);
  if (is_beside) put_text(font, {box.end().x - kEdge - width, y}, ink, number);
}

/// Does the row have no weights at all, because everything in it is masked with −inf?
bool is_without_weights(const attention::Tile& tile, std::uint32_t row) {
  return tile.request.stage == Stage::Weights && tile.request.is_exact() && row < tile.row_sum.size() &&
         tile.row_sum[row] == 0.0F;
}

/// Returns width and height of a text.
glm::vec2 text_size(ImFont* font, const std::string& text) {
  return to_glm(font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text.c_str()));
}

/// Draws text in the middle of a cell.
void put(ImFont* font, const chart::Rect& cell, shell::Color color, const std::string& text) {
  const glm::vec2 size = text_size(font, text);
  if (size.x > cell.size.x) return;
  put_text(font, glm::round(cell.origin + (cell.size - size) * 0.5F), color, text);
}

/// Writes the text on its own background, for hatched cells.
void put_on_plate(ImFont* font, const chart::Rect& cell, const shell::Theme& theme, const std::string& text) {
  const glm::vec2 half = text_size(font, text) * 0.5F, edge(3.0F, 0.0F);
  fill_rect(cell.center() - half - edge, cell.center() + half + edge, theme.hatch_ground, 2.0F);
  put(font, cell, theme.text_dim, text);
}

/// The cells of an image that are inside its clip rectangle and the draw list's.
struct CellsInSight {
  CellsInSight(const ImDrawList* list, const shell::HeatmapImage& image)
      : area(image.area),
        cell(image.area.size / glm::vec2(image.columns, image.rows)),
        low(to_glm(list->GetClipRectMin())),
        high(to_glm(list->GetClipRectMax())) {
    if (image.clip) {
      low = glm::max(low, image.clip->origin);
      high = glm::min(high, image.clip->end());
    }
    const glm::vec2 count(image.columns, image.rows);
    first = glm::uvec2(glm::clamp(glm::floor((low - area.origin) / cell), glm::vec2(0.0F), count));
    end = glm::uvec2(glm::clamp(glm::ceil((high - area.origin) / cell), glm::vec2(0.0F), count));
  }

  chart::Rect rect(std::uint32_t row, std::uint32_t column) const {
    return {.origin = area.origin + glm::vec2(column, row) * cell, .size = cell};
  }

  chart::Rect area;
  glm::vec2 cell;       ///< width and height
  glm::vec2 low, high;  ///< of both clip rectangles
  glm::uvec2 first{0};  ///< column and row
  glm::uvec2 end{0};
};

/// Draws a cross on every cell that dropout has dropped: in a corner where there is a number.
void draw_dropped_cells(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile) {
  constexpr float kSmallestCell = 6.0F;
  const attention::TileRequest& request = tile.request;
  if (request.stage != Stage::Weights || !request.is_exact() || !frame.result.inputs) return;
  const auto plan = weight_dropout(frame.result.inputs->settings, request.block);
  const CellsInSight cells(ImGui::GetWindowDrawList(), image);
  if (!plan || std::min(cells.cell.x, cells.cell.y) < kSmallestCell) return;
  for (std::uint32_t row = cells.first.y; row < cells.end.y; ++row) {
    for (std::uint32_t column = cells.first.x; column < cells.end.x; ++column) {
      if (plan->factor_of(request.batch, request.head, request.row + row, request.column + column) != 0.0F) continue;
      if (is_masked_here(tile, row, column)) continue;
      const chart::Rect cell = cells.rect(row, column);
      const bool has_number = cell.size.x >= kMinNumberCellWidth && cell.size.y >= kNumberCellHeight;
      const glm::vec2 middle =
          has_number ? glm::vec2(cell.end().x - 8.0F, cell.origin.y + 8.0F) : cell.origin + cell.size * 0.5F;
      const glm::vec2 arm(has_number ? 3.5F : std::min(cell.size.x, cell.size.y) * 0.25F);
      const glm::vec2 low = middle - arm, high = middle + arm;
      const shell::Color ink = readable_on(color_of(image, 0.0F));
      draw_line(low, high, ink, 1.5F);
      draw_line({low.x, high.y}, {high.x, low.y}, ink, 1.5F);
    }
  }
}

}  // namespace

std::string cell_number(float value, std::uint32_t decimals) {
  const float magnitude = std::abs(value);
  return chart::format_fixed(value, magnitude >= 99.95F ? 0U : magnitude >= 9.995F ? std::min(decimals, 1U) : decimals);
}

shell::Color readable_on(shell::Color ground) { return shell::text_on(ground, shell::rgb(0xFFFFFF)); }

shell::Color color_of(const shell::HeatmapImage& image, float value) {
  const float position = chart::position_in({.low = image.low, .high = image.high}, image.spread, value);
  return image.color_map[static_cast<std::size_t>(std::lround(position * 255.0F))];
}

void draw_weight_marks(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile) {
  draw_dropped_cells(frame, image, tile);
  ImFont* font = frame.ui.fonts().small;
  const CellsInSight cells(ImGui::GetWindowDrawList(), image);
  if (cells.cell.y < font_size(font) + 1.0F) return;
  for (std::uint32_t row = cells.first.y; row < cells.end.y; ++row) {
    if (!is_without_weights(tile, row)) continue;
    const float left = std::max(image.area.origin.x, cells.low.x);
    const float right = std::min(image.area.end().x, cells.high.x);
    const chart::Rect band{.origin = {left, cells.rect(row, 0).origin.y}, .size = {right - left, cells.cell.y}};
    const char* text = band.size.x > 80.0F ? "no weights" : "none";
    if (text_width(font, text) < band.size.x) put_on_plate(font, band, frame.ui.theme(), text);
  }
}

void draw_cell_numbers(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile) {
  const CellsInSight cells(ImGui::GetWindowDrawList(), image);
  ImFont* font = cells.cell.x >= 66.0F ? frame.ui.fonts().mono : frame.ui.fonts().mono_small;
  const std::uint32_t decimals = cells.cell.x >= 56.0F ? 3U : 2U;
  // A large number without its decimals says enough; a small one would be "0".
  const auto fitting = [&](float value) {
    std::string text = cell_number(value, decimals);
    const bool is_large = std::abs(value) >= 9.95F;
    return is_large && text_width(font, text) > cells.cell.x ? cell_number(value, 0) : text;
  };
  for (std::uint32_t row = cells.first.y; row < cells.end.y; ++row) {
    if (is_without_weights(tile, row)) continue;
    const float factor = image.row_scale.empty() ? 1.0F : image.row_scale[row];
    for (std::uint32_t column = cells.first.x; column < cells.end.x; ++column) {
      const float value = tile.at(row, column);
      const chart::Rect cell = cells.rect(row, column);
      if (!is_masked_here(tile, row, column)) {
        const shell::Color ground = std::isfinite(value) ? color_of(image, value * factor) : chart::kNotFinitePacked;
        put(font, cell, readable_on(ground), std::isnan(value) ? "NaN" : fitting(value));
      } else if (tile.request.stage == Stage::Masked || (tile.request.stage == Stage::Weights && value >= 0.005F)) {
        put_on_plate(font, cell, frame.ui.theme(), fitting(value));
      }
    }
  }
}

shell::Color color_in(std::span<const std::uint32_t> colors, double share) {
  const double index = std::clamp(share, 0.0, 1.0) * static_cast<double>(colors.size() - 1);
  return colors[static_cast<std::size_t>(std::lround(index))] | 0xFF000000U;
}

void draw_map_cell(const Frame& frame, const MapCell& cell) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::Color ground = cell.ground.value_or(theme.missing);
  fill_rect(cell.box, cell.is_hidden ? theme.hatch_ground : ground, 2.0F);
  constexpr float kStripes = 6.0F;
  const glm::vec2 size = cell.box.size;
  for (float at = kStripes; cell.is_hidden && at < size.x + size.y; at += kStripes) {
    const glm::vec2 low(std::max(at - size.y, 0.0F), std::min(at, size.y)),
        high(std::min(at, size.x), std::max(at - size.x, 0.0F));
    draw_line(cell.box.origin + low, cell.box.origin + high, theme.hatch);
  }
  if (cell.number) draw_number(frame, *cell.number, ground, cell.box);
  draw_text(frame, cell.text, ground, cell.box);
  if (!cell.is_selected && !cell.is_hovered) return;
  outline_rect(cell.box.origin - 1.0F, cell.box.end() + 1.0F, cell.is_selected ? theme.accent : theme.text_dim, 2.0F,
               cell.is_selected ? 2.0F : 1.0F);
}

}  // namespace headlight::app
