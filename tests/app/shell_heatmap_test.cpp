#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "app/shell_stage.h"
#include "chart/color.h"
#include "core/error.h"

namespace shell_heatmap_test {

using namespace headlight::shell;
namespace chart = headlight::chart;

TEST_SUITE_BEGIN("gpu");

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Matrix {
  std::uint32_t rows = 4;
  std::uint32_t columns = 5;
  std::vector<float> values = std::vector<float>(20);
  std::vector<std::uint8_t> masked = std::vector<std::uint8_t>(20);
  std::array<std::uint32_t, 256> table = ramp();

  Matrix() {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 19.0F;
  }

  HeatmapImage image() const {
    HeatmapImage result;
    use_theme(result, theme_of(ThemeKind::Light));
    result.key = 7;
    result.revision = 1;
    result.rows = rows;
    result.columns = columns;
    result.values = values;
    result.masked = masked;
    result.color_map = table;
    result.area = {{40, 60}, {200, 160}};
    return result;
  }
};

std::uint32_t center_of(const PixelImage& pixels, const HeatmapImage& image, std::uint32_t row, std::uint32_t column,
                        float scale = 1.0F) {
  const chart::Rect cell = HeatmapRenderer::cell_rect(image, row, column);
  return pixels.at(static_cast<std::uint32_t>((cell.origin.x + cell.size.x / 2) * scale),
                   static_cast<std::uint32_t>((cell.origin.y + cell.size.y / 2) * scale));
}

PixelImage draw(Stage& stage, const HeatmapImage& image) {
  return stage.draw([&] { stage.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image); });
}

}  // namespace

TEST_CASE("a cell has its value's colour, at every scale") {
  Stage stage;
  const Matrix matrix;
  const HeatmapImage image = matrix.image();
  for (const float scale : {1.0F, 1.25F, 2.0F}) {
    stage.scale = scale;
    const PixelImage pixels = draw(stage, image);
    for (std::uint32_t i = 0; i < 20; ++i) {
      CAPTURE(i);
      const auto step = static_cast<std::size_t>(std::lround(matrix.values[i] * 255.0F));
      CHECK(largest_difference(center_of(pixels, image, i / 5, i % 5, scale), matrix.table[step]) <= 2);
    }
  }
}

TEST_CASE("range, row scale and special values") {
  Stage stage;
  Matrix matrix;
  matrix.values = {-kInfinity, -3, 1, 2, 5, kInfinity, 9, std::nanf(""), 3, 3, 0.2F, 0.1F, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<float> row_scale{1, 1, 20, 1};
  HeatmapImage image = matrix.image();
  image.low = 1;
  image.high = 5;
  image.row_scale = row_scale;
  const PixelImage pixels = draw(stage, image);
  const auto step_at = [&](std::uint32_t row, std::uint32_t column) {
    return center_of(pixels, image, row, column) & 0xFFU;
  };
  CHECK(center_of(pixels, image, 0, 0) == chart::kNotFinitePacked);
  CHECK(step_at(0, 1) == 0);
  CHECK(step_at(0, 2) == 0);
  CHECK(step_at(0, 3) == 64);
  CHECK(step_at(0, 4) == 255);
  CHECK(center_of(pixels, image, 1, 0) == chart::kNotFinitePacked);
  CHECK(step_at(1, 1) == 255);
  CHECK(center_of(pixels, image, 1, 2) == chart::kNotFinitePacked);
  CHECK(step_at(2, 0) == 191);
  CHECK(step_at(2, 1) == 64);
}

TEST_CASE("what isn't finite is in no colour map, is not the ground of masked cells, and survives sharing a pixel") {
  for (const chart::ColorMap map : chart::kColorMaps) {
    for (const std::uint32_t color : chart::table(map)) CHECK(largest_difference(color, chart::kNotFinitePacked) > 60);
  }
  for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
    for (const Color color : {theme_of(kind).hatch, theme_of(kind).hatch_ground, theme_of(kind).missing})
      CHECK(largest_difference(color, chart::kNotFinitePacked) > 60);
  }
  Stage stage;
  Matrix matrix;
  std::fill(matrix.values.begin(), matrix.values.end(), 1.0F);
  matrix.values[6] = std::nanf("");
  matrix.values[7] = std::nanf("");
  matrix.masked[7] = 1;
  HeatmapImage image = matrix.image();
  PixelImage pixels = draw(stage, image);
  CHECK(center_of(pixels, image, 1, 1) == chart::kNotFinitePacked);
  CHECK(center_of(pixels, image, 1, 2) != chart::kNotFinitePacked);  // masked
  image.area = {.origin = {10.0F, 10.0F}, .size = {2.0F, 2.0F}};
  pixels = draw(stage, image);
  CHECK(pixels.at(10, 10) == chart::kNotFinitePacked);
}

TEST_CASE("masked and zero differ") {
  Stage stage;
  Matrix matrix;
  std::fill(matrix.values.begin(), matrix.values.end(), 0.0F);
  matrix.masked[12] = 1;
  const HeatmapImage image = matrix.image();
  const PixelImage pixels = draw(stage, image);
  std::set<std::uint32_t> colors;
  const chart::Rect cell = HeatmapRenderer::cell_rect(image, 2, 2);
  for (std::uint32_t y = 4; y < 36; ++y) {
    for (std::uint32_t x = 4; x < 36; ++x) {
      const std::uint32_t color =
          pixels.at(static_cast<std::uint32_t>(cell.origin.x) + x, static_cast<std::uint32_t>(cell.origin.y) + y);
      CHECK_FALSE(largest_difference(color, matrix.table[0]) <= 40);
      colors.insert(color);
    }
  }
  CHECK(colors.contains(image.hatch));
  CHECK(colors.contains(image.hatch_ground));
  CHECK(center_of(pixels, image, 2, 1) == matrix.table[0]);
  CHECK(center_of(pixels, image, 2, 3) == matrix.table[0]);
}

TEST_CASE("lines part large cells only, the crosshair leaves its cells alone") {
  Stage stage;
  Matrix matrix;
  HeatmapImage image = matrix.image();
  image.grid = rgb(0x010203);
  image.crosshair = rgb(0xFF0000);
  image.crosshair_row = 1;
  image.crosshair_column = 3;
  PixelImage pixels = draw(stage, image);
  CHECK(pixels.at(80, 75) == rgb(0x010203));
  CHECK(pixels.at(79, 75) != rgb(0x010203));
  CHECK(pixels.at(45, 60 + 39) == rgb(0xFF0000));  // above row 1
  CHECK(pixels.at(45, 60 + 80) == rgb(0xFF0000));  // below it
  CHECK(pixels.at(40 + 119, 75) == rgb(0xFF0000));
  CHECK(largest_difference(center_of(pixels, image, 1, 3), matrix.table[107]) <= 2);
  image.grid_from = 41;
  pixels = draw(stage, image);
  CHECK(pixels.at(80, 75) != rgb(0x010203));
}

TEST_CASE("nothing is drawn beyond the clip, and ImGui draws on as before") {
  Stage stage;
  const Matrix matrix;
  HeatmapImage image = matrix.image();
  image.area = {{-1000, -1000}, {4000, 4000}};  // zoomed in
  image.clip = chart::Rect{{100, 100}, {60, 50}};
  const PixelImage pixels = stage.draw([&] {
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({200, 100}, {220, 120}, rgb(0x00FF00));
    stage.ui.heatmaps().draw(list, image);
    list->AddRectFilled({230, 100}, {250, 120}, rgb(0x0000FF));
  });
  const Color panel = stage.ui.theme().panel;
  CHECK(pixels.at(99, 120) == panel);
  CHECK(pixels.at(160, 120) == panel);
  CHECK(pixels.at(120, 99) == panel);
  CHECK(pixels.at(120, 150) == panel);
  CHECK(largest_difference(pixels.at(130, 120), matrix.table[81]) <= 2);  // row 1, column 1: 6 / 19
  CHECK(pixels.at(210, 110) == rgb(0x00FF00));
  CHECK(pixels.at(240, 110) == rgb(0x0000FF));
}

TEST_CASE("values are uploaded once, and again when the revision changes") {
  Stage stage;
  Matrix matrix;
  HeatmapImage image = matrix.image();
  draw(stage, image);
  CHECK(stage.ui.heatmaps().uploads() == 1);
  draw(stage, image);
  CHECK(stage.ui.heatmaps().uploads() == 1);
  matrix.values[0] = 1.0F;
  CHECK(center_of(draw(stage, image), image, 0, 0) == matrix.table[0]);
  image.revision = 2;
  CHECK(center_of(draw(stage, image), image, 0, 0) == matrix.table[255]);
  CHECK(stage.ui.heatmaps().uploads() == 2);
  CHECK(stage.ui.heatmaps().cached_heatmaps() == 1);
  CHECK(stage.ui.heatmaps().cached_bytes() == 80);
  image.high = 2.0F;  // the same values in other colours
  CHECK(center_of(draw(stage, image), image, 0, 0) == matrix.table[128]);
  CHECK(stage.ui.heatmaps().uploads() == 3);
  image.crosshair_row = 1;  // needs none
  draw(stage, image);
  CHECK(stage.ui.heatmaps().uploads() == 3);
}

TEST_CASE("a device with short texel buffers draws the same") {
  const Matrix matrix;
  HeatmapImage image = matrix.image();
  std::vector<std::uint8_t> masked(20);
  masked[3] = masked[12] = 1;
  image.masked = masked;
  image.rounding = 9.0F;
  image.grid = rgb(0x010203);
  image.crosshair_column = 2;
  std::vector<std::uint8_t> texels;
  for (const bool is_short : {false, true}) {
    Stage stage{.device = RenderDevice({.validation = true, .has_short_texel_buffers = is_short})};
    const PixelImage pixels = draw(stage, image);
    if (texels.empty()) texels = pixels.rgba;
    CHECK(pixels.rgba == texels);
    CHECK(center_of(pixels, image, 0, 4) == matrix.table[54]);
  }
}

TEST_CASE("400 thumbnails fit, large ones push out what isn't shown any more, the largest is missing") {
  Stage stage;
  const Matrix matrix;
  stage.settle([&] {
    for (std::uint64_t i = 0; i < 400; ++i) {
      HeatmapImage image = matrix.image();
      image.key = i;
      image.area = {{static_cast<float>(i % 25) * 24 + 8, static_cast<float>(i / 25) * 24 + 8}, {20, 20}};
      stage.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
    }
  });
  CHECK(stage.ui.heatmaps().cached_heatmaps() == 400);

  const std::vector<float> many(std::size_t{4096} * 4096, 0.25F);
  HeatmapImage large = matrix.image();
  large.rows = 4096;
  large.columns = 4096;
  large.values = many;
  large.masked = {};
  for (std::uint64_t key = 1000; key < 1003; ++key) {
    large.key = key;
    CHECK(largest_difference(draw(stage, large).at(100, 100), matrix.table[64]) <= 2);
  }
  CHECK(stage.ui.heatmaps().cached_bytes() <= std::size_t{96} << 20);

  const std::vector<float> too_many(std::size_t{8192} * 4096, 0.25F);
  large.key = 2000;
  large.rows = 8192;
  large.values = too_many;
  CHECK(draw(stage, large).at(100, 100) == large.missing);
}

TEST_CASE("a peak among cells smaller than a pixel is seen") {
  Stage stage;
  const Matrix matrix;
  std::vector<float> values(std::size_t{400} * 400, 0.0F);
  values[std::size_t{201} * 400 + 201] = 1.0F;
  HeatmapImage image = matrix.image();
  image.rows = image.columns = 400;
  image.values = values;
  image.masked = {};
  image.area = {{40, 60}, {200, 200}};
  CHECK(draw(stage, image).at(140, 160) == matrix.table[255]);
}

TEST_CASE("a heatmap whose numbers don't fit its shape is refused in one line") {
  Stage stage;
  const Matrix matrix;
  HeatmapImage image = matrix.image();
  image.columns = 6;
  CHECK_THROWS_WITH_AS(stage.ui.heatmaps().draw(nullptr, image),
                       "heatmap 7 of 4 x 6 cells: values has 20 entries instead of 24", headlight::Error);
  image = matrix.image();
  image.color_map = image.color_map.first(2);
  CHECK_THROWS_WITH_AS(stage.ui.heatmaps().draw(nullptr, image),
                       "heatmap 7 of 4 x 5 cells: color_map has 2 entries instead of 256", headlight::Error);
}

TEST_SUITE_END();

}  // namespace shell_heatmap_test
