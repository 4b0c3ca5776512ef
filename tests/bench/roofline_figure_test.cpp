#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/error_message.h"
#include "support/random.h"
#include "tools/bench/roofline_figure.h"

namespace roofline_figure_test {

using namespace headlight;
using namespace headlight::bench;
using namespace headlight::exporting;

namespace {

RooflineFigure small_figure() {
  RooflineFigure figure;
  figure.title = "A device";
  figure.arithmetic = {{.name = "multiply-adds", .rate = 100.0}};
  figure.memory = {{.name = "copy", .rate = 10.0}};
  figure.series = {"gemm", "scores"};
  figure.dots = {{.intensity = 8.0, .gflops = 40.0, .label = "64\u00D7512", .series = 0},
                 {.intensity = 0.5, .gflops = 4.0, .label = "16\u00D7512", .series = 1}};
  return figure;
}

std::string svg_of(const RooflineFigure& figure) { return encode(*make_drawing(figure), DrawingFormat::Svg); }

bool overlap(const Rect& one, const Rect& other) {
  return one.origin.x < other.end().x && other.origin.x < one.end().x && one.origin.y < other.end().y &&
         other.origin.y < one.end().y;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a roofline names its roofs with their rates, its series and its dots") {
    const std::string svg = svg_of(small_figure());
    for (const char* text : {">multiply-adds: 100 GFLOP/s</text>", ">copy: 10 GB/s</text>", ">gemm</text>", ">scores</text>",
                             ">64\u00D7512</text>", ">16\u00D7512</text>", ">GFLOP/s</text>"}) {
      CAPTURE(text);
      CHECK(svg.find(text) != std::string::npos);
    }
  }

  TEST_CASE("what can't be drawn on logarithmic axes is refused") {
    const auto refusal = [](auto change) {
      RooflineFigure figure = small_figure();
      change(figure);
      return test::error_message([&] { static_cast<void>(make_drawing(figure)); });
    };
    CHECK(refusal([](RooflineFigure& figure) { figure.memory.clear(); }) ==
          "a roofline needs a roof of arithmetic and of memory");
    CHECK(refusal([](RooflineFigure& figure) { figure.memory.front().rate = 0.0; }) ==
          "the roof 'copy' is at 0, not above 0");
    CHECK(refusal([](RooflineFigure& figure) { figure.dots[1].gflops = -1.0; }) ==
          "the dot '16\u00D7512' isn't above 0 in both axes");
    CHECK(refusal([](RooflineFigure& figure) { figure.dots[1].series = 2; }) ==
          "the dot '16\u00D7512' is of a series that the figure lacks");
    CHECK(refusal([](RooflineFigure&) {}).empty());
  }

  TEST_CASE("labels meet no other label, no dot and no line, and most find room among sixty dots") {
    test::Random random(3);
    const Rect area{.origin = {0.0F, 0.0F}, .size = {760.0F, 520.0F}};
    for (int round = 0; round < 20; ++round) {
      std::vector<glm::vec2> dots, obstacles;
      std::vector<float> widths;
      for (int i = 0; i < 60; ++i) {  // in a few heaps, as kernels of one shape are
        const glm::vec2 heap(120.0F * static_cast<float>(1 + i % 5), 90.0F * static_cast<float>(1 + i % 4));
        dots.push_back(heap + 30.0F * glm::vec2(random.number(), random.number()));
        widths.push_back(40.0F);
      }
      for (int i = 0; i < 380; ++i) obstacles.emplace_back(2.0F * static_cast<float>(i), 60.0F);
      const std::vector<PlacedLabel> labels = place_labels(dots, widths, 11.0F, area, obstacles);
      CHECK(labels.size() >= 57);
      std::set<std::size_t> labelled;
      for (const PlacedLabel& label : labels) {
        CHECK(labelled.insert(label.dot).second);
        CHECK(label.box.end().x <= area.end().x);
        CHECK(label.box.origin.y >= 0.0F);
        CHECK(std::ranges::none_of(dots, [&](glm::vec2 dot) { return label.box.contains(dot); }));
        CHECK(std::ranges::none_of(obstacles, [&](glm::vec2 point) { return label.box.contains(point); }));
        CHECK(std::ranges::count_if(labels, [&](const PlacedLabel& other) { return overlap(label.box, other.box); }) == 1);
      }
    }
    // Without any room there is no label rather than one on top of another.
    const std::vector<glm::vec2> heap(9, glm::vec2(10.0F, 10.0F));
    CHECK(place_labels(heap, std::vector(9, 40.0F), 11.0F, {.origin = {0.0F, 0.0F}, .size = {60.0F, 40.0F}}, {}).size() < 9);
  }
}

}  // namespace roofline_figure_test
