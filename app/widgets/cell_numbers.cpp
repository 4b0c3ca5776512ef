#include "app/widgets/cell_numbers.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <tuple>
#include <utility>

#include <imgui.h>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "app/widgets/shown_tile.h"
#include "view/color_map.h"
#include "view/not_finite.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Does the row have no weights at all, because everything in it is masked with −inf?
bool is_without_weights(const attention::Tile& tile, std::uint32_t row) {
  return tile.request.stage == Stage::Weights && tile.request.pool == 1 && row < tile.row_sum.size() &&
         tile.row_sum[row] == 0.0F;
}

/// Text in the middle of a cell.
void put(ImDrawList* list, ImFont* font, const shell::UiRect& cell, shell::Color color, const std::string& text) {
  const ImVec2 size = font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text.c_str());
  if (size.x > cell.width) return;
  list->AddText(
      font, font_size(font),
      ImVec2(std::round(cell.x + (cell.width - size.x) * 0.5F), std::round(cell.y + (cell.height - size.y) * 0.5F)), color,
      text.c_str());
}

/// The same on its own background, for hatched cells.
void put_on_plate(ImDrawList* list, ImFont* font, const shell::UiRect& cell, const shell::Theme& theme,
                  const std::string& text) {
  const ImVec2 size = font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text.c_str());
  const ImVec2 middle(cell.x + cell.width * 0.5F, cell.y + cell.height * 0.5F);
  list->AddRectFilled(ImVec2(middle.x - size.x * 0.5F - 3.0F, middle.y - size.y * 0.5F),
                      ImVec2(middle.x + size.x * 0.5F + 3.0F, middle.y + size.y * 0.5F), theme.hatch_ground, 2.0F);
  put(list, font, cell, theme.text_dim, text);
}

/// First and one past the last of `count` cells of size `cell` that touch [low, high) when they begin at `start`.
std::pair<std::uint32_t, std::uint32_t> touching(float start, float cell, std::uint32_t count, float low, float high) {
  const float first = std::floor((low - start) / cell);
  const float end = std::ceil((high - start) / cell);
  const auto limit = static_cast<float>(count);
  return {static_cast<std::uint32_t>(std::clamp(first, 0.0F, limit)),
          static_cast<std::uint32_t>(std::clamp(end, 0.0F, limit))};
}

/// The cells of an image that are inside its clip rectangle and the draw list's.
struct CellsInSight {
  CellsInSight(const ImDrawList* list, const shell::HeatmapImage& image)
      : area(image.area),
        width(image.area.width / static_cast<float>(image.columns)),
        height(image.area.height / static_cast<float>(image.rows)),
        low(list->GetClipRectMin()),
        high(list->GetClipRectMax()) {
    if (image.clip) {
      low = ImVec2(std::max(low.x, image.clip->x), std::max(low.y, image.clip->y));
      high =
          ImVec2(std::min(high.x, image.clip->x + image.clip->width), std::min(high.y, image.clip->y + image.clip->height));
    }
    std::tie(first_row, end_row) = touching(area.y, height, image.rows, low.y, high.y);
    std::tie(first_column, end_column) = touching(area.x, width, image.columns, low.x, high.x);
  }

  shell::UiRect rect(std::uint32_t row, std::uint32_t column) const {
    return {.x = area.x + static_cast<float>(column) * width,
            .y = area.y + static_cast<float>(row) * height,
            .width = width,
            .height = height};
  }

  shell::UiRect area;
  float width, height;  ///< of a cell
  ImVec2 low, high;     ///< of both clip rectangles
  std::uint32_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
};

}  // namespace

std::string cell_number(float value, std::uint32_t decimals) {
  const float magnitude = std::abs(value);
  return view::format_fixed(value, magnitude >= 99.95F ? 0U : magnitude >= 9.995F ? std::min(decimals, 1U) : decimals);
}

shell::Color readable_on(shell::Color ground) {
  const auto channel = [&](unsigned shift) { return static_cast<std::uint8_t>(ground >> shift & 0xFFU); };
  const bool is_light = view::lightness({.red = channel(0), .green = channel(8), .blue = channel(16)}) > 0.65F;
  return is_light ? shell::rgb(0x101010) : shell::rgb(0xFFFFFF);
}

shell::Color color_of(const shell::HeatmapImage& image, float value) {
  const float place = view::place_in({.low = image.low, .high = image.high}, image.spread, value);
  return image.color_map[static_cast<std::size_t>(std::lround(place * 255.0F))];
}

void draw_rows_without_weights(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile) {
  ImFont* font = frame.ui.fonts().small;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const CellsInSight cells(list, image);
  if (cells.height < font_size(font) + 1.0F) return;
  for (std::uint32_t row = cells.first_row; row < cells.end_row; ++row) {
    if (!is_without_weights(tile, row)) continue;
    const float left = std::max(image.area.x, cells.low.x);
    const float right = std::min(image.area.x + image.area.width, cells.high.x);
    const shell::UiRect band{.x = left, .y = cells.rect(row, 0).y, .width = right - left, .height = cells.height};
    const char* text = band.width > 80.0F ? "no weights" : "none";
    if (text_width(font, text) < band.width) put_on_plate(list, font, band, frame.ui.theme(), text);
  }
}

void draw_cell_numbers(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile) {
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const CellsInSight cells(list, image);
  ImFont* font = cells.width >= 66.0F ? frame.ui.fonts().mono : frame.ui.fonts().mono_small;
  const std::uint32_t decimals = cells.width >= 56.0F ? 3U : 2U;
  // A large number without its decimals says enough; a small one would be "0".
  const auto fitting = [&](float value) {
    std::string text = cell_number(value, decimals);
    const bool is_large = std::abs(value) >= 9.95F;
    return is_large && text_width(font, text) > cells.width ? cell_number(value, 0) : text;
  };
  for (std::uint32_t row = cells.first_row; row < cells.end_row; ++row) {
    if (is_without_weights(tile, row)) continue;
    const float factor = image.row_scale.empty() ? 1.0F : image.row_scale[row];
    for (std::uint32_t column = cells.first_column; column < cells.end_column; ++column) {
      const float value = tile.at(row, column);
      const shell::UiRect cell = cells.rect(row, column);
      if (!is_masked_here(tile, row, column)) {
        const shell::Color ground = std::isfinite(value) ? color_of(image, value * factor) : view::kNotFinitePacked;
        put(list, font, cell, readable_on(ground), std::isnan(value) ? "NaN" : fitting(value));
      } else if (tile.request.stage == Stage::Masked || (tile.request.stage == Stage::Weights && value >= 0.005F)) {
        put_on_plate(list, font, cell, theme, fitting(value));
      }
    }
  }
}

}  // namespace headlight::app
