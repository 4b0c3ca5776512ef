#include "app/analyses/block_states.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/error.h"

namespace headlight::app {
namespace {

using attention::Stage;
using model::BlockKind;

constexpr std::uint32_t kMostNumbers = 1U << 18U;

std::vector<float> sum(std::span<const float> a, std::span<const float> b) {
  std::vector<float> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = static_cast<float>(double{a[i]} + double{b[i]});
  return result;
}

std::vector<float> difference(std::span<const float> a, std::span<const float> b) {
  std::vector<float> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = static_cast<float>(double{a[i]} - double{b[i]});
  return result;
}

float reach(std::span<const float> values) {
  float largest = 0.0F;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// norm(rows); the rows themselves without a norm.
std::vector<float> apply(const std::optional<model::Norm>& norm, std::vector<float> rows, std::uint32_t width) {
  return norm ? apply_norm(*norm, rows, width) : std::move(rows);
}

/// The matrix that is a block's output: behind W_O, or the merged heads where there is none.
attention::TileRequest output_request(const AnalysisSubject& subject, model::BlockRef block, const BlockStates& window,
                                      std::uint32_t batch) {
  const inference::BlockShape& shape = subject.shapes.at(block);
  return {.block = block,
          .batch = batch,
          .head = 0,
          .stage = shape.d_output > 0 ? Stage::Output : Stage::Merged,
          .row = window.first,
          .rows = window.tokens,
          .column = 0,
          .columns = window.width,
          .pool = 1};
}

class BlockStatesTask final : public AnalysisTask {
 public:
  BlockStatesTask(const AnalysisQuery& query, AnalysisSubject subject, BlockStates window)
      : query_(query), subject_(std::move(subject)), found_(std::move(window)) {
    const bool is_encoder = query.block.kind == BlockKind::EncoderSelf;
    stack_ = is_encoder ? inference::Stack::Encoder : inference::Stack::Decoder;
    const model::BlockRef self{.kind = BlockKind::DecoderSelf, .layer = query.block.layer};
    const model::BlockRef cross{.kind = BlockKind::Cross, .layer = query.block.layer};
    if (query.block.kind == BlockKind::Cross && subject_.shapes.contains(self)) before_block_ = self;
    ends_layer_ = query.block.kind != BlockKind::DecoderSelf || !subject_.shapes.contains(cross);
    const model::AttentionLayer& layer = subject_.network->layer(query.block);
    // Only the normed sum is kept of such a layer, so the feed-forward is computed again.
    asks_feed_forward_ = ends_layer_ && layer.feed_forward && layer.feed_forward_norms.after;
  }

  Reads next(std::size_t /*most_cells*/) override {
    Reads reads;
    if (before_block_) reads.tiles.push_back(output_request(subject_, *before_block_, found_, query_.batch));
    reads.tiles.push_back(output_request(subject_, query_.block, found_, query_.batch));
    for (std::uint32_t layer = 0; layer < (ends_layer_ ? 2U : 1U); ++layer) {
      reads.residuals.push_back({.stack = stack_,
                                 .layer = query_.block.layer.value + layer,
                                 .batch = query_.batch,
                                 .first = found_.first,
                                 .count = found_.tokens});
    }
    if (asks_feed_forward_) {
      reads.residuals.push_back({.stack = stack_,
                                 .layer = query_.block.layer.value,
                                 .batch = query_.batch,
                                 .first = found_.first,
                                 .count = found_.tokens,
                                 .part = inference::StreamPart::FeedForward});
    }
    return reads;
  }

  void take(const Answers& answers) override {
    found_.before = answers.residuals.front().values;
    if (before_block_) {
      const model::AttentionLayer& self = subject_.network->layer(*before_block_);
      found_.before = behind_attention(self, found_.before, answers.tiles.front().values).state;
    }
    const model::AttentionLayer& layer = subject_.network->layer(query_.block);
    Branch branch = behind_attention(layer, found_.before, answers.tiles.back().values);
    found_.attention = std::move(branch.added);
    found_.after_attention = std::move(branch.state);
    if (ends_layer_) found_.next = answers.residuals[1].values;
    describe_feed_forward(layer, answers);
    found_.reaches = {reach(found_.before), reach(found_.after_attention), reach(found_.feed_forward), reach(found_.next)};
    is_done_ = true;
  }

  bool is_done() const override { return is_done_; }
  std::shared_ptr<const AnalysisResult> result() const override {
    return is_done_ ? std::make_shared<const BlockStates>(found_) : nullptr;
  }

 private:
  struct Branch {
    std::vector<float> added, state;
  };
  Branch behind_attention(const model::AttentionLayer& layer, std::span<const float> before,
                          std::vector<float> output) const {
    Branch branch;
    branch.added = apply(layer.norms.inside, std::move(output), found_.width);
    branch.state = apply(layer.norms.after, sum(before, branch.added), found_.width);
    return branch;
  }

  void describe_feed_forward(const model::AttentionLayer& layer, const Answers& answers) {
    if (!ends_layer_) {
      found_.no_feed_forward = "The layer's cross-attention comes next; its MLP is behind that.";
    } else if (!layer.feed_forward) {
      found_.no_feed_forward = "This layer has no MLP.";
    } else if (asks_feed_forward_) {
      found_.feed_forward = apply(layer.feed_forward_norms.inside, answers.residuals[2].values, found_.width);
    } else {
      found_.feed_forward = difference(found_.next, found_.after_attention);
    }
  }

  AnalysisQuery query_;
  AnalysisSubject subject_;
  BlockStates found_;
  inference::Stack stack_ = inference::Stack::Encoder;
  std::optional<model::BlockRef> before_block_;  ///< the layer's self-attention, before a cross-attention
  bool ends_layer_ = true;
  bool asks_feed_forward_ = false;
  bool is_done_ = false;
};

std::unique_ptr<AnalysisTask> begin_block_states(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const auto found = subject.shapes.find(query.block);
  if (found == subject.shapes.end() || query.batch >= found->second.batch) throw Error("this run has no such layer");
  const inference::BlockShape& shape = found->second;
  const model::AttentionLayer& layer = subject.network->layer(query.block);
  if (!shape.has_input || layer.norms.is_empty())
    throw Error("this layer has no residual stream: its output replaces its input");
  BlockStates window;
  window.width = shape.d_output > 0 ? shape.d_output : shape.d_merged;
  window.first = std::min(query.query, shape.queries - 1);
  window.tokens = std::min(shape.queries - window.first, most_state_tokens(window.width));
  return std::make_unique<BlockStatesTask>(query, subject, std::move(window));
}

}  // namespace

std::uint32_t most_state_tokens(std::uint32_t width) { return std::max(kMostNumbers / std::max(width, 1U), 1U); }

std::vector<float> apply_norm(const model::Norm& norm, std::span<const float> rows, std::uint32_t width) {
  const Tensor weight = norm.weight.tensor();
  const Tensor bias = norm.bias.tensor();
  const bool is_layer = norm.kind == model::Norm::Kind::Layer;
  std::vector<float> result(rows.size());
  for (std::size_t begin = 0; begin + width <= rows.size(); begin += width) {
    const std::span<const float> row = rows.subspan(begin, width);
    double mean = 0.0;
    if (is_layer) {
      for (const float x : row) mean += double{x};
      mean /= width;
    }
    double squares = 0.0;
    for (const float x : row) squares += (double{x} - mean) * (double{x} - mean);
    const double factor = 1.0 / std::sqrt(squares / width + double{norm.epsilon});
    for (std::size_t i = 0; i < width; ++i) {
      double value = (double{row[i]} - mean) * factor * (double{weight.values[i]} + double{norm.weight_offset});
      if (!bias.values.empty()) value += double{bias.values[i]};
      result[begin + i] = static_cast<float>(value);
    }
  }
  return result;
}

constexpr Analysis kBlockStates{.id = "block-states", .title = "residual stream of a block", .begin = &begin_block_states};

}  // namespace headlight::app
