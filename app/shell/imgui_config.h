#pragma once

// Dear ImGui includes this. Geometry is glm's on our side of it.
#include <glm/vec2.hpp>

#define IM_VEC2_CLASS_EXTRA                                     \
  ImVec2(const glm::vec2& vector) : x(vector.x), y(vector.y) {} \
  operator glm::vec2() const { return {x, y}; }
