#include "app/widgets/label_text.h"

#include <algorithm>
#include <cfloat>

#include "app/widgets/ink.h"
#include "view/ellipsis.h"

namespace headlight::app {

float text_width(ImFont* font, const std::string& text) {
  return font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, text.data(), text.data() + text.size()).x;
}

std::string fit_text(ImFont* font, const std::string& text, float room) {
  return view::shorten(text, room, [font](std::string_view part) {
    return font->CalcTextSizeA(font_size(font), FLT_MAX, 0.0F, part.data(), part.data() + part.size()).x;
  });
}

std::vector<std::string> break_lines(ImFont* font, const std::string& text, float width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::string longer = line.empty() ? word : line + ' ' + word;
    if (!line.empty() && text_width(font, longer) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
    begin = end + 1;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

void draw_turned_text(ImDrawList* list, ImFont* font, glm::vec2 start, glm::vec2 direction, shell::Color color,
                      const std::string& text) {
  // Laid out horizontally, then rotated: ImGui 1.86 has no rotated text. It drops glyphs outside of the clip rectangle
  // before the rotation, so here the rectangle has no limits; the drawn vertices stay inside the list's own.
  constexpr float kFar = 1e6F;
  const int first = list->VtxBuffer.Size;
  font->RenderText(list, font_size(font), to_imgui(start), color, ImVec4(-kFar, -kFar, kFar, kFar), text.data(),
                   text.data() + text.size());
  const glm::vec2 across(-direction.y, direction.x);
  const glm::vec2 middle(0.0F, font_size(font) * 0.5F);
  for (int i = first; i < list->VtxBuffer.Size; ++i) {
    ImVec2& at = list->VtxBuffer[i].pos;
    const glm::vec2 from_start = to_glm(at) - start - middle;
    at = to_imgui(start + from_start.x * direction + from_start.y * across);
  }
}

}  // namespace headlight::app
