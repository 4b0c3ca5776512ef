#include "app/window/dialogs/figure_form.h"

#include "app/figures/plan.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr std::array<const char*, 4> kRegions = {"Whole map", "Visible", "Dragged", "Typed"};
constexpr std::size_t kLongestRange = 24;

IndexRange range_of(std::uint32_t first, std::uint32_t last) { return {.first = first, .end = last + 1}; }

MapPart part_of(const CellRange& cells) {
  return {.queries = range_of(cells.first.query, cells.last.query), .keys = range_of(cells.first.key, cells.last.key)};
}

/// Throws UsageError.
std::optional<IndexRange> typed_range(const char* axis, const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(parse_index_range(axis, text));
}

/// Parts of which some map has no such rows or columns; empty: none.
std::string complaint_about(const MapPart& part, const BlockShapes& written) {
  for (const auto& [block, shape] : written) {
    const std::string queries = part.queries ? part_complaint(*part.queries, "queries", shape.queries) : std::string();
    if (!queries.empty()) return fmt::format("{}: queries {}", model::to_string(block.kind), queries);
    const std::string keys = part.keys ? part_complaint(*part.keys, "keys", shape.keys) : std::string();
    if (!keys.empty()) return fmt::format("{}: keys {}", model::to_string(block.kind), keys);
  }
  return {};
}

std::string axis_in_words(const char* axis, const IndexRange& part) {
  if (part.end == part.first + 1) return fmt::format("{} {}", axis, part.first);
  return fmt::format("{} {} to {}", axis, part.first, part.end - 1);
}

void type_axis(Frame& frame, const char* axis, float width, std::string& text) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(axis);
  ImGui::SameLine();
  const std::string id = fmt::format("##{}", axis);
  frame.ui.text_field(id.c_str(), text, {.width = width, .hint = "all", .limit = kLongestRange});
  mark_last_item(frame, fmt::format("export.region.{}", axis),
                 "FIRST:END as in 0:1000, END is not written; empty: all. Other matrices are written whole.");
}

}  // namespace

Result<MapPart> chosen_part(const RegionChoice& choice, const Transient& transient, const BlockShapes& written) {
  MapPart part;
  switch (choice.region) {
    case ExportRegion::WholeMap:
      return part;
    case ExportRegion::Visible:
      if (!transient.visible) return Failure{"No map is on screen: show one in the view Head (1)."};
      part = part_of(*transient.visible);
      break;
    case ExportRegion::Dragged:
      if (!transient.range) {
        return Failure{"No range is chosen: drag over the map, with Ctrl held down where it is enlarged."};
      }
      part = part_of(*transient.range);
      break;
    case ExportRegion::Typed:
      try {
        part = {.queries = typed_range("queries", choice.queries), .keys = typed_range("keys", choice.keys)};
      } catch (const UsageError& error) {
        return Failure{error.what()};
      }
      break;
  }
  if (std::string complaint = complaint_about(part, written); !complaint.empty()) return Failure{std::move(complaint)};
  return part;
}

void draw_region_form(Frame& frame, Form& form, RegionChoice& choice, const Result<MapPart>& part) {
  auto chosen = static_cast<int>(choice.region);
  if (form.segments("region", "Region", kRegions, chosen)) choice.region = static_cast<ExportRegion>(chosen);
  if (choice.region == ExportRegion::WholeMap) return;
  if (choice.region == ExportRegion::Typed) {
    const float spacing = ImGui::GetStyle().ItemSpacing.x;
    const float names = ImGui::CalcTextSize("querieskeys").x;
    const float width = (form.label("", nullptr) - names - 3.0F * spacing) * 0.5F;
    type_axis(frame, "queries", width, choice.queries);
    ImGui::SameLine();
    type_axis(frame, "keys", width, choice.keys);
  }
  if (!part) return form.warning(part.error());
  if (!part->queries || !part->keys || choice.region == ExportRegion::Typed) return;  // or of the choice of the frame before
  form.note(fmt::format("{}, {} of every map; other matrices are written whole.", axis_in_words("queries", *part->queries),
                        axis_in_words("keys", *part->keys)));
}

}  // namespace headlight::app
