#include "panels/loading_panel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "panels/ink.h"
#include "panels/label_text.h"
#include "panels/size_text.h"

namespace headlight::app {

bool draw_loading_panel(Frame& frame, const std::string& name, const LoadProgress& progress) {
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  const double share =
      progress.total_bytes > 0 ? static_cast<double>(progress.done_bytes) / static_cast<double>(progress.total_bytes) : 0.0;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float bottom = origin.y + height;
  list->AddRectFilled({origin.x, bottom - 3.0F}, {origin.x + width, bottom}, theme.field);
  const float end = std::round(width * static_cast<float>(std::clamp(share, 0.0, 1.0)));
  list->AddRectFilled({origin.x, bottom - 3.0F}, {origin.x + end, bottom}, theme.accent);
  frame.mark("loading.bar", {.x = origin.x, .y = bottom - 3.0F, .width = end, .height = 3.0F});

  const float button = ImGui::CalcTextSize("Cancel").x + 2.0F * ImGui::GetStyle().FramePadding.x;
  const float middle = height - 3.0F;
  const shell::FontSet& fonts = frame.ui.fonts();
  const std::string bytes = fmt::format("{} of {}", short_bytes(progress.done_bytes), short_bytes(progress.total_bytes));
  const float bytes_width = text_width(fonts.body, bytes);
  const std::string title = fit_text(fonts.strong, "Loading " + name, width - button - bytes_width - 64.0F);
  const float title_width = text_width(fonts.strong, title);
  const auto draw = [&](ImFont* font, float x, shell::Color color, const std::string& text) {
    list->AddText(font, font_size(font), {origin.x + x, origin.y + std::round((middle - font_size(font)) * 0.5F)}, color,
                  text.c_str());
  };
  draw(fonts.strong, 16.0F, theme.text, title);
  draw(fonts.body, 16.0F + title_width + 16.0F, theme.text_dim, bytes);
  ImGui::SetCursorPos({width - button - 8.0F, std::round((middle - ImGui::GetFrameHeight()) * 0.5F)});
  const bool was_clicked = ImGui::Button("Cancel");
  mark_last_item(frame, "loading.cancel");
  return was_clicked;
}

}  // namespace headlight::app
