#include "engine/reference_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "inference/reference_run.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace headlight::app {

ReferenceRun::ReferenceRun(inference::PassInputs pass)
    : Run(std::move(pass), {.gpu_ms = 0.42, .wall_ms = 0.5, .dispatches = 9, .device_bytes = std::size_t{1} << 20}) {
  static std::atomic<std::uint64_t> last{0};
  number_ = ++last;
  const model::Network& network = *inputs().network;
  const model::ModelInput& input = inputs().input;
  model::reference::PassRules rules = reference_rules(network, input, inputs().masks, inputs().interventions);
  rules.edit = {};
  model::reference::Run run = model::reference::run(network, input, rules);
  encoder_output_ = rounded(run.encoder_output);
  encoder_hidden_ = std::move(run.encoder_hidden);
  decoder_hidden_ = std::move(run.decoder_hidden);
  for (std::size_t i = 0; i < run.blocks.size(); ++i) stages_[run.blocks[i]] = std::move(run.stages[i]);
}

inference::BlockShape ReferenceRun::shape(model::BlockRef block) const {
  return inference::shape_of(inputs().network->layer(block), block.kind, inputs().input);
}

std::vector<attention::Tile> ReferenceRun::evaluate(std::span<const attention::TileRequest> requests) const {
  std::vector<attention::Tile> tiles;
  for (const attention::TileRequest& request : requests) tiles.push_back(tile(request));
  return tiles;
}

Tensor ReferenceRun::logits(std::span<const inference::StateRef> states) const {
  const model::Layers& layers = *inputs().network->layers;
  const std::vector<model::reference::Array>& hidden = decoder_hidden_.empty() ? encoder_hidden_ : decoder_hidden_;
  const std::uint32_t width = hidden.front().shape.back();
  const std::uint32_t length = hidden.front().shape.at(1);
  model::reference::Array rows = model::reference::zeros({1, static_cast<std::uint32_t>(states.size()), width});
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::size_t at = (std::size_t{states[i].batch} * length + states[i].token) * width;
    std::copy_n(hidden[states[i].layer].values.begin() + static_cast<std::ptrdiff_t>(at), width,
                rows.values.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  rows = model::reference::apply(layers.decoder.empty() ? layers.encoder_norm : layers.decoder_norm, std::move(rows));
  const Tensor logits = rounded(model::reference::unembed(*layers.unembedding, std::move(rows)));
  return {{static_cast<std::uint32_t>(states.size()), logits.shape.back()}, logits.values};
}

std::vector<Tensor> ReferenceRun::residuals(std::span<const inference::ResidualRows> requests) const {
  std::vector<Tensor> result;
  for (const inference::ResidualRows& rows : requests) {
    const auto& hidden = rows.stack == inference::Stack::Encoder ? encoder_hidden_ : decoder_hidden_;
    const model::reference::Array& state = hidden.at(rows.layer);
    const std::size_t width = state.shape.back();
    const auto first = state.values.begin() +
                       static_cast<std::ptrdiff_t>((std::size_t{rows.batch} * state.shape.at(1) + rows.first) * width);
    result.push_back({{rows.count, state.shape.back()},
                      std::vector<float>(first, first + static_cast<std::ptrdiff_t>(rows.count * width))});
  }
  return result;
}

Tensor ReferenceRun::rounded(const model::reference::Array& array) {
  if (array.values.empty()) return {};
  return {array.shape, std::vector<float>(array.values.begin(), array.values.end())};
}

attention::Tile ReferenceRun::tile(const attention::TileRequest& request) const {
  const inference::BlockShape block = shape(request.block);
  const auto extent = block.extent(request.stage);
  if (!extent) throw Error("no stage {} here", attention::to_string(request.stage));
  const bool is_keys_side = request.stage == attention::Stage::K || request.stage == attention::Stage::V;
  const std::uint32_t heads = is_keys_side ? block.kv_heads : block.heads;
  const std::uint32_t head = is_keys_side ? request.head / (block.heads / block.kv_heads) : request.head;
  const std::size_t plane =
      attention::is_per_head(request.stage) ? std::size_t{request.batch} * heads + head : request.batch;
  const double* matrix = stages_.at(request.block)[request.stage].values.data() + plane * extent->rows * extent->columns;
  attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
  const bool is_map = attention::is_map(request.stage);
  for (std::uint32_t row = request.row; row < request.row + request.rows; row += request.pool) {
    for (std::uint32_t column = request.column; column < request.column + request.columns; column += request.column_pool()) {
      pool(tile, matrix, *extent, row, column);
    }
  }
  if (!is_map) return tile;
  const model::reference::AttentionStages& stages = stages_.at(request.block);
  for (std::uint32_t row = request.row; row < request.row + request.rows; ++row) {
    const std::size_t at = plane * extent->rows + row;
    tile.row_max.push_back(static_cast<float>(stages.row_max.values[at]));
    tile.row_sum.push_back(static_cast<float>(stages.row_sum.values[at]));
  }
  return tile;
}

void ReferenceRun::pool(attention::Tile& tile, const double* matrix, inference::BlockShape::Extent extent, std::uint32_t row,
                        std::uint32_t column) const {
  const attention::TileRequest& request = tile.request;
  double sum = 0.0;
  double highest = 0.0;
  bool are_all_masked = true;
  int count = 0;
  const std::uint32_t square_rows = request.sampled_rows > 0 ? request.sampled_rows : request.pool;
  for (std::uint32_t r = row; r < std::min(row + square_rows, request.row + request.rows); ++r) {
    for (std::uint32_t c = column; c < std::min(column + request.column_pool(), request.column + request.columns); ++c) {
      const double value = matrix[std::size_t{r} * extent.columns + c];
      sum += value;
      highest = std::max(highest, value);
      ++count;
      are_all_masked = are_all_masked && attention::is_map(request.stage) && !is_visible(request, r, c);
    }
  }
  tile.values.push_back(static_cast<float>(request.stage == attention::Stage::Weights ? highest : sum / count));
  if (attention::is_map(request.stage)) tile.masked.push_back(are_all_masked ? 1 : 0);
}

bool ReferenceRun::is_visible(const attention::TileRequest& request, std::uint32_t query, std::uint32_t key) const {
  const model::BlockKind kind = request.block.kind;
  return inputs().masks[kind].is_visible(request.block.layer.value, request.batch, request.head, query, key,
                                         inputs().input.keys(kind).lengths[request.batch]);
}

void ReferenceRunner::load(std::shared_ptr<const model::Layers> /*layers*/, inference::Precision /*precision*/,
                           const inference::LoadObserver& observer) {
  if (observer && !observer(1, 1)) throw Error(ErrorKind::Cancelled, "loading was cancelled");
}

std::shared_ptr<const inference::Run> ReferenceRunner::run(inference::PassInputs pass,
                                                           std::shared_ptr<const inference::Run>&& base) {
  model::check(*pass.network, pass.input);
  base.reset();
  return std::make_shared<ReferenceRun>(std::move(pass));
}

std::unique_ptr<Runner> open_reference_runner(const std::string& /*device*/) { return std::make_unique<ReferenceRunner>(); }

}  // namespace headlight::app
