#include "app/widgets/view_title.h"

#include <cmath>

#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"

namespace headlight::app {

void draw_view_title(Frame& frame, const std::string& title, float room) {
  ImFont* font = frame.ui.fonts().title;
  frame.ui.ensure_glyphs(title);
  write_label(font, frame.ui.theme().text, fit_text(font, title, room > 0.0F ? room : ImGui::GetContentRegionAvail().x));
  frame.mark("view.title", last_item_rect());
}

void draw_title_note(Frame& frame, const std::string& note) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const auto ascent = [](ImFont* font) { return font->Ascent * font_size(font) / font->FontSize; };
  const float down = ImGui::GetStyle().FramePadding.y + std::round(ascent(fonts.title) - ascent(fonts.small));
  const glm::vec2 at = to_glm(ImGui::GetCursorScreenPos()) + glm::vec2(0.0F, down);
  put_text(fonts.small, at, frame.ui.theme().text_dim, note);
  // An item that leaves the line where it is, for what follows in it.
  ImGui::Dummy(ImVec2(text_width(fonts.small, note), font_size(fonts.small)));
}

}  // namespace headlight::app
