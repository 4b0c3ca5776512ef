// A plane of heads against points whose plane is known.
#include <cmath>

#include <doctest/doctest.h>

#include "app/data/survey/head_plane.h"

namespace head_plane_test {

using headlight::app::head_plane;

double distance(const std::pair<double, double>& a, const std::pair<double, double>& b) {
  return std::hypot(a.first - b.first, a.second - b.second);
}

TEST_SUITE("cpu") {
  TEST_CASE("a rectangle that is turned into five dimensions lies flat again, its long side first") {
    // Corners of a rectangle of 4 × 3, along two perpendicular unit vectors of ℝ⁵, somewhere in space.
    const std::vector<double> along{0.5, 0.5, 0.5, 0.5, 0.0}, up{0.5, -0.5, 0.5, -0.5, 0.0}, at{7.0, -2.0, 0.0, 1.0, 9.0};
    std::vector<std::vector<double>> corners;
    for (const auto& [x, y] : std::vector<std::pair<double, double>>{{0, 0}, {4, 0}, {4, 3}, {0, 3}}) {
      std::vector<double>& corner = corners.emplace_back();
      for (std::size_t i = 0; i < at.size(); ++i) corner.push_back(at[i] + x * along[i] + y * up[i]);
    }
    const auto plane = head_plane(corners);
    REQUIRE(plane.size() == 4);
    CHECK(distance(plane[0], plane[1]) == doctest::Approx(4.0));
    CHECK(distance(plane[1], plane[2]) == doctest::Approx(3.0));
    CHECK(distance(plane[0], plane[2]) == doctest::Approx(5.0));
    CHECK(distance(plane[1], plane[3]) == doctest::Approx(5.0));
    CHECK(std::abs(plane[0].first) == doctest::Approx(2.0));
    CHECK(std::abs(plane[0].second) == doctest::Approx(1.5));
  }

  TEST_CASE("few points of many numbers and many points of few give the same distances") {
    std::vector<std::vector<double>> narrow, wide;
    for (int i = 0; i < 7; ++i) {
      narrow.push_back({std::sin(i), std::cos(2.0 * i)});
      wide.push_back(narrow.back());
      wide.back().resize(20, 5.0);  // which distinguish none
    }
    const auto a = head_plane(narrow), b = head_plane(wide);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double true_distance = std::hypot(narrow[i][0] - narrow[j][0], narrow[i][1] - narrow[j][1]);
        CHECK(distance(a[i], a[j]) == doctest::Approx(true_distance));
        CHECK(distance(b[i], b[j]) == doctest::Approx(true_distance));
      }
    }
  }

  TEST_CASE("points that are all one, and too few or too many") {
    for (const auto& [x, y] : head_plane({{1.0, 2.0}, {1.0, 2.0}, {1.0, 2.0}})) {
      CHECK(x == doctest::Approx(0.0));
      CHECK(y == doctest::Approx(0.0));
    }
    CHECK(head_plane({}).empty());
    CHECK(head_plane({{1.0}, {2.0}}).empty());
    CHECK(head_plane({{}, {}, {}}).empty());
    CHECK(head_plane({{1.0}, {2.0}, {4.0}}).size() == 3);
    CHECK(head_plane(std::vector<std::vector<double>>(1'300, std::vector<double>(1'300, 1.0))).empty());
  }
}

}  // namespace head_plane_test
