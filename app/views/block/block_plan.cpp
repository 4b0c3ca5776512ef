#include "app/views/block/block_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/quantities/formulas.h"

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
    add(Stage::Residual, {0, 0}, {}, "",
        "What the layers before have written: one vector for each token. This layer reads it and adds to it.");
    const std::string norm = operation(Stage::X);
    add(Stage::X, {0, 1}, {Stage::Residual}, norm.empty() && shape_.has_residual ? "as it is" : norm);
    add_projections();
    add_maps();
    add_outputs();
    if (shape_.d_ff > 0) add_feed_forward();
    return std::move(plan_);
  }

 private:
  struct Place {
    std::uint32_t row = 0, column = 0;
  };

  bool is_cross() const { return block_.kind == BlockKind::Cross; }
  bool has_weights() const { return layer_ && layer_->weights; }

  /// Adds a stage that the block has.
  void add(Stage stage, Place at, std::vector<Stage> inputs, std::string operation, std::string_view explanation = {}) {
    const auto extent = shape_.extent(stage);
    if (!extent) return;
    std::erase_if(inputs, [&](Stage input) { return plan_.find(input) == nullptr; });
    plan_.nodes.push_back({.stage = stage,
                           .operation = std::move(operation),
                           .explanation = explanation,
                           .row = at.row,
                           .column = at.column,
                           .inputs = std::move(inputs),
                           .rows = extent->rows,
                           .columns = extent->columns});
    plan_.rows = std::max(plan_.rows, at.row + 1);
    plan_.columns = std::max(plan_.columns, at.column + 1);
  }
  /// Likewise in the next column of a row.
  void add_next(Stage stage, std::vector<Stage> inputs, std::string operation, std::string_view explanation = {}) {
    if (!shape_.extent(stage)) return;
    add(stage, next_, std::move(inputs), std::move(operation), explanation);
    ++next_.column;
  }

  std::string operation(Stage stage) const { return formulas::operation(stage, {.block = block_, .layer = layer_}); }

  void add_stream(Stage stage, std::vector<Stage> inputs, std::string_view explanation) {
    add_next(stage, std::move(inputs), operation(stage), explanation);
  }

  void add_projections() {
    const std::string turn = layer_ && layer_->config.rotary ? ", RoPE" : "";
    const bool is_normed = has_weights() && layer_->weights->query_norm.has_value();
    const std::string norm = is_normed ? ", norm" : "";
    const char* memory = is_cross() ? "E" : "X";
    const auto operation = [&](const char* input, const char* weight, const std::string& after) {
      return has_weights() ? fmt::format("{} · {}{}", input, weight, after) : std::string();
    };
    const std::vector<Stage> of_keys = is_cross() ? std::vector<Stage>{} : std::vector<Stage>{Stage::X};
    add(Stage::Q, {0, 2}, {Stage::X}, operation("X", "W_Q", norm + turn));
    add(Stage::K, {0, 3}, of_keys, operation(memory, "W_K", norm + turn));
    add(Stage::V, {0, 4}, of_keys, operation(memory, "W_V", ""));
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
    add(Stage::Scores, {1, 0}, {Stage::Q, Stage::K}, "Q · K^T");
    add(Stage::Scaled, {1, 1}, {Stage::Scores}, scale_text());
    add(Stage::Masked, {1, 2}, {Stage::Scaled}, "mask");
    add(Stage::Weights, {1, 3}, {Stage::Masked}, "softmax");
    add(Stage::Heads, {1, 4}, {Stage::Weights, Stage::V}, "A · V");
  }

  void add_outputs() {
    const bool is_bug = layer_ && layer_->config.merge == model::MergeOrder::WithoutTranspose;
    next_ = {2, 0};
    add_next(Stage::Merged, {Stage::Heads}, is_bug ? "reshape" : "merge heads");
    add_next(Stage::Output, {Stage::Merged}, "· W_O");
    if (!shape_.has_residual || !layer_) return;
    const Stage added = shape_.d_output > 0 ? Stage::Output : Stage::Merged;
    const bool is_normed = layer_->norms.after.has_value();
    add_stream(Stage::AttentionSum, {added, Stage::Residual}, "The residual stream with what attention added to it.");
    add_stream(Stage::Attended, is_normed ? std::vector{Stage::AttentionSum} : std::vector{added, Stage::Residual},
               is_normed ? "The sum, normed: what the rest of the layer reads."
                         : "The residual stream with what attention added to it.");
  }

  void add_feed_forward() {
    const model::BranchNorms& norms = layer_->feed_forward_norms;
    const Stage stream = layer_->is_parallel ? Stage::Residual : Stage::Attended;
    const Stage read = norms.before ? Stage::FfnInput : stream;
    add_stream(Stage::FfnInput, {stream},
               layer_->is_parallel ? "What the feed-forward (MLP) reads: here the layer's input, parallel to attention."
                                   : "What the feed-forward (MLP) reads, each token by itself.");
    next_ = {3, 0};
    add_stream(Stage::FfnGate, {read}, "The gate of the feed-forward, before its activation.");
    add_stream(Stage::FfnHidden, {read}, "The wide layer inside of the feed-forward, before the activation.");
    add_stream(Stage::FfnActive, {Stage::FfnGate, Stage::FfnHidden},
               "The wide layer after the activation: its numbers weigh the rows of W_2.");
    add_stream(Stage::FfnOutput, {Stage::FfnActive}, "What the feed-forward (MLP) computes: each token by itself.");
    add_stream(Stage::FfnSum, {Stage::FfnOutput, Stage::Attended}, "The residual stream with what the feed-forward added.");
    add_stream(Stage::Next, norms.after ? std::vector{Stage::FfnSum} : std::vector{Stage::FfnOutput, Stage::Attended},
               "The residual stream that the next layer reads.");
  }

  model::BlockRef block_;
  const model::AttentionLayer* layer_;
  const inference::BlockShape& shape_;
  BlockPlan plan_;
  Place next_;
};

}  // namespace

std::string_view BlockNode::name() const {
  const std::string_view whole = quantity().title, symbol = quantity().symbol;
  if (whole == symbol) return {};
  return whole.starts_with(symbol) && whole.substr(symbol.size()).starts_with(' ') ? whole.substr(symbol.size() + 1) : whole;
}

const BlockNode* BlockPlan::find(std::string_view id) const {
  const auto found = std::ranges::find(nodes, id, &BlockNode::id);
  return found == nodes.end() ? nullptr : &*found;
}

const BlockNode* BlockPlan::find(attention::Stage stage) const { return find(attention::to_string(stage)); }

BlockPlan plan_block(model::BlockRef block, const model::AttentionLayer* layer, const inference::BlockShape& shape) {
  return Planner(block, layer, shape).plan();
}

}  // namespace headlight::app
