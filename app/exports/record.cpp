#include "app/exports/record.h"

#include <algorithm>

#include "app/exports/figure_kind.h"
#include "app/quantities/shown_map.h"
#include "app/state/field_values.h"
#include "app/state/model_changes.h"
#include "app/state/portable_state.h"
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

/// Gains and patterns of heads, and activations that were put into the run.
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
  if (inputs.dropout.is_on()) {
    const DropoutChoices& dropout = inputs.dropout;
    about["dropout"] = {{"probability", dropout.probability}, {"seed", dropout.seed},
                        {"weights", dropout.weights},         {"embeddings", dropout.embeddings},
                        {"branches", dropout.branches},       {"feed_forward", dropout.inner}};
  }
  if (!inputs.changes.empty()) about["changes"] = Json(write_changes(inputs.changes));
}

/// The settings that rebuild the network, and what was changed about it. `folder`: of the export.
Json describe_source(const RunInputs& inputs, const inference::LanguageModel* language_model, const model::Network& network,
                     const std::filesystem::path& folder) {
  Json about = match(
      inputs.source,
      [](const Playground& playground) {
        Json settings = {{"text", playground.text}, {"key_text", playground.key_text}};
        settings.update(Json(to_json(playground.settings)));
        return settings;
      },
      [](const Notebook& notebook) -> Json {
        Json preset = {{"preset", notebook.name}, {"about", inference::make_notebook(notebook.name).summary}};
        if (!notebook.edits.is_empty()) preset["edits"] = Json(write_edits(notebook.edits));
        return preset;
      },
      [&](const Model& choice) { return describe_language_model(*language_model, choice); },
      [&](const Capture& capture) -> Json {
        return {{"capture", portable_path(capture.path, folder)}};
      });
  describe_changes(inputs, about);
  if (const std::string words = run_changes(inputs, language_model, network); !words.empty()) about["differs"] = words;
  return about;
}

/// The source, and its sizes.
Json describe_model(const RunRecord& record) {
  Json model = describe_source(record.options.inputs, record.language_model, record.network, record.options.directory);
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

Json describe_selection(const ExportOptions& options) {
  const auto index = [](const std::optional<std::uint32_t>& value) { return value ? Json(*value) : Json(nullptr); };
  const auto range = [](const IndexRange& value) { return Json{value.first, value.end}; };
  const auto set = [&](const std::optional<IndexSet>& value) {
    if (!value) return Json(nullptr);
    Json ranges = Json::array();
    for (const IndexRange& part : value->ranges()) ranges.push_back(range(part));
    return ranges;
  };
  return {{"attention", options.kind ? Json(model::to_string(*options.kind)) : Json(nullptr)},
          {"layers", set(options.layers)},
          {"batch", index(options.batch)},
          {"heads", set(options.heads)},
          {"queries", set(options.queries)},
          {"tokens", options.tokens},
          {"keys", options.keys ? range(*options.keys) : Json(nullptr)},
          {"mean", options.mean == HeadMean::None ? Json(nullptr) : Json(to_string(options.mean))},
          {"norms", options.weighs_values}};
}

/// The run that is subtracted: what it is called, its source, tokens and masks.
Json describe_reference(const RunRecord& record) {
  const BaselineRun& baseline = *record.options.reference;
  const model::ModelInput& input = *record.reference->input;
  Json about = {{"name", baseline.name},
                {"model", describe_source(baseline.inputs, record.reference->model.get(), *record.reference->network,
                                          record.options.directory)},
                {"tokens", exporting::describe_tokens(input.source)}};
  if (input.target) about["target_tokens"] = exporting::describe_tokens(*input.target);
  if (is_capture(baseline.inputs.source)) return about;
  for (const ExportBlocks& blocks : record.blocks) {
    about["masks"][std::string(model::to_string(blocks.kind))] =
        exporting::describe_mask(baseline.inputs.masks[blocks.kind]);
  }
  return about;
}

Json describe_figures(const ExportOptions& options) {
  Json view = {{"color_map", options.color_map},
               {"color_range", options.is_row_normalized ? "row" : "absolute"},
               {"color_scale", std::string(enum_name<view::ScaleSpread>(kSpreads, options.color_spread))},
               {"theme", options.is_dark ? "dark" : "light"}};
  for (const auto& [stage, limits] : options.color_limits) {
    view["color_limits"][std::string(attention::to_string(stage))] = {limits.low, limits.high};
  }
  return view;
}

/// -1 stands for none.
Json describe_heads(const HeadChoices& heads) {
  const auto number = [](const std::optional<evaluation::HeadMetric>& metric) {
    return metric ? static_cast<int>(*metric) : -1;
  };
  Json pinned = Json::array();
  for (const HeadRef& head : heads.pinned) {
    pinned.push_back({static_cast<int>(head.block.kind), head.block.layer.value, head.head});
  }
  return {number(heads.order), number(heads.filter), heads.least,      heads.lowest_first,
          heads.only_pinned,   heads.shows_badges,   std::move(pinned)};
}

Json describe_predictions(const FigureChoice& choice) {
  const inference::SamplingSettings& sampling = choice.sampling;
  Json description = {static_cast<int>(sampling.method), sampling.temperature, sampling.top_k, sampling.top_p};
  if (choice.pinned) {
    description.push_back(static_cast<int>(choice.pinned->kind));
    description.push_back(choice.pinned->row);
  }
  return description;
}

bool has_figures(const ExportOptions& options) { return std::ranges::any_of(options.formats, is_figure); }

}  // namespace

Json describe_settings(const ExportOptions& options) {
  Json views = Json::array();
  for (const FigureKind* kind : figure_kinds_of(options)) views.push_back(kind->id);
  const FigureChoice& choice = options.choice;
  const std::vector<std::uint32_t> token =
      choice.token ? std::vector{static_cast<std::uint32_t>(choice.token->side), choice.token->token}
                   : std::vector<std::uint32_t>();
  const exporting::FigureParts& parts = options.parts;
  Json formats = Json::array(), stages = Json::array();
  for (const ExportFormat format : options.formats) formats.push_back(to_string(format));
  for (const attention::Stage stage : options.stages) stages.push_back(attention::to_string(stage));
  for (const std::string& name : options.parameters) stages.push_back(name);
  return {{"difference", writes_difference(options)},
          {"formats", std::move(formats)},
          {"stages", std::move(stages)},
          {"hidden", options.hidden},
          {"logits", options.logits},
          {"selection", describe_selection(options)},
          {"figures", describe_figures(options)},
          {"title", options.title},
          {"map_edge_mm", options.map_edge_mm},
          {"dpi", options.dpi},
          {"views", std::move(views)},
          {"lines", {choice.lines.threshold, static_cast<int>(choice.lines.pair_part), choice.lines.hidden_heads}},
          {"token", token},
          {"heads", describe_heads(choice.heads)},
          {"predictions", describe_predictions(choice)},
          {"transparent", options.is_transparent},
          {"font", static_cast<int>(options.font)},
          {"parts", {parts.title, parts.settings, parts.labels, parts.bar, parts.legend, parts.numbers, parts.word_marks}},
          {"row_names", options.row_names == RowNames::Written ? "written" : "read"}};
}

std::string encode_run_record(const RunRecord& record) {
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
  run.selection = describe_selection(options);
  run.selection["notes"] = record.notes;
  if (has_figures(options)) run.view = describe_figures(options);
  run.stages = record.stages;
  if (record.reference != nullptr) {
    Json other = describe_reference(record);
    if (writes_difference(options)) {
      run.reference = std::move(other);
    } else {
      run.selection["beside"] = std::move(other);  // in pairs
    }
  }
  return exporting::encode_run_json(run);
}

}  // namespace headlight::app
