#include "app/dialogs/preview_canvas.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace headlight::app {
namespace {

constexpr std::uint32_t kMostPixels = 96;  // of an image, along each edge

ImU32 packed(exporting::Rgb color) { return view::pack(color); }

}  // namespace

PreviewCanvas::PreviewCanvas(Frame& frame, glm::vec2 corner, float scale)
    : list_(ImGui::GetWindowDrawList()),
      font_(frame.ui.fonts().body),
      bold_font_(frame.ui.fonts().strong),
      corner_(corner),
      scale_(scale) {}

void PreviewCanvas::fill(exporting::Rect rect, exporting::Rgb color) {
  list_->AddRectFilled(place(rect.origin), place(rect.end()), packed(color));
}

void PreviewCanvas::frame(exporting::Rect rect, exporting::Rgb color, float width) {
  list_->AddRect(place(rect.origin), place(rect.end()), packed(color), 0.0F, 0, std::max(width * scale_, 1.0F));
}

void PreviewCanvas::line(glm::vec2 from, glm::vec2 to, exporting::Rgb color, float width) {
  list_->AddLine(place(from), place(to), packed(color), std::max(width * scale_, 1.0F));
}

void PreviewCanvas::hatch(std::span<const exporting::Rect> rects, exporting::Rgb stripe) {
  const float period = std::max(exporting::kHatchPeriod, 4.0F / scale_);
  for (const exporting::Rect& rect : rects) {
    list_->PushClipRect(place(rect.origin), place(rect.end()), true);
    // Stripes run through whole multiples of the period, so that those of neighbours meet.
    const glm::vec2 end = rect.end();
    const float first = std::floor((rect.origin.x + rect.origin.y) / period) * period;
    for (float sum = first; sum < end.x + end.y; sum += period) {
      list_->AddLine(place({sum - rect.origin.y, rect.origin.y}), place({sum - end.y, end.y}), packed(stripe), 1.0F);
    }
    list_->PopClipRect();
  }
}

void PreviewCanvas::image(exporting::Rect rect, const exporting::Pixels& pixels) {
  const std::uint32_t step = std::max({1U, pixels.width / kMostPixels, pixels.height / kMostPixels});
  const glm::vec2 pixel(rect.size.x / static_cast<float>(pixels.width), rect.size.y / static_cast<float>(pixels.height));
  for (std::uint32_t y = 0; y < pixels.height; y += step) {
    for (std::uint32_t x = 0; x < pixels.width; x += step) {
      const glm::vec2 corner = rect.origin + glm::vec2(x, y) * pixel;
      const glm::vec2 end = glm::min(corner + pixel * static_cast<float>(step), rect.end());
      list_->AddRectFilled(place(corner), place(end), pixels.rgba[std::size_t{y} * pixels.width + x]);
    }
  }
}

void PreviewCanvas::text(glm::vec2 anchor, std::string_view text, const exporting::TextStyle& style) {
  ImFont* font = style.is_bold ? bold_font_ : font_;
  const float size = style.size * scale_;
  const char* end = text.data() + text.size();
  const ImVec2 extent = font->CalcTextSizeA(size, 1e9F, 0.0F, text.data(), end);
  const float shift = style.align == exporting::TextAlign::Start    ? 0.0F
                      : style.align == exporting::TextAlign::Middle ? extent.x * 0.5F
                                                                    : extent.x;
  constexpr float kBaseline = 0.78F;  // from the top of a line, in ems
  const ImVec2 at = place(anchor);
  const int first = list_->VtxBuffer.Size;
  const ImVec2 level = {at.x - shift, at.y - kBaseline * size};
  if (style.degrees == 0.0F) return list_->AddText(font, size, level, packed(style.color), text.data(), end);
  // Letters outside the clip rectangle are left out before they are turned: they are laid where none is.
  const ImVec2 corner = list_->GetClipRectMin();
  const ImVec2 around = {corner.x + shift, corner.y + kBaseline * size};
  list_->AddText(font, size, corner, packed(style.color), text.data(), end);
  const float turn = -style.degrees / 180.0F * std::numbers::pi_v<float>;
  const float cosine = std::cos(turn), sine = std::sin(turn);
  for (int i = first; i < list_->VtxBuffer.Size; ++i) {
    ImVec2& vertex = list_->VtxBuffer[i].pos;
    const ImVec2 from = {vertex.x - around.x, vertex.y - around.y};
    vertex = {at.x + from.x * cosine - from.y * sine, at.y + from.x * sine + from.y * cosine};
  }
}

}  // namespace headlight::app
