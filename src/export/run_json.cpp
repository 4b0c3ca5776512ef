#include "export/run_json.h"

#include "core/json.h"

namespace headlight::exporting {
namespace {

Json describe_matrix(const attention::BooleanMask& matrix) {
  Json items = Json::array();
  for (std::uint32_t batch = 0; batch < matrix.batch; ++batch) {
    Json heads = Json::array();
    for (std::uint32_t head = 0; head < matrix.heads; ++head) {
      Json rows = Json::array();
      for (std::uint32_t query = 0; query < matrix.queries; ++query) {
        std::string row;
        for (std::uint32_t key = 0; key < matrix.keys; ++key) row += matrix.is_kept(batch, head, query, key) ? '1' : '0';
        rows.push_back(std::move(row));
      }
      heads.push_back(std::move(rows));
    }
    items.push_back(std::move(heads));
  }
  return {{"shape", {matrix.batch, matrix.heads, matrix.queries, matrix.keys}}, {"keep", std::move(items)}};
}

Json describe_painted(const attention::PaintedCells& painted) {
  const auto index = [](const std::optional<std::uint32_t>& value) { return value ? Json(*value) : Json(nullptr); };
  Json cells = Json::array();
  for (const auto& [scope, in_scope] : painted) {
    in_scope.for_each_cell([&, &where = scope](attention::Cell cell, bool is_visible) {
      cells.push_back({{"layer", index(where.layer)},
                       {"batch", index(where.batch)},
                       {"head", index(where.head)},
                       {"query", cell.query},
                       {"key", cell.key},
                       {"visible", is_visible}});
    });
  }
  return cells;
}

/// Runs [query, first key, count, bias] of each scope.
Json describe_biases(const attention::PaintedBiases& biases) {
  const auto index = [](const std::optional<std::uint32_t>& value) { return value ? Json(*value) : Json(nullptr); };
  Json scopes = Json::array();
  for (const auto& [scope, numbers] : biases) {
    Json runs = Json::array();
    for (const attention::NumberRun& run : numbers.runs()) runs.push_back({run.query, run.first_key, run.count, run.paint});
    scopes.push_back({{"layer", index(scope.layer)},
                      {"batch", index(scope.batch)},
                      {"head", index(scope.head)},
                      {"runs", std::move(runs)}});
  }
  return scopes;
}

}  // namespace

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

Json describe_mask(const attention::MaskSpec& mask) {
  Json described = {{"rule", attention::to_string(mask.rule)},
                    {"key_padding", mask.rule.key_padding},
                    {"fill", attention::to_string(mask.fill)},
                    {"matrix", mask.matrix ? describe_matrix(*mask.matrix) : Json(nullptr)},
                    {"painted", describe_painted(mask.painted)}};
  if (!mask.biases.empty()) described["biases"] = describe_biases(mask.biases);
  if (mask.documents) {
    for (const auto& [item, begins] : *mask.documents)
      described["documents"].push_back({{"batch", item}, {"begins", begins}});
  }
  if (mask.mask_expression) described["mask_expression"] = mask.mask_expression.text();
  if (mask.score_expression) described["score_expression"] = mask.score_expression.text();
  if (!mask.sliders.empty()) described["sliders"] = mask.sliders;
  return described;
}

std::string encode_run_json(const RunDescription& run) {
  Json document = {{"program", run.program}};
  if (!run.device.empty()) document["device"] = run.device;
  document["model"] = run.model;
  document["tokens"] = describe_tokens(run.input->source);
  if (run.input->target) document["target_tokens"] = describe_tokens(*run.input->target);
  Json masks = Json::object();
  for (const model::BlockKind kind : run.kinds) masks[std::string(model::to_string(kind))] = describe_mask(run.masks[kind]);
  document["masks"] = std::move(masks);
  if (!run.reference.is_null()) document["minus"] = run.reference;
  document["selection"] = run.selection;
  if (!run.view.is_null()) document["view"] = run.view;
  Json stages = Json::array();
  for (const WrittenStage& stage : run.stages) {
    stages.push_back({{"file", stage.file}, {"stage", stage.stage}, {"shape", stage.shape}, {"axes", stage.axes}});
  }
  document["stages"] = std::move(stages);
  return to_text(document) + "\n";
}

}  // namespace headlight::exporting
