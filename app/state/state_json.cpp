#include "app/state/state_json.h"

#include <algorithm>
#include <array>

#include "app/state/json_reader.h"
#include "app/state/mask_json.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::array<EnumName<inference::PaddingSide>, 2> kPaddingSides = {
    {{inference::PaddingSide::Right, "right"}, {inference::PaddingSide::Left, "left"}}};
constexpr std::array<EnumName<inference::Precision>, 2> kPrecisions = {
    {{inference::Precision::F32, "f32"}, {inference::Precision::F16, "f16"}}};
constexpr std::array<EnumName<inference::SamplingMethod>, 2> kMethods = {
    {{inference::SamplingMethod::Greedy, "greedy"}, {inference::SamplingMethod::Random, "random"}}};
constexpr std::array<EnumName<Theme>, 2> kThemes = {{{Theme::Dark, "dark"}, {Theme::Light, "light"}}};
constexpr std::array<EnumName<ColorRange>, 2> kRanges = {{{ColorRange::Absolute, "absolute"}, {ColorRange::PerRow, "row"}}};
constexpr std::array<EnumName<view::ScaleSpread>, 2> kSpreads = {
    {{view::ScaleSpread::Linear, "linear"}, {view::ScaleSpread::Log, "log"}}};
constexpr std::array<EnumName<RowNames>, 2> kRowNames = {{{RowNames::Written, "written"}, {RowNames::Read, "read"}}};
constexpr std::array<EnumName<HeadMean>, 3> kMeans = {
    {{HeadMean::None, "none"}, {HeadMean::Layer, "layer"}, {HeadMean::Kind, "kind"}}};
constexpr std::array<EnumName<GridOrder>, 2> kOrders = {
    {{GridOrder::ByLayer, "layer"}, {GridOrder::ByConcentration, "concentration"}}};
constexpr std::array<EnumName<PaintReach>, 3> kReaches = {
    {{PaintReach::ThisHead, "head"}, {PaintReach::ThisLayer, "layer"}, {PaintReach::AllLayers, "all"}}};
constexpr std::array<EnumName<model::MergeOrder>, 2> kMerges = {
    {{model::MergeOrder::Concatenate, "concatenate"}, {model::MergeOrder::WithoutTranspose, "without-transpose"}}};
constexpr std::array<EnumName<model::BlockKind>, 3> kKinds = {{{model::BlockKind::EncoderSelf, "encoder"},
                                                               {model::BlockKind::DecoderSelf, "decoder"},
                                                               {model::BlockKind::Cross, "cross"}}};
constexpr std::array<EnumName<attention::Stage>, 4> kMapStages = {{{attention::Stage::Scores, "scores"},
                                                                   {attention::Stage::Scaled, "scaled"},
                                                                   {attention::Stage::Masked, "masked"},
                                                                   {attention::Stage::Weights, "weights"}}};

template <typename Enum, std::size_t size>
std::string_view name_in(const std::array<EnumName<Enum>, size>& names, Enum value) {
  return enum_name(std::span<const EnumName<Enum>>(names), value);
}
template <typename Enum, std::size_t size>
void read_enum(const JsonReader& reader, const char* key, Enum& out, const std::array<EnumName<Enum>, size>& names) {
  reader.read_enum(key, out, std::span<const EnumName<Enum>>(names));
}

json scale_to_json(const model::Scale& scale) {
  switch (scale.kind) {
    case model::Scale::Kind::InverseSqrtKey:
      return "1/sqrt(d_k)";
    case model::Scale::Kind::None:
      return "none";
    case model::Scale::Kind::Value:
      break;
  }
  return scale.value;
}

model::Scale scale_from_json(const JsonReader& reader, const char* key, const model::Scale& otherwise) {
  const json* value = reader.find(key);
  if (!value) return otherwise;
  if (*value == "1/sqrt(d_k)") return {};
  if (*value == "none") return {.kind = model::Scale::Kind::None, .value = 1.0f};
  if (!value->is_number() || !std::isfinite(value->get<float>())) reader.fail(key, "1/sqrt(d_k), none or a number", *value);
  return {.kind = model::Scale::Kind::Value, .value = value->get<float>()};
}

inference::PlaygroundSettings playground_from_json(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  inference::PlaygroundSettings settings;
  reader.read("d_model", settings.d_model, 1u, inference::kMaxWidth);
  reader.read("heads", settings.heads, 1u, inference::kMaxHeads);
  reader.read("d_k", settings.d_k, 0u, inference::kMaxWidth);
  reader.read("d_v", settings.d_v, 0u, inference::kMaxWidth);
  reader.read("layers", settings.layers, 1u, inference::kMaxLayers);
  reader.read("seed", settings.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  settings.scale = scale_from_json(reader, "scale", settings.scale);
  reader.read("bias", settings.bias);
  reader.read("output_projection", settings.output_projection);
  reader.read("positions", settings.positions);
  read_enum(reader, "merge", settings.merge, kMerges);
  return settings;
}

std::vector<std::vector<std::uint32_t>> ids_from_json(const JsonReader& reader, const char* key) {
  constexpr std::uint32_t kLast = 0xffff'fffeu;  // ids beyond the vocabulary are refused when the prompt is made
  std::vector<std::vector<std::uint32_t>> ids;
  const json* value = reader.find(key);
  if (!value) return ids;
  if (!value->is_array()) reader.fail(key, "lists of whole numbers", *value);
  for (const json& line : *value) {
    if (!line.is_array()) reader.fail(key, "lists of whole numbers", *value);
    std::vector<std::uint32_t>& item = ids.emplace_back();
    for (const json& id : line) item.push_back(JsonReader::integer(reader.path(key), id, 0u, kLast));
  }
  return ids;
}

json model_to_json(const ModelChoice& model) {
  return {{"path", model.path},
          {"pair_text", model.pair_text},
          {"target_text", model.target_text},
          {"ids", model.ids},
          {"target_ids", model.target_ids},
          {"translates", model.translates},
          {"adds_special", model.adds_special},
          {"padding", name_in(kPaddingSides, model.padding)},
          {"precision", name_in(kPrecisions, model.precision)}};
}

ModelChoice model_from_json(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  ModelChoice model;
  reader.read("path", model.path);
  reader.read("pair_text", model.pair_text);
  reader.read("target_text", model.target_text);
  model.ids = ids_from_json(reader, "ids");
  model.target_ids = ids_from_json(reader, "target_ids");
  reader.read("translates", model.translates);
  reader.read("adds_special", model.adds_special);
  read_enum(reader, "padding", model.padding, kPaddingSides);
  read_enum(reader, "precision", model.precision, kPrecisions);
  return model;
}

json gains_to_json(const inference::HeadGains& gains) {
  json list = json::array();
  for (const auto& [head, gain] : gains) {
    list.push_back({{"kind", name_in(kKinds, head.first.kind)},
                    {"layer", head.first.layer.value},
                    {"head", head.second},
                    {"gain", gain}});
  }
  return list;
}

inference::HeadGains gains_from_json(const JsonReader& parent, const char* key) {
  constexpr std::uint32_t kLast = 0xffff'fffeu;
  constexpr float kLargest = 1e6f;
  inference::HeadGains gains;
  const json* value = parent.find(key);
  if (!value) return gains;
  if (!value->is_array()) parent.fail(key, "a list of heads", *value);
  for (const json& head : *value) {
    const JsonReader reader(head, parent.path(key));
    model::BlockRef block;
    std::uint32_t number = 0;
    float gain = 1.0f;
    read_enum(reader, "kind", block.kind, kKinds);
    reader.read("layer", block.layer.value, 0u, kLast);
    reader.read("head", number, 0u, kLast);
    reader.read("gain", gain, -kLargest, kLargest);
    gains[{block, number}] = gain;
  }
  return gains;
}

json generation_to_json(const GenerationChoices& generation) {
  const inference::SamplingSettings& sampling = generation.sampling;
  return {{"tokens", generation.tokens},
          {"method", name_in(kMethods, sampling.method)},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"seed", sampling.seed}};
}

GenerationChoices generation_from_json(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  GenerationChoices generation;
  inference::SamplingSettings& sampling = generation.sampling;
  reader.read("tokens", generation.tokens, 1u, kMostGeneratedTokens);
  read_enum(reader, "method", sampling.method, kMethods);
  reader.read("temperature", sampling.temperature, kLeastTemperature, kMostTemperature);
  reader.read("top_k", sampling.top_k, 0u, kMostTopK);
  reader.read("top_p", sampling.top_p, 0.0f, 1.0f);
  reader.read("seed", sampling.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  return generation;
}

json selection_to_json(const Selection& selection) {
  return {{"kind", name_in(kKinds, selection.block.kind)},
          {"layer", selection.block.layer.value},
          {"batch", selection.batch},
          {"head", selection.head},
          {"mean", name_in(kMeans, selection.mean)}};
}

Selection selection_from_json(const json& value, const std::string& path) {
  constexpr std::uint32_t kLast = 0xffff'fffeu;  // clamped to existing layers and heads once a run exists
  const JsonReader reader(value, path);
  Selection selection;
  read_enum(reader, "kind", selection.block.kind, kKinds);
  reader.read("layer", selection.block.layer.value, 0u, kLast);
  reader.read("batch", selection.batch, 0u, kLast);
  reader.read("head", selection.head, 0u, kLast);
  read_enum(reader, "mean", selection.mean, kMeans);
  return selection;
}

json limits_to_json(const std::map<attention::Stage, view::ValueLimits>& limits) {
  json value = json::object();
  for (const auto& [stage, ends] : limits) value[std::string(name_in(kMapStages, stage))] = {ends.low, ends.high};
  return value;
}

std::map<attention::Stage, view::ValueLimits> limits_from_json(const JsonReader& parent, const char* key) {
  std::map<attention::Stage, view::ValueLimits> limits;
  const json* value = parent.find(key);
  if (!value) return limits;
  const JsonReader reader(*value, parent.path(key));
  for (const auto& [stage, stage_name] : kMapStages) {
    const std::string name(stage_name);
    const json* ends = reader.find(name.c_str());
    if (!ends) continue;
    view::ValueLimits& read = limits[stage];
    const bool are_numbers = ends->is_array() && ends->size() == 2 && ends->at(0).is_number() && ends->at(1).is_number();
    if (are_numbers) read = {.low = ends->at(0).get<float>(), .high = ends->at(1).get<float>()};
    const bool are_in_order = are_numbers && std::isfinite(read.low) && std::isfinite(read.high) && read.low < read.high;
    if (!are_in_order) reader.fail(name.c_str(), "[low, high] with low below high", *ends);
  }
  return limits;
}

json view_to_json(const ViewChoices& view) {
  json value = {{"tab", view.tab},
                {"heatmap_stage", name_in(kMapStages, view.heatmap_stage)},
                {"color_map", view.color_map},
                {"color_range", name_in(kRanges, view.color_range)},
                {"color_spread", name_in(kSpreads, view.color_spread)},
                {"color_limits", limits_to_json(view.color_limits)},
                {"row_names", name_in(kRowNames, view.row_names)},
                {"grid_order", name_in(kOrders, view.grid_order)},
                {"paint_reach", name_in(kReaches, view.paint_reach)},
                {"show_numbers", view.show_numbers},
                {"theme", name_in(kThemes, view.theme)},
                {"ui_scale", view.ui_scale},
                {"pinned", nullptr}};
  if (view.pinned) value["pinned"] = {view.pinned->query, view.pinned->key};
  return value;
}

/// A version that has other views may have written the file, so any name of the kind that views have will do.
void read_view_id(const JsonReader& reader, const char* key, std::string& id) {
  constexpr std::size_t kLongest = 32;
  const json* value = reader.find(key);
  if (!value) return;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' '; };
  const std::string* text = value->is_string() ? &value->get_ref<const std::string&>() : nullptr;
  if (!text || text->empty() || text->size() > kLongest || !std::ranges::all_of(*text, fits)) {
    reader.fail(key, "the name of a view, for instance head", *value);
  }
  id = *text;
}

ViewChoices view_from_json(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  ViewChoices choices;
  read_view_id(reader, "tab", choices.tab);
  read_enum(reader, "heatmap_stage", choices.heatmap_stage, kMapStages);
  reader.read("color_map", choices.color_map);
  if (const Result<view::ColorMap> known = view::parse_color_map(choices.color_map); !known) {
    throw Error("{}: {}", reader.path("color_map"), known.error());
  }
  read_enum(reader, "color_range", choices.color_range, kRanges);
  read_enum(reader, "color_spread", choices.color_spread, kSpreads);
  choices.color_limits = limits_from_json(reader, "color_limits");
  read_enum(reader, "row_names", choices.row_names, kRowNames);
  read_enum(reader, "grid_order", choices.grid_order, kOrders);
  read_enum(reader, "paint_reach", choices.paint_reach, kReaches);
  reader.read("show_numbers", choices.show_numbers);
  read_enum(reader, "theme", choices.theme, kThemes);
  reader.read("ui_scale", choices.ui_scale, 0.0f, 4.0f);
  if (const json* pinned = reader.find("pinned"); pinned && !pinned->is_null()) {
    if (!pinned->is_array() || pinned->size() != 2) reader.fail("pinned", "[query, key]", *pinned);
    const auto coordinate = [&](std::size_t index) {
      return JsonReader::integer(reader.path("pinned"), pinned->at(index), 0u, inference::kMaxTokens);
    };
    choices.pinned = attention::Cell{.query = coordinate(0), .key = coordinate(1)};
  }
  return choices;
}

State read_state(const json& value) {
  const JsonReader reader(value, "");
  State state;
  reader.read("text", state.text);
  reader.read("key_text", state.key_text);
  reader.read("cross", state.cross);
  reader.read("preset", state.preset);
  if (const json* playground = reader.find("playground")) state.playground = playground_from_json(*playground, "playground");
  if (const json* masks = reader.find("masks")) state.masks = masks_from_json(*masks, "masks");
  if (const json* model = reader.find("model")) state.model = model_from_json(*model, "model");
  if (const json* masks = reader.find("model_masks")) state.model_masks = masks_from_json(*masks, "model_masks");
  state.gains = gains_from_json(reader, "gains");
  if (const json* generation = reader.find("generation")) {
    state.generation = generation_from_json(*generation, "generation");
  }
  if (const json* masks = reader.find("playground_masks")) {
    state.playground_masks = masks_from_json(*masks, "playground_masks");
  }
  if (const json* selection = reader.find("selection")) state.selection = selection_from_json(*selection, "selection");
  if (const json* view = reader.find("view")) state.view = view_from_json(*view, "view");
  return state;
}

}  // namespace

json to_json(const inference::PlaygroundSettings& settings) {
  return {{"d_model", settings.d_model},
          {"heads", settings.heads},
          {"d_k", settings.d_k},
          {"d_v", settings.d_v},
          {"layers", settings.layers},
          {"seed", settings.seed},
          {"scale", scale_to_json(settings.scale)},
          {"bias", settings.bias},
          {"output_projection", settings.output_projection},
          {"positions", settings.positions},
          {"merge", name_in(kMerges, settings.merge)}};
}

json to_json(const State& state) {
  return {{"text", state.text},
          {"key_text", state.key_text},
          {"cross", state.cross},
          {"playground", to_json(state.playground)},
          {"preset", state.preset},
          {"model", model_to_json(state.model)},
          {"model_masks", to_json(state.model_masks)},
          {"gains", gains_to_json(state.gains)},
          {"generation", generation_to_json(state.generation)},
          {"masks", to_json(state.masks)},
          {"playground_masks", to_json(state.playground_masks)},
          {"selection", selection_to_json(state.selection)},
          {"view", view_to_json(state.view)}};
}

Result<State> state_from_json(const json& value) {
  try {
    return read_state(value);
  } catch (const Error& error) {
    return Failure{error.what()};
  } catch (const json::exception& error) {
    return Failure{one_line(error.what())};
  }
}

}  // namespace headlight::app
