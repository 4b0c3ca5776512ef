#include "chart/axis_labels.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>

namespace axis_labels_test {

using namespace headlight::chart;

namespace {

struct Vector {
  double x = 0, y = 0;
};
using Corners = std::array<Vector, 4>;

// The rectangle of a label's text: x along the axis, y across it.
Corners corners(const AxisLabelSpec& spec, const AxisLabels& layout, const AxisLabel& label) {
  const double center = static_cast<double>(label.center), width = static_cast<double>(label.width);
  const double half_line = static_cast<double>(spec.line_height) / 2;
  if (spec.side == AxisSide::Rows) {
    return {{{0, center - half_line}, {width, center - half_line}, {width, center + half_line}, {0, center + half_line}}};
  }
  if (layout.angle == LabelAngle::Horizontal) {
    return {{{center - width / 2, 0},
             {center + width / 2, 0},
             {center + width / 2, 2 * half_line},
             {center - width / 2, 2 * half_line}}};
  }
  const double angle = static_cast<double>(degrees(layout.angle)) * 3.14159265358979 / 180;
  const Vector along = {std::cos(angle), std::sin(angle)},
               across = {-std::sin(angle) * half_line, std::cos(angle) * half_line};
  return {{{center - across.x, -across.y},
           {center + along.x * width - across.x, along.y * width - across.y},
           {center + along.x * width + across.x, along.y * width + across.y},
           {center + across.x, across.y}}};
}

// Separating axes of two convex quadrilaterals.
bool overlap(const Corners& a, const Corners& b) {
  for (const Corners* shape : {&a, &b}) {
    for (std::size_t i = 0; i < 4; ++i) {
      const Vector edge = {(*shape)[(i + 1) % 4].x - (*shape)[i].x, (*shape)[(i + 1) % 4].y - (*shape)[i].y};
      const double length = std::hypot(edge.x, edge.y);
      if (length < 1e-9) continue;
      const Vector normal = {-edge.y / length, edge.x / length};
      const auto range = [&](const Corners& corners_of) {
        double low = 1e30, high = -1e30;
        for (const Vector& corner : corners_of) {
          const double at = corner.x * normal.x + corner.y * normal.y;
          low = std::min(low, at);
          high = std::max(high, at);
        }
        return std::pair(low, high);
      };
      const auto [a_low, a_high] = range(a);
      const auto [b_low, b_high] = range(b);
      if (a_high <= b_low + 1e-3 || b_high <= a_low + 1e-3) return false;
    }
  }
  return true;
}

AxisLabelSpec make_spec(AxisSide side, std::span<const float> widths, float cell) {
  AxisLabelSpec spec;
  spec.side = side;
  spec.count = static_cast<std::uint32_t>(widths.size());
  spec.widths = widths;
  spec.cell_size = cell;
  spec.length = cell * static_cast<float>(widths.size());
  spec.line_height = 14.0F;
  spec.digit_width = 7.0F;
  spec.max_extent = 120.0F;
  return spec;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("no two labels overlap, from one token to thousands, at any cell size") {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> token_width(4.0F, 300.0F);
    for (const std::uint32_t count : {1U, 2U, 3U, 7U, 12U, 60U, 99U, 100U, 101U, 400U, 1000U, 5000U}) {
      std::vector<float> widths(count);
      for (float& width : widths) width = token_width(random);
      for (float cell = 0.05F; cell < 400.0F; cell *= 1.31F) {
        for (const AxisSide side : {AxisSide::Columns, AxisSide::Rows}) {
          CAPTURE(count);
          CAPTURE(cell);
          AxisLabelSpec spec = make_spec(side, widths, cell);
          if (count % 2 == 1) spec.origin = -0.37F * spec.length;
          const AxisLabels layout = lay_out_labels(spec);
          bool is_clear = true;
          for (std::size_t i = 1; i < layout.labels.size(); ++i) {
            is_clear =
                is_clear && !overlap(corners(spec, layout, layout.labels[i - 1]), corners(spec, layout, layout.labels[i]));
          }
          CHECK(is_clear);
          CHECK(layout.extent <= spec.max_extent + 1e-3F);
          for (const AxisLabel& label : layout.labels) {
            if (label.index % layout.step != 0 || label.center < 0 || label.center > spec.length)
              FAIL("a label out of place");
          }
        }
      }
    }
  }

  TEST_CASE("token labels are at 0°, then 45°, then 90°, then indices at steps") {
    const std::vector<float> widths = {20.0F, 35.0F, 30.0F, 28.0F};
    const auto angle = [&](float cell) { return lay_out_labels(make_spec(AxisSide::Columns, widths, cell)).angle; };
    CHECK(angle(40.0F) == LabelAngle::Horizontal);
    CHECK(angle(30.0F) == LabelAngle::Diagonal);
    CHECK(angle(15.0F) == LabelAngle::Vertical);
    const std::vector<float> many(400, 30.0F);
    const AxisLabels thinned = lay_out_labels(make_spec(AxisSide::Columns, many, 2.0F));
    CHECK(thinned.shows_indices);
    CHECK(thinned.step == 20);  // three digits of 7 and a gap of 4 need 25 pixels: 20 cells of 2
    REQUIRE(thinned.labels.size() == 20);
    CHECK(thinned.labels[1].index == 20);
    const AxisLabels rows = lay_out_labels(make_spec(AxisSide::Rows, many, 2.0F));
    CHECK(rows.step == 20);  // 1.6 lines of 14 need 22 pixels
  }

  TEST_CASE("columns of vertical labels are thinned like rows where the gap requires it") {
    const std::vector<float> many(200, 30.0F);
    for (float cell = 0.5F; cell < 14.0F; cell += 0.25F) {
      CAPTURE(cell);
      AxisLabelSpec columns = make_spec(AxisSide::Columns, many, cell);
      columns.digit_width = 0.0F;
      columns.gap = kThinnedAir * columns.line_height;
      CHECK(lay_out_labels(columns).step == lay_out_labels(make_spec(AxisSide::Rows, many, cell)).step);
    }
  }

  TEST_CASE("a given minimum step is kept") {
    const std::vector<float> many(400, 30.0F);
    AxisLabelSpec spec = make_spec(AxisSide::Columns, many, 2.0F);
    spec.least_step = 50;
    CHECK(lay_out_labels(spec).step == 50);
  }

  TEST_CASE("long labels are shortened to the available room") {
    const std::vector<float> widths = {20.0F, 900.0F};
    const AxisLabels rows = lay_out_labels(make_spec(AxisSide::Rows, widths, 20.0F));
    REQUIRE(rows.labels.size() == 2);
    CHECK_FALSE(rows.labels[0].is_short);
    CHECK(rows.labels[1].is_short);
    CHECK(rows.labels[1].width == 120.0F);
  }

  TEST_CASE("scrolling keeps angle and step and shows only visible cells") {
    const std::vector<float> widths(50, 40.0F);
    AxisLabelSpec spec = make_spec(AxisSide::Columns, widths, 22.0F);
    const AxisLabels whole = lay_out_labels(spec);
    spec.origin = -220.0F;
    spec.length = 110.0F;
    const AxisLabels part = lay_out_labels(spec);
    CHECK(part.angle == whole.angle);
    REQUIRE(part.labels.size() == 5);
    CHECK(part.labels.front().index == 10);
    CHECK(part.labels.front().center == doctest::Approx(11.0F));
  }

  TEST_CASE("an axis without token labels has indices, an empty one has no labels") {
    AxisLabelSpec spec = make_spec(AxisSide::Columns, {}, 30.0F);
    spec.count = 8;
    spec.length = 240.0F;
    const AxisLabels layout = lay_out_labels(spec);
    CHECK(layout.shows_indices);
    CHECK(layout.labels.size() == 8);
    CHECK(lay_out_labels({}).labels.empty());
  }
}

}  // namespace axis_labels_test
