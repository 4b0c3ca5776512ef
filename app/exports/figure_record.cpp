#include "app/exports/figure_record.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/exports/figure_kind.h"
#include "app/state/field.h"
#include "app/state/json_reader.h"
#include "app/state/state_names.h"
#include "core/error.h"
#include "core/json.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

using exporting::FigureParts;
using nlohmann::json;

constexpr std::array<EnumName<exporting::FigureFont>, 2> kFonts = {
    {{exporting::FigureFont::Sans, "sans"}, {exporting::FigureFont::Serif, "serif"}}};

struct PartName {
  const char* name;
  bool FigureParts::*part;
};
constexpr std::array kParts = {PartName{"title", &FigureParts::title},          PartName{"settings", &FigureParts::settings},
                               PartName{"labels", &FigureParts::labels},        PartName{"bar", &FigureParts::bar},
                               PartName{"legend", &FigureParts::legend},        PartName{"numbers", &FigureParts::numbers},
                               PartName{"word_marks", &FigureParts::word_marks}};

constexpr std::uint64_t kMostRanges = 1U << 16, kMostIndex = 1U << 24;

json ranges_of(const IndexSet& set) {
  json list = json::array();
  for (const IndexRange& range : set.ranges()) list.push_back({range.first, range.end});
  return list;
}

[[noreturn]] void refuse_member(const char* key, const json& found) {
  throw Error("figure.{}: found {}, which no figure of this Headlight has", key, shown(found));
}

/// The member `key` as `Value`; `fallback` where it is missing.
template <typename Value>
Value member(const json& figure, const char* key, Value fallback) {
  const auto found = figure.find(key);
  if (found == figure.end() || found->is_null()) return fallback;
  try {
    return found->template get<Value>();
  } catch (const json::exception&) {
    refuse_member(key, *found);
  }
}

std::uint32_t index_member(const json& figure, const char* key) {
  const auto found = figure.find(key);
  if (found == figure.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > kMostIndex) {
    refuse_member(key, found == figure.end() ? json() : *found);
  }
  return found->get<std::uint32_t>();
}

std::optional<IndexSet> set_member(const json& figure, const char* key) {
  const auto found = figure.find(key);
  if (found == figure.end() || found->is_null()) return std::nullopt;
  if (!found->is_array() || found->empty() || found->size() > kMostRanges) refuse_member(key, *found);
  IndexSet set;
  for (const json& range : *found) {
    const bool is_range = range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
                          range[1].is_number_unsigned() && range[0] < range[1] && range[1] <= kMostIndex;
    if (!is_range) refuse_member(key, *found);
    set.add({.first = range[0].get<std::uint32_t>(), .end = range[1].get<std::uint32_t>()});
  }
  return set;
}

template <typename Enum, std::size_t count>
Enum enum_member(const json& figure, const char* key, const std::array<EnumName<Enum>, count>& names, Enum fallback) {
  const std::string text = member(figure, key, std::string(enum_name<Enum>(names, fallback)));
  for (const auto& [value, name] : names) {
    if (text == name) return value;
  }
  refuse_member(key, json(text));
}

attention::Stage stage_member(const json& figure) {
  const std::string text = member(figure, "stage", std::string());
  for (std::size_t stage = 0; stage < attention::kStages; ++stage) {
    const auto known = static_cast<attention::Stage>(stage);
    if (text == attention::to_string(known)) return known;
  }
  refuse_member("stage", json(text));
}

/// Figures of earlier versions say only whether they are a sheet.
const FigureKind& view_member(const json& figure) {
  const std::string id = member(figure, "view", std::string(member(figure, "sheet", false) ? "heads" : "head"));
  const FigureKind* kind = find_figure_kind(id);
  if (kind == nullptr) refuse_member("view", json(id));
  return *kind;
}

/// A number of a style inside its limits; NaN isn't.
float number_member(const json& figure, const char* key, float fallback, float low, float high) {
  const float number = member(figure, key, fallback);
  if (!(number == fallback || (number >= low && number <= high))) refuse_member(key, json(number));
  return number;
}

void read_style(const json& figure, attention::Stage stage, ExportOptions& options) {
  options.title = member(figure, "title", options.title);
  options.map_edge_mm = number_member(figure, "size_mm", 0.0F, kLeastMapEdge_mm, kMostMapEdge_mm);
  options.dpi = member(figure, "dpi", options.dpi);
  if (options.dpi < kLeastDpi || options.dpi > kMostDpi) refuse_member("dpi", json(options.dpi));
  options.color_map = member(figure, "color_map", options.color_map);
  if (!view::parse_color_map(options.color_map)) refuse_member("color_map", json(options.color_map));
  options.is_row_normalized = member(figure, "per_row", false);
  options.color_spread = enum_member(figure, "spread", kSpreads, view::ScaleSpread::Linear);
  if (figure.contains("limits")) {
    const auto limits = member(figure, "limits", std::vector<float>());
    if (limits.size() != 2 || !(limits[0] < limits[1])) refuse_member("limits", figure.at("limits"));
    options.color_limits[stage] = {.low = limits[0], .high = limits[1]};
  }
  options.is_dark = member(figure, "dark", false);
  options.is_transparent = member(figure, "transparent", false);
  options.font = enum_member(figure, "font", kFonts, exporting::FigureFont::Sans);
  const json parts = member(figure, "parts", json::object());
  if (!parts.is_object()) refuse_member("parts", parts);
  for (const PartName& part : kParts) options.parts.*part.part = member(parts, part.name, true);
}

}  // namespace

json describe_style(const ExportOptions& options) {
  json style = {{"title", options.title},
                {"size_mm", options.map_edge_mm},
                {"dpi", options.dpi},
                {"color_map", options.color_map},
                {"per_row", options.is_row_normalized},
                {"spread", enum_name<view::ScaleSpread>(kSpreads, options.color_spread)},
                {"dark", options.is_dark},
                {"transparent", options.is_transparent},
                {"font", enum_name<exporting::FigureFont>(kFonts, options.font)}};
  for (const PartName& part : kParts) style["parts"][part.name] = options.parts.*part.part;
  return style;
}

std::string figure_session(const ExportOptions& options, const ExportBlocks& blocks, const MatrixRef& matrix,
                           const FigureKind& kind) {
  if (options.session.empty()) return {};
  const bool is_of_head = kind.scope == FigureScope::Head;
  json figure = {{"view", kind.id},
                 {"stage", attention::to_string(matrix.stage)},
                 {"attention", enum_name<model::BlockKind>(kKinds, matrix.block.kind)},
                 {"batch", matrix.batch},
                 {"mean", enum_name<HeadMean>(kMeans, blocks.mean)},
                 {"norms", blocks.weighs_values},
                 {"rows", enum_name<RowNames>(kRowNames, options.row_names)},
                 // A pair has the other run as well, whatever else is written.
                 {"difference", blocks.is_difference || &kind == &kPairFigure}};
  if (kind.scope != FigureScope::Attention) {
    figure["layer"] = matrix.block.layer.value;
  } else if (options.layers) {
    figure["layers"] = ranges_of(*options.layers);
  }
  if (!is_of_head || blocks.mean != HeadMean::None) {
    if (options.heads) figure["heads"] = ranges_of(*options.heads);
  } else {
    figure["heads"] = ranges_of(matrix.head);
  }
  // Of keys and values a head is one that several heads read.
  const bool is_of_keys = matrix.stage == attention::Stage::K || matrix.stage == attention::Stage::V;
  if (is_of_head && is_of_keys && blocks.shape.kv_heads > 0) {
    figure["heads"] = ranges_of(matrix.head * (blocks.shape.heads / blocks.shape.kv_heads));
  }
  IndexSet rows;
  const bool is_cut = !blocks.chosen_queries.empty();  // by the line's padding, which another computer adds as well
  const AxisRange& keys = is_cut ? blocks.chosen_keys : blocks.keys;
  for (const AxisRange& range : is_cut ? blocks.chosen_queries : blocks.queries)
    rows.add({.first = range.first, .end = range.first + range.count});
  figure["queries"] = ranges_of(rows);
  figure["keys"] = ranges_of(IndexRange{.first = keys.first, .end = keys.first + keys.count});
  figure.update(describe_style(options));
  if (const auto limits = options.color_limits.find(matrix.stage); limits != options.color_limits.end()) {
    figure["limits"] = {limits->second.low, limits->second.high};
  }
  return R"({"headlight": 1, "version": 1, "state": )" + options.session + R"(, "figure": )" + to_text(figure, -1) + "}";
}

ExportOptions options_of_figure(const json& figure, const SharedValue<BaselineRun>& baseline) {
  if (!figure.is_object()) refuse_member("figure", figure);
  ExportOptions options;
  if (member(figure, "difference", false)) {
    if (!baseline) throw Error("the figure shows a difference, but its session has no baseline");
    options.reference = *baseline;
  }
  const attention::Stage stage = stage_member(figure);
  options.stages = {stage};
  options.kind = enum_member(figure, "attention", kKinds, model::BlockKind::EncoderSelf);
  options.mean = enum_member(figure, "mean", kMeans, HeadMean::None);
  options.views = {&view_member(figure)};
  if (options.views.front()->scope == FigureScope::Attention) {
    options.layers = set_member(figure, "layers");
  } else if (options.mean != HeadMean::Kind) {
    options.layers = index_member(figure, "layer");
  }
  options.batch = index_member(figure, "batch");
  options.heads = options.mean == HeadMean::None ? set_member(figure, "heads") : std::nullopt;
  options.weighs_values = member(figure, "norms", false);
  options.row_names = enum_member(figure, "rows", kRowNames, RowNames::Read);
  options.queries = set_member(figure, "queries");
  if (const std::optional<IndexSet> keys = set_member(figure, "keys")) {
    if (keys->ranges().size() != 1) refuse_member("keys", figure.at("keys"));
    options.keys = keys->ranges().front();
  }
  read_style(figure, stage, options);
  return options;
}

}  // namespace headlight::app
