// Grids as values: colours, CSV, parts, figures, and their layout without a device.
#include "app/shapes/grid.h"

#include <doctest/doctest.h>

namespace grid_test {

using namespace headlight;
using namespace headlight::app;

namespace {

Grid layers_and_heads() {
  Grid grid{.title = "score, nats"};
  grid.rows = {.title = "layer", .tokens = {"0", "1", "2"}};
  grid.columns = {.title = "head", .tokens = {"0", "1"}};
  grid.cells = {{0.5, -2.0}, {std::nullopt, 0.0}, {1.0}};
  return grid;
}

/// Many tokens by layers.
Grid texts(std::size_t rows, std::size_t columns) {
  Grid grid{.is_signed = false};
  grid.rows.tokens.assign(rows, "layer 10");
  grid.columns.tokens.assign(columns, "a long token");
  grid.cells.assign(rows, std::vector<std::optional<double>>(columns, 0.5));
  grid.texts.assign(rows, std::vector<std::string>(columns, "word\n50 %"));
  return grid;
}

float width_of(std::string_view text) { return 6.0F * static_cast<float>(text.size()); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("colours reach as far as the largest number, from 0 or around it, or as far as is said") {
    Grid grid = layers_and_heads();
    CHECK(grid.ends() == std::pair(-2.0, 2.0));
    CHECK(grid.ends(3.0) == std::pair(-3.0, 3.0));
    CHECK(grid.share(0.0, grid.ends()) == 0.5);
    CHECK(grid.share(-2.0, grid.ends()) == 0.0);
    CHECK(grid.share(9.0, grid.ends()) == 1.0);
    CHECK(grid.share(0.0, {0.0, 0.0}) == 0.5);
    grid.is_signed = false;
    CHECK(grid.ends() == std::pair(0.0, 2.0));
    CHECK(grid.share(0.5, grid.ends()) == 0.25);
    grid.has_log_colors = true;
    CHECK(grid.share(0.5, grid.ends()) == doctest::Approx(std::log(1.5) / std::log(3.0)));
    grid.limits = chart::ValueLimits{.low = -4.0F, .high = 0.0F};
    CHECK(grid.ends() == std::pair(-4.0, 0.0));
  }

  TEST_CASE("a grid is copied with the names of both axes, nothing where a number isn't known, and has a figure") {
    const Grid grid = layers_and_heads();
    CHECK(csv(grid.table()) == "layer,0,1\n0,0.5,-2\n1,,0\n2,1,\n");
    const exporting::HeatmapFigure figure = grid.figure();
    CHECK(figure.value_title == "score, nats");
    CHECK(figure.map.values == std::vector<float>{0.5F, -2.0F, 0.0F, 0.0F, 1.0F, 0.0F});
    CHECK(figure.map.masked == std::vector<std::uint8_t>{0, 0, 1, 0, 0, 1});
    CHECK(texts(1, 2).figure().texts == std::vector<std::string>{"word", "word"});
  }

  TEST_CASE("a part has its own names, numbers and texts") {
    Grid grid = texts(4, 5);
    grid.cells[2][1] = 0.25;
    grid.columns.tokens[1] = "b";
    const Grid part = part_of(grid, {.first_row = 2, .end_row = 4, .first_column = 1, .end_column = 3});
    CHECK(part.cells == std::vector<std::vector<std::optional<double>>>{{0.25, 0.5}, {0.5, 0.5}});
    CHECK(part.columns.tokens == std::vector<std::string>{"b", "a long token"});
    CHECK(part.rows.tokens.size() == 2);
    CHECK(part.texts.size() == 2);
  }

  TEST_CASE("at any width cells don't touch, names are beside their cells, and a part has each cell that is seen") {
    std::size_t names = 0;
    for (const GridKind kind : {GridKind::Numbers, GridKind::TextRows, GridKind::Texts}) {
      for (float room = 100.0F; room < 2000.0F; room += 50.0F) {
        const Grid grid = kind == GridKind::Numbers ? layers_and_heads() : texts(9, 30);
        const GridLayout layout(grid, {.width = width_of, .room = {room, 300.0F}, .kind = kind});
        const chart::Rect first = layout.cell({0, 0}), next = layout.cell({1, 1});
        CHECK(first.origin == glm::vec2(0.0F));
        CHECK(first.end().x < next.origin.x);
        CHECK(first.end().y < next.origin.y);
        const glm::vec2 from(70.0F, 30.0F), end(200.0F, 90.0F);
        const GridPart part = layout.part(from, end);
        for (std::size_t row = 0; row < grid.cells.size(); ++row) {
          for (std::size_t column = 0; column < grid.columns.tokens.size(); ++column) {
            const chart::Rect box = layout.cell({row, column});
            const bool is_seen =
                box.end().x > from.x && box.origin.x < end.x && box.end().y > from.y && box.origin.y < end.y;
            const bool is_in =
                row >= part.first_row && row < part.end_row && column >= part.first_column && column < part.end_column;
            if (is_seen) CHECK(is_in);
          }
        }
        float last = -1e9F;
        for (const GridName& name : layout.names(part, false)) {
          CHECK(name.at.x >= last);
          last = name.at.x + width_of(name.text);
          CHECK(name.at.y + 12.0F <= 0.0F);
          ++names;
        }
        last = -1e9F;
        for (const GridName& name : layout.names(part, true)) {
          CHECK(name.at.x >= -layout.corner().x - 0.5F);
          CHECK(name.at.x + width_of(name.text) < 0.0F);
          CHECK(name.at.y >= last - 1.0F);
          last = name.at.y + 12.0F;
          ++names;
        }
      }
    }
    CHECK(names > 200);
  }

  TEST_CASE("rows that texts name are as high as their room lets them be, within limits") {
    const Grid grid = texts(10, 4);
    const auto row_in = [&](float height) {
      return GridLayout(grid, {.width = width_of, .room = {600.0F, height}, .kind = GridKind::TextRows}).cell({0, 0}).size.y;
    };
    CHECK(row_in(100.0F) == 18.0F);  // they scroll
    CHECK(row_in(318.0F) == 28.0F);
    CHECK(row_in(2000.0F) == 36.0F);
  }
}

}  // namespace grid_test
