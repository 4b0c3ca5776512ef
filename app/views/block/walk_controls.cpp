#include "app/views/block/walk_controls.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "app/widgets/math_text.h"
#include "app/widgets/motion_speed.h"
#include "app/widgets/slider_keys.h"

namespace headlight::app {
namespace {

bool button(Frame& frame, const char* label, const char* name, const char* tip, float width) {
  const bool is_pressed = ImGui::Button(label, ImVec2(width, 0.0F));
  mark_last_item(frame, name, tip);
  return is_pressed;
}

/// "softmax → attention weights": a formula, cut as text where it has no room.
void draw_step(Frame& frame, const std::string& step) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const float room = ImGui::GetContentRegionAvail().x;
  const glm::vec2 size = measure_math(fonts, fonts.small, step);
  if (size.x > room) {
    const Ink ink(fonts.small, frame.ui.theme().text_dim);
    ImGui::TextUnformatted(fit_text(fonts.small, step, room).c_str());
    return;
  }
  const glm::vec2 at = to_glm(ImGui::GetCursorScreenPos());
  const float drop = std::round((ImGui::GetFrameHeight() - font_size(fonts.small)) * 0.5F);
  draw_math(ImGui::GetWindowDrawList(), fonts, fonts.small, {at.x, at.y + drop}, frame.ui.theme().text_dim, step);
  ImGui::Dummy(to_imgui(size));
}

}  // namespace

void draw_walk_controls(Frame& frame, BlockWalk& walk, const std::string& step) {
  const float room = ImGui::GetContentRegionAvail().x;
  const bool is_wide = room >= 560.0F;
  if (walk.is_playing()) {
    if (button(frame, "Pause", "block.pause", "Stops the walk here (Space).", 56.0F)) walk.pause();
  } else if (button(frame, "Play", "block.play", "Walks through the layer step by step (Space).", 56.0F)) {
    walk.play();
  }
  ImGui::SameLine(0.0F, 4.0F);
  if (ImGui::ArrowButton("back", ImGuiDir_Left)) walk.go(-1);
  mark_last_item(frame, "block.back", "One step back (comma). Enter unfolds the matrix of a step.");
  ImGui::SameLine(0.0F, 4.0F);
  if (ImGui::ArrowButton("on", ImGuiDir_Right)) walk.go(1);
  mark_last_item(frame, "block.on", "One step on (full stop). Enter unfolds the matrix of a step.");
  ImGui::SameLine();
  float position = walk.position();
  ImGui::SetNextItemWidth(is_wide ? 140.0F : 80.0F);
  if (ImGui::SliderFloat("##position", &position, 0.0F, static_cast<float>(walk.steps()), "")) walk.scrub(position);
  mark_last_item(frame, "block.position", "Where the walk is; at the right end the whole layer is shown.");
  if (step_by_keys(frame, position, 0.0F, static_cast<float>(walk.steps()), 1.0F, false)) walk.scrub(position);
  ImGui::SameLine();
  choose_motion_speed(frame, "block.speed", "How fast the steps follow each other.", false);
  ImGui::SameLine();
  check_box(frame, is_wide ? "reduce motion" : "still", frame.state.block.reduces_motion);
  mark_last_item(frame, "block.reduce motion", "Steps are shown one after the other, without matrices that move.");
  if (!is_wide) return;
  ImGui::SameLine();
  draw_step(frame, walk.is_at_end() ? "the whole layer" : step);
}

}  // namespace headlight::app
