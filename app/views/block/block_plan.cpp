#include "app/views/block/block_plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace headlight::app {
namespace {

using attention::Stage;
using model::BlockKind;

/// Builds the nodes of one layer in the order of computation.
class Planner {
 public:
  Planner(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape)
      : block_(block), layer_(layer), shape_(shape) {}

  BlockPlan plan() {
    if (has_residual()) add_before();
    if (shape_.has_input) add_stage("x", Stage::X, 0, 1, {}, {input_operation()});
    add_projections();
    add_maps();
    add_outputs();
    return std::move(plan_);
  }

 private:
  bool is_cross() const { return block_.kind == BlockKind::Cross; }
  bool has_residual() const { return layer_ && shape_.has_input && !layer_->norms.is_empty(); }
  bool has_weights() const { return layer_ && layer_->weights; }

  std::string norm_text(const std::optional<model::Norm>& norm) const { return norm ? norm_name(*norm) : ""; }

  std::string input_operation() const {
    if (!layer_ || !layer_->norms.before) return has_residual() ? "as it is" : "";
    return norm_text(layer_->norms.before);
  }

  BlockNode& add(BlockNode node) { return plan_.nodes.emplace_back(std::move(node)); }

  void add_stage(std::string_view id, Stage stage, std::uint32_t row, std::uint32_t column,
                 std::vector<std::string_view> inputs, std::string operation) {
    const Quantity& shown = quantity(stage);
    const auto extent = shape_.extent(stage);
    if (!extent) return;
    std::erase_if(inputs, [&](std::string_view input) { return plan_.find(input) == nullptr; });
    if (inputs.empty() && plan_.find("before") && id == "x") inputs.push_back("before");
    add({.id = id,
         .title = shown.title,
         .symbol = shown.symbol,
         .operation = std::move(operation),
         .explanation = {},
         .role = shown.role,
         .stage = stage,
         .state = std::nullopt,
         .row = row,
         .column = column,
         .inputs = std::move(inputs),
         .rows = extent->rows,
         .columns = extent->columns});
  }

  void add_state(std::string_view id, StateMatrix state, const char* title, const char* symbol, std::uint32_t column,
                 std::vector<std::string_view> inputs, std::string operation, const char* explanation) {
    add({.id = id,
         .title = title,
         .symbol = symbol,
         .operation = std::move(operation),
         .explanation = explanation,
         .role = Role::Input,
         .stage = std::nullopt,
         .state = state,
         .row = state == StateMatrix::Before ? 0U : 2U,
         .column = column,
         .inputs = std::move(inputs),
         .rows = shape_.queries,
         .columns = shape_.d_output > 0 ? shape_.d_output : shape_.d_merged});
  }

  void add_before() {
    add_state("before", StateMatrix::Before, "residual stream", "x", 0, {}, "",
              "What the layers before have written: one vector for each token. This layer reads it and adds to it.");
  }

  void add_projections() {
    const std::string turn = layer_ && layer_->config.rotary ? ", RoPE" : "";
    const bool is_normed = has_weights() && layer_->weights->query_norm.has_value();
    const std::string norm = is_normed ? ", norm" : "";
    const char* memory = is_cross() ? "E" : "X";
    const auto operation = [&](const char* input, const char* weight, const std::string& after) {
      return has_weights() ? fmt::format("{} · {}{}", input, weight, after) : std::string();
    };
    const std::vector<std::string_view> of_keys =
        is_cross() ? std::vector<std::string_view>{} : std::vector<std::string_view>{"x"};
    add_stage("q", Stage::Q, 0, 2, {"x"}, operation("X", "W_Q", norm + turn));
    add_stage("k", Stage::K, 0, 3, of_keys, operation(memory, "W_K", norm + turn));
    add_stage("v", Stage::V, 0, 4, of_keys, operation(memory, "W_V", ""));
  }

  std::string scale_text() const {
    std::string text = "÷ √d_k";
    if (layer_ && layer_->config.scale.kind == model::Scale::Kind::None) text = "× 1";
    if (layer_ && layer_->config.scale.kind == model::Scale::Kind::Value) {
      text = fmt::format("× {:.3g}", layer_->config.scale.value);
    }
    if (layer_ && layer_->config.softcap > 0.0F) text += ", cap";
    if (layer_ && layer_->config.position_bias) text += ", + bias";
    return text;
  }

  void add_maps() {
    add_stage("scores", Stage::Scores, 1, 0, {"q", "k"}, "Q · K^T");
    add_stage("scaled", Stage::Scaled, 1, 1, {"scores"}, scale_text());
    add_stage("masked", Stage::Masked, 1, 2, {"scaled"}, "mask");
    add_stage("weights", Stage::Weights, 1, 3, {"masked"}, "softmax");
    add_stage("heads", Stage::Heads, 1, 4, {"weights", "v"}, "A · V");
  }

  void add_outputs() {
    const bool is_bug = layer_ && layer_->config.merge == model::MergeOrder::WithoutTranspose;
    add_stage("merged", Stage::Merged, 2, 0, {"heads"}, is_bug ? "reshape" : "merge heads");
    add_stage("output", Stage::Output, 2, 1, {"merged"}, "· W_O");
    if (!has_residual()) return;
    const std::string_view added = plan_.find("output") ? "output" : "merged";
    const std::string inside = layer_->norms.inside ? fmt::format("{}, ", norm_name(*layer_->norms.inside)) : "";
    const std::string after = layer_->norms.after ? fmt::format(", {}", norm_name(*layer_->norms.after)) : "";
    add_state("attended", StateMatrix::AfterAttention, "after attention", "y", 2, {added, "before"},
              fmt::format("{}+ x{}", inside, after), "The residual stream with what attention added to it.");
    if (!layer_->feed_forward) return;
    const model::BranchNorms& norms = layer_->feed_forward_norms;
    const std::string read = norms.before ? fmt::format("{}, MLP", norm_name(*norms.before)) : "MLP";
    const bool is_parallel = layer_->is_parallel;
    add_state("mlp", StateMatrix::FeedForward, "MLP's output", "m", 3,
              {is_parallel ? std::string_view("before") : std::string_view("attended")},
              read + (norms.inside ? fmt::format(", {}", norm_name(*norms.inside)) : ""),
              is_parallel
                  ? "What the multi-layer perceptron (MLP) adds. Here it reads the layer's input, parallel to attention."
                  : "What the multi-layer perceptron (MLP) adds: each token by itself.");
    add_state("next", StateMatrix::Next, "next layer's input", "x'", 4, {"attended", "mlp"},
              norms.after ? fmt::format("+ y, {}", norm_name(*norms.after)) : "+ y",
              "The residual stream that the next layer reads.");
  }

  model::BlockRef block_;
  const model::AttentionLayer* layer_;
  const inference::BlockShape& shape_;
  BlockPlan plan_;
};

}  // namespace

std::string_view BlockNode::name() const {
  const std::string_view whole = title;
  if (whole == symbol) return {};
  return whole.starts_with(symbol + " ") ? whole.substr(symbol.size() + 1) : whole;
}

const BlockNode* BlockPlan::find(std::string_view id) const {
  const auto found = std::ranges::find(nodes, id, &BlockNode::id);
  return found == nodes.end() ? nullptr : &*found;
}

BlockPlan plan_block(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape) {
  return Planner(block, layer, shape).plan();
}

const char* norm_name(const model::Norm& norm) { return norm.kind == model::Norm::Kind::Layer ? "LayerNorm" : "RMSNorm"; }

}  // namespace headlight::app
