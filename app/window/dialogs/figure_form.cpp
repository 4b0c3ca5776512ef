#include "app/window/dialogs/figure_form.h"

#include "app/figures/plan.h"
#include "app/state/field.h"
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

constexpr std::array<const char*, 2> kRanges = {"absolute", "per row"};
constexpr std::uint32_t kSizeStep_mm = 10;
constexpr std::uint32_t kDpiStep = 48;

void draw_title(Frame& frame, Form& form, std::string& title) {
  const float width = form.label("Title", "Stands above every figure; empty: each says what it shows.");
  frame.ui.text_field("##title", title, {.width = width, .hint = "what each figure shows", .limit = 200});
  mark_last_item(frame, "export.title", "Stands above every figure; empty: each says what it shows.");
}

}  // namespace

FigureChoices figure_choices(const ViewChoices& view) {
  FigureChoices choices;
  choices.color_map = view.color_map;
  choices.is_row_normalized = view.color_range == ColorRange::PerRow;
  return choices;
}

void draw_figure_form(Frame& frame, NumberBeingTyped& typed, FigureChoices& choices) {
  Form form(frame, typed, "export");
  draw_title(frame, form, choices.title);
  const auto least = static_cast<std::uint32_t>(kMinMapEdge_mm);
  const std::uint32_t below = choices.size_mm > least ? std::max(choices.size_mm - kSizeStep_mm, least) : 0;
  form.number("size", "Size (mm)", choices.size_mm,
              {.low = 0,
               .high = static_cast<std::uint64_t>(kMaxMapEdge_mm),
               .below = below,
               .above = choices.size_mm == 0 ? 100 : choices.size_mm + kSizeStep_mm,
               .hint = "auto"},
              "The longer side of a map on paper; auto: as large as its cells and numbers need.");
  form.number("dpi", "DPI", choices.dpi,
              {.low = kMinDpi, .high = kMaxDpi, .below = choices.dpi - kDpiStep, .above = choices.dpi + kDpiStep},
              "Pixels of a PNG per inch of paper; a screen has about 96, print wants 300.");
  const std::vector<std::string> names = color_map_names();
  std::vector<const char*> labels;
  for (const std::string& name : names) labels.push_back(name.c_str());
  const auto found = std::ranges::find(names, choices.color_map);
  auto chosen = static_cast<int>(found == names.end() ? 0 : found - names.begin());
  form.choose("color_map", "Colour map", labels, chosen,
              "Colours of weights, from small to large; scores are blue and red.");
  choices.color_map = names[static_cast<std::size_t>(chosen)];
  int range = choices.is_row_normalized ? 1 : 0;
  form.segments("range", "Range", kRanges, range, "What the strongest colour stands for.");
  choices.is_row_normalized = range == 1;
}

void draw_figure_details(Frame& frame, NumberBeingTyped& typed, FigureChoices& choices) {
  Form form(frame, typed, "export");
  if (choices.size_mm > 0) {
    const auto size = static_cast<double>(choices.size_mm);
    form.note(fmt::format("{} mm are {:.1f} cm or {:.2f} inches.", choices.size_mm, size / 10.0, size / 25.4));
  }
  constexpr std::array<const char*, 3> kGrounds = {"white", "dark", "transparent"};
  constexpr std::array<const char*, 2> kFonts = {"sans", "serif"};
  int ground = choices.is_transparent ? 2
               : choices.is_dark      ? 1
                                      : 0,
      font = choices.font == exporting::FigureFont::Serif ? 1 : 0;
  form.segments("ground", "Ground", kGrounds, ground, "Transparent: slides and pages show through beside the cells.");
  form.segments("font", "Letters", kFonts, font, "Serif: those of LaTeX, Latin Modern, where they are installed.");
  choices.is_transparent = ground == 2;
  choices.is_dark = ground == 1;
  choices.font = font == 1 ? exporting::FigureFont::Serif : exporting::FigureFont::Sans;
  exporting::FigureParts& parts = choices.parts;
  form.toggle("part.title", "Title", parts.title);
  form.toggle("part.settings", "Settings below it", parts.settings);
  form.toggle("part.labels", "Labels", parts.labels);
  form.toggle("part.marks", "\u00B7 before words", parts.word_marks);
  form.toggle("part.numbers", "Numbers in cells", parts.numbers);
  form.toggle("part.bar", "Colour bar", parts.bar);
  form.toggle("part.legend", "Legend", parts.legend);
}

void apply(const FigureChoices& choices, ExportOptions& options) {
  options.title = choices.title;
  const auto size = static_cast<float>(choices.size_mm);
  options.map_edge_mm = choices.size_mm == 0 ? 0.0F : std::max(size, kMinMapEdge_mm);
  options.dpi = std::clamp(choices.dpi, kMinDpi, kMaxDpi);
  options.color_map = choices.color_map;
  options.is_row_normalized = choices.is_row_normalized;
  options.is_transparent = choices.is_transparent;
  options.is_dark = choices.is_dark;
  options.font = choices.font;
  options.parts = choices.parts;
}

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
