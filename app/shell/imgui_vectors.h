#pragma once

#include <glm/vec2.hpp>

#include "imgui.h"

namespace headlight {

// The border to Dear ImGui: geometry is glm's on our side of it.
inline ImVec2 to_imgui(glm::vec2 vector) { return {vector.x, vector.y}; }
inline glm::vec2 to_glm(ImVec2 vector) { return {vector.x, vector.y}; }

}  // namespace headlight
