// The window's pictures against tests/golden/images. The comparison is coarse enough for any driver and font renderer,
// fine enough for a panel that is missing, a heatmap with other colours or in another place. HEADLIGHT_UPDATE_GOLDEN=1
// writes the pictures anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "app/state/map_settings.h"
#include "app/ui_driver.h"
#include "imgui.h"
#include "support/block_colors.h"
#include "support/skip.h"

namespace images_test {

using namespace headlight;
using namespace headlight::app;
using test::BlockColors;

namespace {

// Colours are 0 to 255. Observed: 0 between llvmpipe with vectors of 128 and 256 bits, mean 0.007 and most 1 with
// SwiftShader; a folded panel, another mask or colour map, swapped channels and a shift by one block: mean 6.7 and most 162,
// or more.
constexpr double kMaxMean = 0.5, kMaxOfABlock = 64.0;

State playground() {
  State state = with_text("the quick brown fox jumps over the lazy dog");
  state.playground().settings.d_model = 24;
  state.playground().settings.heads = 4;
  state.playground().settings.layers = 2;
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  return state;
}

BlockColors colors_of(const shell::PixelImage& image) {
  return {image.size.x, image.size.y, [&](std::uint32_t x, std::uint32_t y) {
            const std::uint32_t rgba = image.at(x, y);
            return BlockColors::Rgb{static_cast<std::uint8_t>(rgba), static_cast<std::uint8_t>(rgba >> 8),
                                    static_cast<std::uint8_t>(rgba >> 16)};
          }};
}

/// The window that shows this state, once all is computed. `clicked`: what is clicked before; empty: nothing.
BlockColors window_of(const State& state, const std::string& clicked = "") {
  UiDriver ui(state);
  ui.resize(1280, 800);
  if (!clicked.empty()) ui.click(clicked);
  return colors_of(ui.ui().read_pixels());
}

void check_stored(const std::string& name, const BlockColors& image) {
  const test::ColorDifference off = test::difference_from_stored(name, image);
  INFO(name, ": mean ", off.mean, ", most ", off.most);
  CHECK(off.mean < kMaxMean);
  CHECK(off.most < kMaxOfABlock);
}

void check_told_apart(const BlockColors& left, const BlockColors& right) {
  const test::ColorDifference off = test::difference(left, right);
  INFO("mean ", off.mean, ", most ", off.most);
  CHECK((off.mean >= kMaxMean || off.most >= kMaxOfABlock));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the window looks as stored: views, themes and colour maps") {
    if (std::string_view(IMGUI_VERSION).find("1.86") != 0) {
      return test::skip("stored with Dear ImGui 1.86, this is " IMGUI_VERSION ", which spaces its widgets otherwise");
    }
    State state = playground();
    check_stored("head", window_of(state));
    state.view.theme = Theme::Light;
    state.set(kMapView.color_map, chart::ColorMap::Magma);
    check_stored("head-light", window_of(state));
    state.view.tab = "grid";
    check_stored("grid", window_of(state));
    state.view = {};
    state.set(kMapView.color_map, chart::ColorMap::Viridis);
    state.view.tab = "steps";
    check_stored("steps", window_of(state));
  }

  TEST_CASE("cells of the map are as bright as their weights, with any version of Dear ImGui") {
    UiDriver ui(playground());
    ui.resize(1280, 800);
    const shell::PixelImage image = ui.ui().read_pixels();
    const attention::Tile& tile = weights(ui);
    const chart::Rect map = ui.rect("head.map");
    std::vector<std::pair<float, int>> cells;  // weight, brightness
    for (std::uint32_t query = 0; query < tile.request.rows; ++query) {
      for (std::uint32_t key = 0; key <= query; ++key) {
        const glm::vec2 middle = map.origin + map.size * (glm::vec2(key, query) + glm::vec2(0.12F)) /
                                                  glm::vec2(tile.request.columns, tile.request.rows);
        const std::uint32_t rgba = image.at(static_cast<std::uint32_t>(middle.x), static_cast<std::uint32_t>(middle.y));
        const auto channel = [&](std::uint32_t shift) { return static_cast<int>(rgba >> shift & 0xFFU); };
        cells.emplace_back(tile.at(query, key), 3 * channel(0) + 6 * channel(8) + channel(16));
      }
    }
    std::ranges::sort(cells);
    REQUIRE(cells.size() == 45);
    CHECK(cells.back().second > cells.front().second + 500);
    for (std::size_t i = 1; i < cells.size(); ++i)
      CHECK(cells[i].second >= cells[i - 1].second - 10);  // one step of a channel
  }

  TEST_CASE("what is missing, of another colour or elsewhere is told apart") {
    const BlockColors whole = window_of(playground());
    CHECK(test::difference(whole, window_of(playground())).most == 0.0);
    check_told_apart(whole, window_of(playground(), "chip.mask"));
    State state = playground();
    state.set(kMapView.color_map, chart::ColorMap::Magma);
    check_told_apart(whole, window_of(state));
    state = playground();
    state.masks[model::BlockKind::EncoderSelf].rule.causal = false;
    check_told_apart(whole, window_of(state));
    BlockColors changed = whole;
    for (BlockColors::Rgb& color : changed.means) std::swap(color[0], color[2]);
    check_told_apart(whole, changed);
    changed = whole;
    std::rotate(changed.means.begin(), changed.means.begin() + 1, changed.means.end());
    check_told_apart(whole, changed);
    CHECK_FALSE(test::difference(whole, {}).most < kMaxOfABlock);
  }
}

}  // namespace images_test
