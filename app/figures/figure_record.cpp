#include "app/figures/figure_kind.h"
#include "app/state/setting_text.h"
#include "app/state/state_names.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMaxRanges = 1U << 16, kMaxIndex = 1U << 24;

json ranges_of(const IndexSet& set) {
  json list = json::array();
  for (const IndexRange& range : set.ranges()) list.push_back({range.first, range.end});
  return list;
}

std::uint32_t index_member(const JsonReader& figure, const char* key) {
  const json* found = figure.find(key);
  return JsonReader::integer(figure.path(key), found ? *found : json(), std::uint32_t{0}, kMaxIndex);
}

std::optional<IndexSet> set_member(const JsonReader& figure, const char* key) {
  const json* found = figure.find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  constexpr const char* kExpected = "ranges [[first, end], …]";
  if (!found->is_array() || found->empty() || found->size() > kMaxRanges) figure.fail(key, kExpected, *found);
  IndexSet set;
  for (const json& range : *found) {
    if (!range.is_array() || range.size() != 2) figure.fail(key, kExpected, *found);
    const auto end = JsonReader::integer(figure.path(key), range[1], std::uint32_t{1}, kMaxIndex);
    set.add({.first = JsonReader::integer(figure.path(key), range[0], std::uint32_t{0}, end - 1), .end = end});
  }
  return set;
}

attention::Stage stage_member(const JsonReader& figure) {
  std::vector<std::string_view> names;
  for (std::size_t stage = 0; stage < attention::kStages; ++stage)
    names.push_back(attention::to_string(static_cast<attention::Stage>(stage)));
  const std::optional<std::size_t> stage = figure.read_choice("stage", names);
  if (!stage) throw Error("{} is missing: a figure is of a stage", figure.path("stage"));
  return static_cast<attention::Stage>(*stage);
}

const FigureKind& view_member(const JsonReader& figure) {
  std::string id;
  figure.read("view", id);
  const FigureKind* kind = find_figure_kind(id);
  if (kind == nullptr) figure.fail("view", "a kind of figure", id);
  return *kind;
}

void read_style(const JsonReader& figure, attention::Stage stage, ExportOptions& options) {
  read_look(figure, options);
  figure.read("norms", options.weighs_values);
  if (const json* limits = figure.find("limits")) {
    const bool are_two = limits->is_array() && limits->size() == 2 && (*limits)[0].is_number() && (*limits)[1].is_number();
    if (!are_two || !((*limits)[0].get<float>() < (*limits)[1].get<float>())) figure.fail("limits", "[low, high]", *limits);
    options.color_limits[stage] = {.low = (*limits)[0].get<float>(), .high = (*limits)[1].get<float>()};
  }
}

}  // namespace

void read_look(const JsonReader& figure, Choices& look) {
  for (const SettingGroup* group : kFigureStyle) {
    for (const AnySetting* setting : group->settings) read_setting(*setting, figure, look);
  }
  const json* parts = figure.find("parts");
  if (parts == nullptr) return;
  const JsonReader reader(*parts, figure.path("parts"));
  for (const AnySetting* part : kFigureParts.settings) read_setting(*part, reader, look);
}

json describe_look(const Choices& look) {
  json style;
  for (const SettingGroup* group : kFigureStyle) {
    for (const AnySetting* setting : group->settings) style[setting->text.key] = write_setting(*setting, look);
  }
  if (look[kFigureDetails.width_mm] > 0.0F) style["size_mm"] = 0.0F;  // it follows from the width
  for (const AnySetting* part : kFigureParts.settings) style["parts"][part->text.key] = write_setting(*part, look);
  return style;
}

json describe_style(const ExportOptions& options) {
  json style = describe_look(options);
  style["norms"] = options.weighs_values;
  return style;
}

std::string figure_session(const ExportOptions& options, const ExportBlocks& blocks, const MatrixRef& matrix,
                           const FigureKind& kind) {
  if (options.session.empty()) return {};
  const bool is_of_head = kind.scope == FigureScope::Head;
  json figure = {{"view", kind.id},
                 {"stage", attention::to_string(matrix.stage)},
                 {"attention", enum_name(kKinds, matrix.block.kind)},
                 {"batch", matrix.batch},
                 {"mean", enum_name(kMeans, blocks.mean)},
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
  if (is_of_head && is_of_keys(matrix.stage)) figure["heads"] = ranges_of(matrix.head * blocks.shape.group());
  const bool is_cut = !blocks.chosen_queries.is_empty();  // by the line's padding, which another computer adds as well
  figure["queries"] = ranges_of(is_cut ? blocks.chosen_queries : blocks.queries);
  figure["keys"] = ranges_of(is_cut ? blocks.chosen_keys : blocks.keys);
  figure.update(describe_style(options));
  if (const auto limits = options.color_limits.find(matrix.stage); limits != options.color_limits.end()) {
    figure["limits"] = {limits->second.low, limits->second.high};
  }
  return R"({"headlight": 1, "version": 1, "state": )" + options.session + R"(, "figure": )" + to_text(figure, -1) + "}";
}

ExportOptions options_of_figure(const json& member, const SharedValue<BaselineRun>& baseline) {
  const JsonReader figure(member, "figure");
  ExportOptions options;
  bool is_difference = false;
  figure.read("difference", is_difference);
  if (is_difference) {
    if (!baseline) throw Error("the figure shows a difference, but its session has no baseline");
    options.baseline = *baseline;
  }
  const attention::Stage stage = stage_member(figure);
  options.stages = {stage};
  figure.read_enum("attention", options.kind.emplace(model::BlockKind::EncoderSelf), kKinds);
  figure.read_enum("mean", options.mean, kMeans);
  options.views = {&view_member(figure)};
  if (options.views.front()->scope == FigureScope::Attention) {
    options.layers = set_member(figure, "layers");
  } else if (options.mean != HeadMean::Kind) {
    options.layers = index_member(figure, "layer");
  }
  options.batch = index_member(figure, "batch");
  if (options.mean == HeadMean::None) options.heads = set_member(figure, "heads");
  options.queries = set_member(figure, "queries");
  if (const std::optional<IndexSet> keys = set_member(figure, "keys")) {
    if (keys->ranges().size() != 1) figure.fail("keys", "one range", member.at("keys"));
    options.keys = keys->ranges().front();
  }
  read_style(figure, stage, options);
  return options;
}

}  // namespace headlight::app
