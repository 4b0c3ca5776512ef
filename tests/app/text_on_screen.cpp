#include "app/text_on_screen.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <imgui.h>
#include <imgui_internal.h>
#include <glm/common.hpp>
#include <glm/vector_relational.hpp>

namespace headlight::app {
namespace {

using Polygon = std::vector<glm::vec2>;

float area_of(const Polygon& polygon) {
  float twice = 0.0F;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const glm::vec2 a = polygon[i];
    const glm::vec2 b = polygon[(i + 1) % polygon.size()];
    twice += a.x * b.y - a.y * b.x;
  }
  return std::abs(twice) / 2.0F;
}

/// The part of a convex polygon on the inner side of the line a → b (Sutherland and Hodgman 1974); `sign` is the polygon's
/// orientation.
Polygon cut_by(const Polygon& polygon, glm::vec2 a, glm::vec2 b, float sign) {
  const auto side = [&](glm::vec2 p) { return sign * ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)); };
  Polygon left;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const glm::vec2 from = polygon[i];
    const glm::vec2 to = polygon[(i + 1) % polygon.size()];
    const float at_from = side(from);
    const float at_to = side(to);
    if (at_from >= 0.0F) left.push_back(from);
    if ((at_from > 0.0F && at_to < 0.0F) || (at_from < 0.0F && at_to > 0.0F)) {
      left.push_back(from + (to - from) * (at_from / (at_from - at_to)));
    }
  }
  return left;
}

Polygon intersection(Polygon one, const Polygon& other) {
  float twice = 0.0F;
  for (std::size_t i = 0; i < other.size(); ++i) {
    const glm::vec2 a = other[i];
    const glm::vec2 b = other[(i + 1) % other.size()];
    twice += a.x * b.y - a.y * b.x;
  }
  const float sign = twice < 0.0F ? -1.0F : 1.0F;
  for (std::size_t i = 0; i < other.size() && !one.empty(); ++i) {
    one = cut_by(one, other[i], other[(i + 1) % other.size()], sign);
  }
  return one;
}

/// A corner in the atlas, as one number.
std::uint64_t corner_of(float u, float v) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(u)} << 32 | std::bit_cast<std::uint32_t>(v);
}

/// Characters by the corner of their image in the atlas.
std::unordered_map<std::uint64_t, ImWchar> characters(const ImFontAtlas& atlas) {
  std::unordered_map<std::uint64_t, ImWchar> found;
  const auto add = [&](const ImVector<ImFontGlyph>& glyphs) {
    for (const ImFontGlyph& glyph : glyphs) {
      found.emplace(corner_of(glyph.U0, glyph.V0), static_cast<ImWchar>(glyph.Codepoint));
    }
  };
#if IMGUI_VERSION_NUM >= 19200
  for (int i = 0; i < atlas.Builder->BakedPool.Size; ++i) add(atlas.Builder->BakedPool[i].Glyphs);
#else
  for (const ImFont* font : atlas.Fonts) add(font->Glyphs);
#endif
  return found;
}

bool is_of_atlas(const ImDrawCmd& command, const ImFontAtlas& atlas) {
#if IMGUI_VERSION_NUM >= 19200
  return command.TexRef._TexData == atlas.TexData;
#else
  return command.TextureId == atlas.TexID;
#endif
}

std::string utf8(ImWchar character) {
  char text[5] = {};
  ImTextCharToUtf8(text, character);
  return text;
}

/// Each character is four vertices and six indices, with a rectangle of the atlas that has an area; lines and fills have
/// none.
bool is_glyph(const ImDrawList& list, std::span<const ImDrawIdx> indices, unsigned offset) {
  const unsigned first = indices[0];
  const std::array<unsigned, 6> quad = {0, 1, 2, 0, 2, 3};
  for (std::size_t i = 0; i < quad.size(); ++i) {
    if (indices[i] != first + quad[i]) return false;
  }
  const ImDrawVert* corners = &list.VtxBuffer[static_cast<int>(offset + first)];
  return corners[0].uv.x < corners[2].uv.x && corners[0].uv.y < corners[2].uv.y && corners[1].uv.x == corners[2].uv.x &&
         corners[1].uv.y == corners[0].uv.y && (corners[0].col >> IM_COL32_A_SHIFT) != 0;
}

}  // namespace

std::vector<DrawnGlyph> glyphs_on_screen() {
  const ImDrawData* data = ImGui::GetDrawData();
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  const auto named = characters(atlas);
  std::vector<DrawnGlyph> glyphs;
  std::size_t number = 0;
  for (int l = 0; data && l < data->CmdListsCount; ++l) {
    const ImDrawList& list = *data->CmdLists[l];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback || !is_of_atlas(command, atlas)) continue;
      const glm::vec2 low{command.ClipRect.x, command.ClipRect.y};
      const glm::vec2 high{command.ClipRect.z, command.ClipRect.w};
      for (unsigned i = 0; i + 6 <= command.ElemCount;) {
        const std::span<const ImDrawIdx> indices(&list.IdxBuffer[static_cast<int>(command.IdxOffset + i)], 6);
        if (!is_glyph(list, indices, command.VtxOffset)) {
          i += 3;
          continue;
        }
        i += 6;
        DrawnGlyph glyph{.clip_low = low, .clip_high = high, .number = number++};
        Polygon quad;
        const ImDrawVert* corners = &list.VtxBuffer[static_cast<int>(command.VtxOffset + indices[0])];
        for (int corner = 0; corner < 4; ++corner) quad.emplace_back(corners[corner].pos.x, corners[corner].pos.y);
        glyph.area = area_of(quad);
        glyph.low = glyph.high = quad.front();
        for (const glm::vec2 point : quad) {
          glyph.low = {std::min(glyph.low.x, point.x), std::min(glyph.low.y, point.y)};
          glyph.high = {std::max(glyph.high.x, point.x), std::max(glyph.high.y, point.y)};
        }
        const auto name = named.find(corner_of(corners[0].uv.x, corners[0].uv.y));
        if (name == named.end()) continue;  // a pointer's image or another one of the atlas
        const bool is_whole =
            glm::all(glm::greaterThanEqual(glyph.low, low)) && glm::all(glm::lessThanEqual(glyph.high, high));
        glyph.outline = is_whole ? quad : intersection(quad, {low, {high.x, low.y}, high, {low.x, high.y}});
        glyph.text = utf8(name->second);
        if (area_of(glyph.outline) > 0.0F) glyphs.push_back(std::move(glyph));
      }
    }
  }
  return glyphs;
}

std::string text_on_screen(const chart::Rect& within) {
  std::string text;
  glm::vec2 low{0.0F}, high{0.0F};
  for (const DrawnGlyph& glyph : glyphs_on_screen()) {
    if (!within.contains(glyph.low)) continue;
    const bool is_same_line = glyph.low.y < high.y && glyph.high.y > low.y && glyph.low.x > low.x;
    const bool is_next = is_same_line && glyph.low.x - high.x < 1.6F;  // a space is more than twice as wide
    if (!text.empty() && !is_next) text += is_same_line ? ' ' : '\n';
    text += glyph.text;
    low = glyph.low;
    high = glyph.high;
  }
  return text;
}

std::string letters_on_screen() {
  std::string letters;
  for (const DrawnGlyph& glyph : glyphs_on_screen()) letters += glyph.text;
  std::erase(letters, ' ');
  return letters;
}

std::string text_around(std::span<const DrawnGlyph> glyphs, std::size_t at) {
  constexpr std::size_t kReach = 24;
  const float height = glyphs[at].high.y - glyphs[at].low.y;
  const auto is_near = [&](std::size_t one, std::size_t other) {
    return std::abs(glyphs[one].low.x - glyphs[other].low.x) < 3.0F * height + 12.0F &&
           std::abs(glyphs[one].high.y - glyphs[other].high.y) < height + 8.0F;
  };
  std::size_t first = at;
  while (first > 0 && at - first < kReach && is_near(first, first - 1)) --first;
  std::size_t last = at;
  while (last + 1 < glyphs.size() && last - at < kReach && is_near(last, last + 1)) ++last;
  std::string text;
  for (std::size_t i = first; i <= last; ++i) text += glyphs[i].text;
  return text;
}

std::vector<std::array<std::size_t, 2>> overlapping(std::span<const DrawnGlyph> glyphs, float share) {
  constexpr float kCell = 24.0F;
  std::map<std::pair<int, int>, std::vector<std::size_t>> cells;
  for (std::size_t i = 0; i < glyphs.size(); ++i) {
    for (int y = static_cast<int>(glyphs[i].low.y / kCell); y <= static_cast<int>(glyphs[i].high.y / kCell); ++y) {
      for (int x = static_cast<int>(glyphs[i].low.x / kCell); x <= static_cast<int>(glyphs[i].high.x / kCell); ++x) {
        cells[{x, y}].push_back(i);
      }
    }
  }
  std::set<std::array<std::size_t, 2>> found;
  for (const auto& [at, members] : cells) {
    for (std::size_t a = 0; a < members.size(); ++a) {
      for (std::size_t b = a + 1; b < members.size(); ++b) {
        const DrawnGlyph& one = glyphs[members[a]];
        const DrawnGlyph& other = glyphs[members[b]];
        const glm::vec2 both = glm::min(one.high, other.high) - glm::max(one.low, other.low);
        if (other.number - one.number < 2 || both.x <= 0.0F || both.y <= 0.0F) continue;
        const float common = area_of(intersection(one.outline, other.outline));
        if (common > share * std::min(one.area, other.area)) found.insert({members[a], members[b]});
      }
    }
  }
  return {found.begin(), found.end()};
}

std::vector<std::size_t> cut_at_the_side(std::span<const DrawnGlyph> glyphs, float share) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < glyphs.size(); ++i) {
    const DrawnGlyph& glyph = glyphs[i];
    const float width = glyph.high.x - glyph.low.x;
    const float hidden = std::max(glyph.clip_low.x - glyph.low.x, 0.0F) + std::max(glyph.high.x - glyph.clip_high.x, 0.0F);
    if (hidden > share * width) found.push_back(i);
  }
  return found;
}

}  // namespace headlight::app
