#pragma once

#include <array>
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "app/shell/imgui_vectors.h"
#include "app/shell/render_device.h"
#include "app/shell/ui.h"
#include "imgui.h"

namespace headlight::shell {

/// An interface without a window: one full-size ImGui window whose content a test gives, with the validation layer on.
struct Stage {
  RenderDevice device{{.validation = true}};
  Ui ui{device};
  glm::uvec2 size{640, 480};
  float scale = 1.0F;

  ~Stage() {
    for (const std::string& message : device.validation_messages()) MESSAGE(message);
    CHECK(device.validation_message_count() == 0);
  }

  void frame(const std::function<void()>& content) {
    ui.begin_frame(size, scale, 1.0 / 60.0);
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(to_imgui(ui.size()));
    ImGui::Begin("stage", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    content();
    ImGui::End();
    ui.end_frame();
  }

  /// Draws frames until all input was seen and the layout rests.
  void settle(const std::function<void()>& content) {
    do frame(content);
    while (ui.wants_redraw());
  }

  PixelImage draw(const std::function<void()>& content) {
    settle(content);
    return ui.read_pixels();
  }
};

/// Entry i has red i, green 255 − i and blue 128: a colour tells its value.
inline std::array<std::uint32_t, 256> ramp() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) table[i] = 0xFF800000U | (255U - i) << 8 | i;
  return table;
}

inline int largest_difference(std::uint32_t a, std::uint32_t b) {
  int largest = 0;
  for (const std::uint32_t shift : {0U, 8U, 16U, 24U}) {
    largest = std::max(largest, std::abs(static_cast<int>(a >> shift & 0xFFU) - static_cast<int>(b >> shift & 0xFFU)));
  }
  return largest;
}

}  // namespace headlight::shell
