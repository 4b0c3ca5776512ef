#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tools/bench/roofline_figure.h"

namespace headlight::bench {
namespace {

using chart::Rect;

constexpr float kDotRoom = 5.0F;  // around a dot's centre

bool overlap(const Rect& one, const Rect& other) {
  return one.origin.x < other.end().x && other.origin.x < one.end().x && one.origin.y < other.end().y &&
         other.origin.y < one.end().y;
}

bool is_within(const Rect& box, const Rect& area) {
  return box.origin.x >= area.origin.x && box.origin.y >= area.origin.y && box.end().x <= area.end().x &&
         box.end().y <= area.end().y;
}

/// The box whose nearest point to the dot is `distance` away in this direction.
Rect box_at(glm::vec2 dot, glm::vec2 size, float distance, float angle) {
  const glm::vec2 direction(std::cos(angle), std::sin(angle));
  const glm::vec2 center = dot + direction * distance + glm::vec2(direction.x * size.x, direction.y * size.y) * 0.5F;
  return {.origin = center - size * 0.5F, .size = size};
}

}  // namespace

std::vector<PlacedLabel> place_labels(const std::vector<glm::vec2>& dots, const std::vector<float>& widths, float height,
                                      const Rect& area, const std::vector<glm::vec2>& obstacles) {
  constexpr std::array kDistances = {7.0F, 12.0F, 20.0F, 30.0F, 42.0F, 56.0F, 72.0F, 90.0F, 110.0F};
  constexpr int kAngles = 16;
  std::vector<PlacedLabel> placed;
  const auto is_free = [&](const Rect& box) {
    const auto meets = [&](glm::vec2 point, float room) {
      return overlap(box, {.origin = point - room, .size = glm::vec2(2.0F * room)});
    };
    return is_within(box, area) &&
           std::ranges::none_of(placed, [&](const PlacedLabel& other) { return overlap(box, other.box); }) &&
           std::ranges::none_of(dots, [&](glm::vec2 dot) { return meets(dot, kDotRoom); }) &&
           std::ranges::none_of(obstacles, [&](glm::vec2 point) { return meets(point, 1.0F); });
  };
  const auto find_place = [&](std::size_t dot) {
    for (const float distance : kDistances) {
      for (int turn = 0; turn < kAngles; ++turn) {
        const float angle = 2.0F * std::numbers::pi_v<float> * static_cast<float>(turn) / kAngles;
        const Rect box = box_at(dots[dot], {widths[dot], height}, distance, angle);
        if (!is_free(box)) continue;
        placed.push_back({.dot = dot, .box = box});
        return;
      }
    }
  };
  for (std::size_t dot = 0; dot < dots.size(); ++dot) find_place(dot);
  return placed;
}

}  // namespace headlight::bench
