#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/shapes/quantities/tile_query.h"
#include "app/state/field_values.h"
#include "app/state/mask_json.h"
#include "app/state/model_changes.h"
#include "app/state/session_file.h"
#include "app/state/setting_text.h"
#include "app/state/state_json.h"
#include "app/state/state_names.h"
#include "core/json.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

using exporting::Json;

/// {"length": n, "lengths": […], "texts": [[…]], "ids": [[…]]}: a list for each batch item, padding as "<pad>" and null;
/// with padding on the left "starts", the index of each item's first token.
Json describe_tokens(const model::TokenBatch& tokens) {
  Json description = {{"length", tokens.length}, {"lengths", tokens.lengths}};
  if (!tokens.starts.empty()) description["starts"] = tokens.starts;
  description["texts"] = tokens.texts;
  if (tokens.ids.size() != std::size_t{tokens.batch} * tokens.length) return description;
  Json lines = Json::array();
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    Json ids = Json::array();
    for (std::uint32_t token = 0; token < tokens.length; ++token) {
      const std::uint32_t id = tokens.ids[std::size_t{item} * tokens.length + token];
      ids.push_back(id == model::kPaddingId ? Json(nullptr) : Json(id));
    }
    lines.push_back(std::move(ids));
  }
  description["ids"] = std::move(lines);
  return description;
}

Json describe_language_model(const inference::LanguageModel& model, const Model& choice) {
  Json about = {{"name", model.description.name},
                {"family", model.description.family},
                {"model_type", model.description.model_type},
                {"precision", choice.precision == inference::Precision::F16 ? "f16" : "f32"},
                {"padding_side", choice.padding == inference::PaddingSide::Left ? "left" : "right"},
                {"adds_special", choice.adds_special},
                {"joins_lines", choice.joins_lines},
                {"chat", choice.is_chat},
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
  for (const SettingGroup* group : effective_groups(inputs.settings)) {
    for (const AnySetting* setting : group->settings)
      about[std::string(group->name)][std::string(setting->text.key)] = Json(write_setting(*setting, inputs.settings));
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
        Json preset = {{"preset", notebook.name}, {"about", std::string(inference::notebook_preset(notebook.name).summary)}};
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
Json describe_model(const ExportWork& work) {
  const RunSource::Source& source = work.source;
  Json model = describe_source(work.options.inputs, source.model.get(), *source.network, work.options.directory);
  for (const ExportBlocks& blocks : work.blocks) {
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

/// The masks of the kinds of attention that are written. A capture's weights were masked, if at all, before they were saved.
Json describe_masks(const RunInputs& inputs, const std::vector<ExportBlocks>& written) {
  Json masks = Json::object();
  if (is_capture(inputs.source)) return masks;
  for (const ExportBlocks& blocks : written)
    masks[std::string(model::to_string(blocks.kind))] = Json(to_json(inputs.masks[blocks.kind]));
  return masks;
}

void describe_input(const model::ModelInput& input, Json& about) {
  about["tokens"] = describe_tokens(input.source);
  if (input.target) about["target_tokens"] = describe_tokens(*input.target);
}

/// The run that is subtracted: what it is called, its source, tokens and masks.
Json describe_baseline(const ExportWork& work) {
  const BaselineRun& baseline = *work.options.baseline;
  const RunSource::Source& source = *work.baseline;
  Json about = {{"name", baseline.name},
                {"model", describe_source(baseline.inputs, source.model.get(), *source.network, work.options.directory)}};
  describe_input(*source.input, about);
  if (!is_capture(baseline.inputs.source)) about["masks"] = describe_masks(baseline.inputs, work.blocks);
  return about;
}

Json describe_figures(const ExportOptions& options) {
  Json view = {{"color_map", chart::to_string(options[kFigureLook.color_map])},
               {"color_range", options[kFigureLook.is_row_normalized] ? "row"
                               : options[kFigureDetails.is_quantile]  ? "quantile"
                                                                      : "largest"},
               {"color_scale", Json(write_setting(kFigureDetails.color_spread, options))},
               {"theme", options[kFigureDetails.is_dark] ? "dark" : "light"}};
  for (const auto& [stage, limits] : options.color_limits) {
    view["color_limits"][std::string(attention::to_string(stage))] = {limits.low, limits.high};
  }
  return view;
}

/// What figures show besides numbers, as far as it isn't as usual, in the words of sessions.
Json describe_choice(const FigureChoice& choice) {
  const State usual;
  State chosen;
  chosen.view.lines = choice.lines;
  chosen.view.locked = choice.token;
  chosen.heads = choice.heads;
  chosen.generation.sampling = choice.sampling;
  Json differences = Json(nlohmann::json::diff(to_json(usual), to_json(chosen)));
  if (choice.pinned) differences.push_back({{"pinned", {model::to_string(choice.pinned->kind), choice.pinned->row}}});
  return differences;
}

}  // namespace

Json describe_settings(const ExportOptions& options) {
  Json views = Json::array();
  for (const FigureKind* kind : figure_kinds_of(options)) views.push_back(kind->id);
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
          {"style", Json(describe_style(options))},
          {"views", std::move(views)},
          {"choice", describe_choice(options.choice)}};
}

std::string encode_run_record(const ExportWork& work, const Json& arrays) {
  const ExportOptions& options = work.options;
  Json document = {{"program", "headlight " HEADLIGHT_VERSION}};
  if (!work.device.empty()) document["device"] = work.device;
  document["model"] = describe_model(work);
  describe_input(*work.source.input, document);
  document["masks"] = describe_masks(options.inputs, work.blocks);
  if (work.baseline && writes_difference(options)) document["minus"] = describe_baseline(work);
  document["selection"] = describe_selection(options);
  document["selection"]["notes"] = work.notes;
  if (work.baseline && !writes_difference(options)) document["selection"]["beside"] = describe_baseline(work);
  if (std::ranges::any_of(options.formats, is_figure)) document["view"] = describe_figures(options);
  document["stages"] = arrays;
  if (!work.files.empty()) document["files"] = work.files;
  if (!work.earlier.empty()) document["earlier"] = work.earlier;
  return to_text(document) + "\n";
}

}  // namespace headlight::app
