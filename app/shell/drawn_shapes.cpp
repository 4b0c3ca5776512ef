#include "app/shell/drawn_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "app/shell/frame_tiles.h"
#include "imgui.h"

namespace headlight::shell {
namespace {

bool resets_state(const ImDrawCmd& command) { return command.UserCallback == ImDrawCallback_ResetRenderState; }

std::int32_t whole_pixels(float position, std::int32_t limit) {
  return static_cast<std::int32_t>(std::clamp(position, 0.0F, static_cast<float>(limit)));
}

/// Returns the scissor that ImGui's Vulkan backend sets (the extent is rounded, not the right edge), or, for a callback,
/// HeatmapRenderer's.
PixelRect scissor_of(const ImDrawCmd& command, const PixelRect& image) {
  const ImVec4& clip = command.ClipRect;
  const float left = std::max(clip.x, 0.0F);
  const float top = std::max(clip.y, 0.0F);
  const float right = std::min(clip.z, static_cast<float>(image.right));
  const float bottom = std::min(clip.w, static_cast<float>(image.bottom));
  if (!(right > left) || !(bottom > top)) return {};
  const PixelRect corner{.left = whole_pixels(left, image.right), .top = whole_pixels(top, image.bottom)};
  if (command.UserCallback != nullptr) {
    return {corner.left, corner.top, whole_pixels(right, image.right), whole_pixels(bottom, image.bottom)};
  }
  return {corner.left, corner.top, corner.left + static_cast<std::int32_t>(right - left),
          corner.top + static_cast<std::int32_t>(bottom - top)};
}

ImVec4 clip_of(const PixelRect& rect) {
  return {static_cast<float>(rect.left), static_cast<float>(rect.top), static_cast<float>(rect.right),
          static_cast<float>(rect.bottom)};
}

PixelRect bounds_of(std::span<const ImDrawVert> corners) {
  constexpr float kMax = 1e6F;  // far outside any image, and an integer
  ImVec2 low{kMax, kMax};
  ImVec2 high{-kMax, -kMax};
  for (const ImDrawVert& corner : corners) {
    low = {std::min(low.x, corner.pos.x), std::min(low.y, corner.pos.y)};
    high = {std::max(high.x, corner.pos.x), std::max(high.y, corner.pos.y)};
  }
  const auto pixel = [&](float position) { return static_cast<std::int32_t>(std::clamp(position, -kMax, kMax)); };
  return {pixel(std::floor(low.x)), pixel(std::floor(low.y)), pixel(std::ceil(high.x)), pixel(std::ceil(high.y))};
}

/// Returns the part of a clip rectangle that counts: one that cuts nothing off may change without changing a pixel.
PixelRect clip_that_counts(const PixelRect& scissor, const PixelRect& bounds) {
  return scissor.contains(bounds) ? PixelRect() : scissor;
}

PixelRect rect_of(const ImVec4& clip) {
  return {static_cast<std::int32_t>(clip.x), static_cast<std::int32_t>(clip.y), static_cast<std::int32_t>(clip.z),
          static_cast<std::int32_t>(clip.w)};
}

}  // namespace

void DrawnShapes::read(ImDrawData& data) {
  shapes_.clear();
  commands_.clear();
  const PixelRect image{.right = static_cast<std::int32_t>(data.DisplaySize.x),
                        .bottom = static_cast<std::int32_t>(data.DisplaySize.y)};
  for (int i = 0; i < data.CmdListsCount; ++i) {
    ImDrawList& list = *data.CmdLists[i];
    for (ImDrawCmd& command : list.CmdBuffer) {
      Command& known = commands_.emplace_back();
      known.first = known.end = shapes_.size();
      if (resets_state(command)) continue;
      const PixelRect scissor = scissor_of(command, image);
      command.ClipRect = clip_of(scissor);
      if (scissor.is_empty()) continue;
      if (command.UserCallback != nullptr) {
        read_callback(command, scissor);
      } else {
        read_triangles(list, command, scissor);
      }
      known.end = shapes_.size();
    }
  }
}

void DrawnShapes::read_callback(const ImDrawCmd& command, const PixelRect& scissor) {
  const auto& drawn = *static_cast<const DrawnByCallback*>(command.UserCallbackData);
  const PixelRect pixels = intersection(drawn.pixels, scissor);
  if (pixels.is_empty()) return;
  FrameHash hash;
  hash.add(drawn.content);
  hash.add(drawn.pixels);
  hash.add(clip_that_counts(scissor, drawn.pixels));
  shapes_.push_back({.pixels = pixels, .content = hash.value()});
}

void DrawnShapes::read_triangles(const ImDrawList& list, const ImDrawCmd& command, const PixelRect& scissor) {
  const ImDrawIdx* indices = list.IdxBuffer.Data + command.IdxOffset;
  const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
  std::array<ImDrawVert, 4> corners;
  std::uint32_t count = 0;
  for (std::uint32_t at = 0; at + 3 <= command.ElemCount; at += count) {
    // A rectangle is two triangles with an edge in common.
    const ImDrawIdx* used = indices + at;
    const bool is_rectangle = at + 6 <= command.ElemCount && used[3] == used[0] && used[4] == used[2];
    count = is_rectangle ? 6 : 3;
    for (std::size_t corner = 0; corner < 3; ++corner) corners[corner] = vertices[used[corner]];
    if (is_rectangle) corners[3] = vertices[used[5]];
    const std::span<const ImDrawVert> shape(corners.data(), is_rectangle ? 4 : 3);
    const PixelRect bounds = bounds_of(shape);
    const PixelRect pixels = intersection(bounds, scissor);
    if (pixels.is_empty()) continue;
    FrameHash hash;
    hash.add_bytes(shape.data(), shape.size_bytes());
#if IMGUI_VERSION_NUM >= 19200
    hash.add(command.TexRef._TexData);  // which has no id yet where it is new
    hash.add(command.TexRef._TexID);
#else
    hash.add(command.GetTexID());
#endif
    hash.add(clip_that_counts(scissor, bounds));
    const std::uint32_t first = command.IdxOffset + at;
    shapes_.push_back({.pixels = pixels, .content = hash.value(), .first = first, .end = first + count});
  }
}

void DrawnShapes::add_to(FrameTiles& tiles) const {
  for (const Shape& shape : shapes_) tiles.add(shape.pixels, shape.content);
}

std::optional<DrawnShapes::Range> DrawnShapes::range_in(const Command& command, const PixelRect& rect) const {
  std::optional<Range> range;
  for (std::size_t i = command.first; i < command.end; ++i) {
    const Shape& shape = shapes_[i];
    if (intersection(shape.pixels, rect).is_empty()) continue;
    if (!range) range = Range{shape.first, shape.end};
    range->end = std::max(range->end, shape.end);
  }
  return range;
}

void DrawnShapes::cut(ImDrawData& data, const std::vector<PixelRect>& rects) const {
  std::size_t number = 0;
  for (int i = 0; i < data.CmdListsCount; ++i) {
    ImDrawList& list = *data.CmdLists[i];
    ImVector<ImDrawCmd> kept;
    bool has_callback = false;
    for (const ImDrawCmd& command : list.CmdBuffer) {
      const Command& known = commands_[number++];
      if (resets_state(command)) {
        if (std::exchange(has_callback, false)) kept.push_back(command);
        continue;
      }
      for (const PixelRect& rect : rects) {
        const PixelRect part = intersection(rect_of(command.ClipRect), rect);
        const std::optional<Range> range = range_in(known, part);
        if (!range) continue;
        ImDrawCmd cut = command;
        cut.ClipRect = clip_of(part);
        cut.IdxOffset = command.UserCallback != nullptr ? command.IdxOffset : range->first;
        cut.ElemCount = command.UserCallback != nullptr ? command.ElemCount : range->end - range->first;
        has_callback = has_callback || command.UserCallback != nullptr;
        kept.push_back(cut);
      }
    }
    list.CmdBuffer.swap(kept);
  }
}

}  // namespace headlight::shell
