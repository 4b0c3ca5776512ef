#include "app/exports/record.h"

#include <algorithm>

#include "app/quantities/shown_map.h"
#include "app/state/state_json.h"
#include "app/state/state_names.h"
#include "export/json.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

using exporting::Json;

Json describe_language_model(const inference::LanguageModel& model, const Model& choice) {
  Json about = {{"name", model.description.name},
                {"family", model.description.family},
                {"model_type", model.description.model_type},
                {"precision", choice.precision == inference::Precision::F16 ? "f16" : "f32"},
                {"padding_side", choice.padding == inference::PaddingSide::Left ? "left" : "right"},
                {"adds_special", choice.adds_special},
                {"joins_lines", choice.joins_lines},
                {"stretches_positions", choice.stretches_positions}};
  if (choice.ids.empty()) about["text"] = choice.text;
  if (!choice.pair_text.empty()) about["pair_text"] = choice.pair_text;
  if (!choice.target_text.empty() && choice.target_ids.empty()) about["target_text"] = choice.target_text;
  return about;
}

/// Gains and patterns of heads.
void describe_changes(const RunInputs& inputs, Json& about) {
  const auto head = [](const auto& which) {
    return Json{
        {"attention", model::to_string(which.first.kind)}, {"layer", which.first.layer.value}, {"head", which.second}};
  };
  for (const auto& [which, gain] : inputs.gains) {
    about["gains"].push_back(head(which));
    about["gains"].back()["gain"] = gain;
  }
  for (const auto& [which, pattern] : inputs.patterns) {
    about["patterns"].push_back(head(which));
    about["patterns"].back()["pattern"] = attention::to_string(pattern.kind);
    for (const attention::NumberRun& run : pattern.weights.runs())
      about["patterns"].back()["weights"].push_back({run.query, run.first_key, run.count, run.paint});
  }
}

/// The settings that rebuild the network, and its sizes.
Json describe_model(const RunRecord& record) {
  const RunInputs& inputs = record.options.inputs;
  Json model = match(
      inputs.source,
      [](const Playground& playground) {
        Json about = {{"text", playground.text}, {"key_text", playground.key_text}};
        about.update(Json(to_json(playground.settings)));
        return about;
      },
      [](const Notebook& notebook) -> Json {
        return {{"preset", notebook.name}, {"about", inference::make_notebook(notebook.name).summary}};
      },
      [&](const Model& choice) { return describe_language_model(*record.language_model, choice); },
      [](const Capture& capture) -> Json {
        return {{"capture", capture.path}};
      });
  describe_changes(inputs, model);
  for (const ExportBlocks& blocks : record.blocks) {
    const inference::BlockShape& shape = blocks.shape;
    Json& attention = model["attention"][std::string(model::to_string(blocks.kind))];
    attention = {
        {"layers", blocks.all_layers}, {"batch", shape.batch},     {"heads", shape.heads}, {"queries", shape.queries},
        {"keys", shape.keys},          {"d_model", shape.d_model}, {"d_k", shape.d_k},     {"d_v", shape.d_v},
        {"scale", blocks.scale}};
  }
  return model;
}

Json describe_selection(const RunRecord& record) {
  const auto index = [](const std::optional<std::uint32_t>& value) { return value ? Json(*value) : Json(nullptr); };
  const auto range = [](const std::optional<IndexRange>& value) {
    return value ? Json{value->first, value->end} : Json(nullptr);
  };
  const ExportOptions& options = record.options;
  return {{"attention", options.kind ? Json(model::to_string(*options.kind)) : Json(nullptr)},
          {"layer", index(options.layer)},
          {"batch", index(options.batch)},
          {"head", index(options.head)},
          {"queries", range(options.queries)},
          {"keys", range(options.keys)},
          {"mean", options.mean == HeadMean::None ? Json(nullptr) : Json(to_string(options.mean))},
          {"norms", options.weighs_values},
          {"notes", record.notes}};
}

bool has_figures(const ExportOptions& options) {
  return std::any_of(options.formats.begin(), options.formats.end(),
                     [](ExportFormat format) { return format == ExportFormat::Png || format == ExportFormat::Svg; });
}

}  // namespace

void write_run_record(const std::filesystem::path& path, const RunRecord& record) {
  const ExportOptions& options = record.options;
  exporting::RunDescription run;
  run.program = "headlight " HEADLIGHT_VERSION;
  run.device = record.device;
  run.model = describe_model(record);
  run.input = &record.input;
  // A capture's weights were masked, if at all, before they were saved.
  const bool has_masks = !is_capture(options.inputs.source);
  for (const ExportBlocks& blocks : record.blocks) {
    if (has_masks) run.kinds.push_back(blocks.kind);
  }
  run.masks = options.inputs.masks;
  run.selection = describe_selection(record);
  if (has_figures(options)) {
    run.view = {{"color_map", options.color_map},
                {"color_range", options.is_row_normalized ? "row" : "absolute"},
                {"color_scale", std::string(enum_name<view::ScaleSpread>(kSpreads, options.color_spread))},
                {"theme", options.is_dark ? "dark" : "light"}};
    for (const auto& [stage, limits] : options.color_limits) {
      run.view["color_limits"][std::string(attention::to_string(stage))] = {limits.low, limits.high};
    }
  }
  run.stages = record.stages;
  exporting::write_run_json(path, run);
}

}  // namespace headlight::app
