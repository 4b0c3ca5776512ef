#include "app/run_json.h"

#include <nlohmann/json.hpp>

#include "app/mask_json.h"
#include "app/state_json.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

using nlohmann::json;

json to_json(const AxisRange& range) {
  json indices = json::array();
  for (std::uint32_t i = 0; i < range.count; ++i) indices.push_back(range.first + i);
  return indices;
}

json to_json(const ExportBlocks& blocks, const RunRecord& record) {
  json layers = json::array();
  for (const model::BlockRef block : blocks.layers) layers.push_back(block.layer.value);
  const inference::BlockShape& shape = blocks.shape;
  const model::AttentionConfig& config = record.source.network->layer(blocks.layers.front()).config;
  return {{"layers", layers},
          {"batch", to_json(blocks.batch)},
          {"heads", to_json(blocks.heads)},
          {"shape",
           {{"batch", shape.batch},
            {"heads", shape.heads},
            {"queries", shape.queries},
            {"keys", shape.keys},
            {"d_model", shape.d_model},
            {"d_k", shape.d_k},
            {"d_v", shape.d_v}}},
          {"scale", config.scale.factor(config.d_k)},
          {"mask", to_json(record.options.inputs.masks[blocks.kind])}};
}

json to_json(const model::TokenBatch& tokens) { return {{"texts", tokens.texts}, {"lengths", tokens.lengths}}; }

json to_json(const ExportedFile& file) {
  json value = {{"name", file.name}, {"stage", file.stage}};
  if (!file.shape.empty()) {
    value["shape"] = file.shape;
    value["axes"] = file.axes;
  }
  return value;
}

}  // namespace

json run_json(const RunRecord& record) {
  const RunInputs& inputs = record.options.inputs;
  json value = {{"program", "headlight " HEADLIGHT_VERSION}, {"device", record.device}, {"notes", record.notes}};
  if (inputs.preset.empty()) {
    value["text"] = inputs.text;
    value["key_text"] = inputs.key_text;
    value["model"] = to_json(inputs.playground);
  } else {
    value["preset"] = inputs.preset;
    value["about"] = inference::make_notebook(inputs.preset).summary;
  }
  value["tokens"]["source"] = to_json(record.source.input->source);
  if (record.source.input->target) value["tokens"]["target"] = to_json(*record.source.input->target);
  value["parameters"] = record.source.network->parameter_count();
  for (const ExportBlocks& blocks : record.blocks) {
    value["attention"][std::string(model::to_string(blocks.kind))] = to_json(blocks, record);
  }
  value["files"] = json::array();
  for (const ExportedFile& file : record.files) value["files"].push_back(to_json(file));
  return value;
}

}  // namespace headlight::app
