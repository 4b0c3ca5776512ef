#include "chart/viewport.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

namespace viewport_test {

using namespace headlight::chart;

namespace {

constexpr Rect kArea = {{10.0F, 20.0F}, {600.0F, 400.0F}};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a rectangle contains its left and upper edge only, and shares what both cover") {
    CHECK(kArea.contains({10.0F, 20.0F}));
    CHECK(kArea.contains({609.0F, 419.0F}));
    CHECK_FALSE(kArea.contains({610.0F, 100.0F}));
    CHECK_FALSE(kArea.contains({100.0F, 420.0F}));
    CHECK_FALSE(kArea.contains({std::numeric_limits<float>::quiet_NaN(), 100.0F}));
    CHECK(kArea.center() == glm::vec2(310.0F, 220.0F));
    CHECK(intersection(kArea, {{600.0F, 0.0F}, {50.0F, 50.0F}}) == Rect{{600.0F, 20.0F}, {10.0F, 30.0F}});
    CHECK(intersection(kArea, {{700.0F, 30.0F}, {5.0F, 5.0F}}).is_empty());
    CHECK_FALSE(kArea.is_empty());
    CHECK(Rect{}.is_empty());
  }

  TEST_CASE("a matrix fits with square cells, centred") {
    const Viewport viewport(kArea, 10, 10);
    CHECK(viewport.cell_size().x == 40.0F);
    CHECK(viewport.cell_size().y == 40.0F);
    CHECK(viewport.matrix().origin.x == doctest::Approx(110.0F));
    CHECK(viewport.matrix().origin.y == doctest::Approx(20.0F));
    CHECK(Viewport(kArea, 1, 1).cell_size().x == Viewport::kMaxCell);
  }

  TEST_CASE("few cells are larger than many in the same room") {
    const Rect room{.origin = {0.0F, 0.0F}, .size = {1000.0F, 1000.0F}};
    CHECK(Viewport(room, 2, 2).cell_size().x == Viewport::kMaxCell);
    CHECK(Viewport(room, 3, 3).cell_size().y == Viewport::kMaxCell);
    CHECK(Viewport(room, 4, 4).cell_size().x == 120.0F);
    CHECK(Viewport(room, 6, 6).cell_size().x == 96.0F);
    CHECK(Viewport(room, 2, 6).cell_size().y == 96.0F);
    CHECK(Viewport(room, 20, 20).cell_size().x == 50.0F);
  }

  TEST_CASE("cells are rectangles where squares would leave most of the area empty, of 4:1 or with room for a name") {
    const Viewport tall(kArea, 400, 8);
    CHECK(tall.cell_size().y == doctest::Approx(1.0F));
    CHECK(tall.cell_size().x == doctest::Approx(18.0F));
    const Viewport speech(kArea, 9, 1500);
    CHECK(speech.cell_size().x == doctest::Approx(0.4F));
    CHECK(speech.cell_size().y == doctest::Approx(18.0F));
    // Each side is pooled by itself.
    CHECK(speech.visible_region() == Region{0, 9, 0, 1500, 1, 4});
    CHECK(speech.visible_region(2.0F) == Region{0, 9, 0, 1500, 1, 2});
    // Zooming widens the narrow side, until cells are squares; what is under the pointer stays there.
    const glm::vec2 point(200.0F, 220.0F);
    const auto under = speech.cell_at(point);
    REQUIRE(under);
    for (const float factor : {2.0F, 10.0F, 45.0F, 100.0F}) {
      CAPTURE(factor);
      const Viewport closer = speech.zoomed_at(point, factor);
      CHECK(closer.cell_size().x == doctest::Approx(0.4F * factor));
      CHECK(closer.cell_size().y == doctest::Approx(std::max(18.0F, 0.4F * factor)));
      CHECK(closer.cell_at(point) == under);
    }
    CHECK(speech.max_zoom() == doctest::Approx(400.0F));
    const Viewport wide(kArea, 4, 40);
    CHECK(wide.cell_size().x == doctest::Approx(15.0F));
    CHECK(wide.cell_size().y == doctest::Approx(60.0F));
  }

  TEST_CASE("every cell's centre is that cell, points outside are none") {
    const Viewport viewport = Viewport(kArea, 7, 13).zoomed_at({200.0F, 100.0F}, 1.7F);
    int visible = 0;
    for (std::uint32_t row = 0; row < 7; ++row) {
      for (std::uint32_t column = 0; column < 13; ++column) {
        const Rect rect = viewport.rect_of({row, column});
        if (!kArea.contains(rect.center())) continue;
        ++visible;
        CHECK(viewport.cell_at(rect.center()) == CellPosition{row, column});
      }
    }
    CHECK(visible > 20);
    CHECK_FALSE(viewport.cell_at({5.0F, 100.0F}).has_value());
    CHECK_FALSE(Viewport(kArea, 10, 10).cell_at({15.0F, 100.0F}).has_value());
    CHECK_FALSE(Viewport(kArea, 0, 0).cell_at({100.0F, 100.0F}).has_value());
  }

  TEST_CASE("zooming keeps the point under the cursor there") {
    const Viewport fitted(kArea, 100, 100);
    const glm::vec2 cursor = {250.0F, 260.0F};
    const auto in_matrix = [&](const Viewport& viewport) {
      return (cursor - viewport.matrix().origin) / viewport.cell_size();
    };
    const Viewport closer = fitted.zoomed_at(cursor, 3.0F);
    CHECK(closer.zoom() == doctest::Approx(3.0F));
    CHECK(in_matrix(closer).x == doctest::Approx(in_matrix(fitted).x).epsilon(1e-4));
    CHECK(in_matrix(closer).y == doctest::Approx(in_matrix(fitted).y).epsilon(1e-4));
    const Viewport back = closer.zoomed_at(cursor, 1.0F / 3.0F);
    CHECK(back.matrix().origin.x == doctest::Approx(fitted.matrix().origin.x));
    CHECK(fitted.zoomed_at(cursor, 1e9F).cell_size().x == doctest::Approx(Viewport::kMaxCell));
  }

  TEST_CASE("the matrix stays in view: it is centred while it fits and covers the area when it doesn't") {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> step(-300.0F, 300.0F), factor(0.4F, 2.5F);
    for (const auto& [rows, columns] : {std::pair(1U, 1U), {3U, 900U}, {50U, 50U}, {4096U, 4096U}, {4096U, 3U}}) {
      Viewport viewport(kArea, rows, columns);
      for (int i = 0; i < 300; ++i) {
        viewport = i % 2 == 0 ? viewport.moved({step(random), step(random)})
                              : viewport.zoomed_at({10.0F + std::abs(step(random)), 20.0F + std::abs(step(random))},
                                                   factor(random));
        const Rect all = viewport.matrix();
        const bool covers = all.origin.x <= kArea.origin.x + 0.5F && all.end().x >= kArea.end().x - 0.5F;
        const bool is_centred = std::abs(all.center().x - kArea.center().x) < 0.5F;
        const bool is_placed = all.size.x > kArea.size.x + 0.5F ? covers : is_centred;
        CHECK(is_placed);
        CHECK(viewport.zoom() >= 1.0F);
      }
    }
  }

  TEST_CASE("a cell can be brought into view") {
    const Viewport viewport = Viewport(kArea, 100, 100, 10.0F).revealing({99, 0});
    const Rect rect = viewport.rect_of({99, 0});
    CHECK(rect.origin.x >= kArea.origin.x - 0.01F);
    CHECK(rect.end().y <= kArea.end().y + 0.01F);
    CHECK(Viewport(kArea, 10, 10).revealing({9, 9}).pan().x == 0.0F);
  }

  TEST_CASE("rows and columns before the first one take no room, and the others keep their indices") {
    const Viewport all(kArea, 10, 12);
    const Viewport part(kArea, 14, 15, 1.0F, {}, {.row = 4, .column = 3});
    CHECK(part.shown() == all.matrix());
    CHECK(part.cell_size() == all.cell_size());
    CHECK(part.rect_of({4, 3}).origin == all.rect_of({0, 0}).origin);
    CHECK(part.visible() == all.visible());
    CHECK(part.cell_at(all.rect_of({2, 5}).center()) == CellPosition{.row = 6, .column = 8});
    CHECK(part.visible_region() == Region{4, 10, 3, 12, 1});
    const Viewport zoomed = part.zoomed_at(all.visible().center(), 3.0F);
    CHECK(zoomed.zoom() == doctest::Approx(all.zoomed_at(all.visible().center(), 3.0F).zoom()));
    CHECK(zoomed.fitted().shown() == part.shown());
    CHECK(zoomed.moved({1e4F, 1e4F}).visible_region().row == 4);  // nothing before it comes into sight
    CHECK(zoomed.moved({1e4F, 1e4F}).visible_region().column == 3);
  }

  TEST_CASE("the region is the visible part, pooled to the screen's resolution and aligned") {
    CHECK(Viewport(kArea, 10, 10).visible_region() == Region{0, 10, 0, 10, 1});
    const Viewport large(kArea, 4096, 4096);
    CHECK(large.visible_region() == Region{0, 4096, 0, 4096, 16});  // 400 pixels for 4,096 cells
    CHECK(large.visible_region(2.0F).pool == 8);
    const Viewport closer(kArea, 4096, 4096, 30.0F, {100.0F, -300.0F});
    const Region region = closer.visible_region();
    CHECK(region.pool == 1);
    const Rect first = closer.rect_of({region.row, region.column});
    CHECK(first.origin.x <= kArea.origin.x);
    CHECK(first.end().x > kArea.origin.x);
    CHECK(first.end().y > kArea.origin.y);
    const Rect last = closer.rect_of({region.row + region.rows - 1, region.column + region.columns - 1});
    CHECK(last.origin.x < kArea.end().x);
    CHECK(last.end().x >= kArea.end().x);
    const Region pooled = Viewport(kArea, 4096, 4096, 2.0F, {55.0F, 33.0F}).visible_region();
    CHECK(pooled.pool == 8);
    CHECK(pooled.row % 8 == 0);
    CHECK(pooled.column % 8 == 0);
    CHECK(Viewport(kArea, 0, 0).visible_region().rows == 0);
  }
}

}  // namespace viewport_test
