#include "app/shell/draw_data.h"

#include <cmath>

#include "imgui.h"

namespace headlight::shell {
namespace {

// Four vertices that ImDrawList::PrimRectUV wrote: clockwise from the top left, with a patch of the atlas that has an area.
// Solid rectangles have one texel for all corners, antialiased lines a row of texels.
bool is_glyph(const ImDrawVert* v) {
  return v[0].pos.y == v[1].pos.y && v[1].pos.x == v[2].pos.x && v[2].pos.y == v[3].pos.y && v[3].pos.x == v[0].pos.x &&
         v[0].uv.y == v[1].uv.y && v[1].uv.x == v[2].uv.x && v[2].uv.y == v[3].uv.y && v[3].uv.x == v[0].uv.x &&
         v[0].uv.x != v[2].uv.x && v[0].uv.y != v[2].uv.y && v[0].col == v[2].col;
}

void snap(ImDrawVert* v) {
  const float dx = std::round(v[0].pos.x) - v[0].pos.x;
  const float dy = std::round(v[0].pos.y) - v[0].pos.y;
  for (int corner = 0; corner < 4; ++corner) {
    v[corner].pos.x += dx;
    v[corner].pos.y += dy;
  }
}

void scale_vertices(ImVector<ImDrawVert>& vertices, float scale) {
  int i = 0;
  while (i < vertices.Size) {
    const bool glyph = i + 4 <= vertices.Size && is_glyph(&vertices[i]);
    const int count = glyph ? 4 : 1;
    for (int k = i; k < i + count; ++k) {
      vertices[k].pos.x *= scale;
      vertices[k].pos.y *= scale;
    }
    if (glyph) snap(&vertices[i]);
    i += count;
  }
}

}  // namespace

void to_pixels(ImDrawData& data, float scale) {
  for (int i = 0; i < data.CmdListsCount; ++i) scale_vertices(data.CmdLists[i]->VtxBuffer, scale);
  data.ScaleClipRects({scale, scale});
  data.DisplaySize.x = std::round(data.DisplaySize.x * scale);
  data.DisplaySize.y = std::round(data.DisplaySize.y * scale);
  data.FramebufferScale = {1.0F, 1.0F};
}

}  // namespace headlight::shell
