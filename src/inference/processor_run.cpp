#include "inference/processor_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "attention/run.h"
#include "core/error.h"
#include "core/half.h"
#include "ops/device_tensor.h"
#include "ops/host_tile.h"

namespace headlight::inference {
namespace {

using attention::Stage;
using model::reference::Array;
using model::reference::AttentionStages;

/// y = x · weightᵀ + bias in float32, 64 columns a part. The weight stays in its file, of which a part is decoded at once.
Array multiply_on_processor(ops::HostThreads& threads, Precision precision, const model::Linear& linear, const Array& x) {
  constexpr std::uint32_t kColumns = ops::HostTile::kColumns;
  const std::uint32_t in = linear.in(), out = linear.out();
  const std::size_t rows = x.values.size() / in;
  const std::vector<float> narrow(x.values.begin(), x.values.end());
  const Tensor bias = linear.bias.tensor();
  Shape shape = x.shape;
  shape.back() = out;
  Array y = model::reference::zeros(std::move(shape));
  const auto part = [&](std::uint32_t number) {
    const std::uint32_t first = number * kColumns, columns = std::min(kColumns, out - first);
    std::vector<float> weight(std::size_t{in} * kColumns), sums(rows * kColumns);
    linear.weight.read_columns(first, columns, weight.data(), kColumns);
    if (precision == Precision::F16) {
      for (float& one : weight) one = from_half(to_half(one));
    }
    ops::host_tile().multiply[static_cast<std::size_t>(ops::WeightType::F32)]({.x = narrow.data(),
                                                                               .x_stride = in,
                                                                               .rows = static_cast<std::uint32_t>(rows),
                                                                               .weight = weight.data(),
                                                                               .inner = in,
                                                                               .sum = sums.data(),
                                                                               .adds = false});
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::uint32_t c = 0; c < columns; ++c) {
        const double sum = static_cast<double>(sums[row * kColumns + c]);
        y.values[row * out + first + c] = bias.is_empty() ? sum : sum + static_cast<double>(bias.values[first + c]);
      }
    }
  };
  threads.run(ops::divide_up(out, kColumns), static_cast<double>(rows) * in * out, part);
  linear.weight.expect_intact();
  return y;
}

std::size_t bytes_of(const AttentionStages& stages) {
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < attention::kStages; ++i) numbers += stages[static_cast<Stage>(i)].values.size();
  return numbers * sizeof(double);
}

void note_rows(RunFindings& findings, model::BlockRef block, const AttentionStages& stages) {
  findings.all_rows += stages.row_sum.values.size();
  for (const double sum : stages.row_sum.values) {
    if (std::isfinite(sum)) continue;
    if (findings.rows++ == 0) findings.first_block = block;
  }
}

std::vector<float> rounded(std::span<const double> values) { return {values.begin(), values.end()}; }
Tensor rounded(const Array& array) {
  return array.values.empty() ? Tensor() : Tensor{array.shape, rounded(std::span(array.values))};
}

}  // namespace

ProcessorRun::ProcessorRun(PassInputs pass, const ProcessorSettings& settings, std::shared_ptr<ops::HostThreads> threads)
    : Run(std::move(pass), {}), threads_(std::move(threads)) {
  static std::atomic<std::uint64_t> last{0};
  number_ = ++last;
  const auto start = std::chrono::steady_clock::now();
  const model::Network& network = *inputs().network;
  const model::ModelInput& input = inputs().input;
  rules_ = reference_rules(network, input, inputs().masks, inputs().interventions);
  rules_.arithmetic.keeps_maps = false;
  rules_.arithmetic.is_single = true;
  rules_.arithmetic.multiply = [threads = threads_.get(), precision = settings.precision](const model::Linear& linear,
                                                                                          const Array& x) {
    return multiply_on_processor(*threads, precision, linear, x);
  };
  rules_.arithmetic.loop = [threads = threads_.get()](std::uint32_t count, double multiply_adds,
                                                      const std::function<void(std::uint32_t)>& part) {
    threads->run(count, multiply_adds, part);
  };
  RunFindings findings;
  std::size_t kept = 0;
  rules_.take = [&](model::BlockRef ref, const Array& x, Stages&& stages) {
    note_rows(findings, ref, stages);
    Block& block = blocks_[ref];
    kept += bytes_of(stages);
    if (kept <= settings.kept_bytes) {
      block.stages = std::make_shared<const Stages>(std::move(stages));
    } else {
      block.input = x;
    }
    if (settings.observer && !settings.observer(blocks_.size(), network.blocks().size())) {
      throw Error(ErrorKind::Cancelled, "the pass was cancelled");
    }
  };
  run_ = model::reference::run(network, input, rules_);
  rules_.take = {};
  if (const std::vector<Array>& all = states(last_stack()); !all.empty()) {
    findings.last_state = static_cast<std::uint64_t>(
        std::ranges::count_if(all.back().values, [](double one) { return !std::isfinite(static_cast<float>(one)); }));
  }
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  set_outcome({.gpu_ms = taken.count(), .wall_ms = taken.count()}, findings);
}

BlockShape ProcessorRun::shape(model::BlockRef block) const {
  if (!blocks_.contains(block))
    throw Error("the run has no {} attention in layer {}", to_string(block.kind), block.layer.value);
  return shape_of(inputs().network->layer(block), block.kind, inputs().input);
}

const AttentionStages& ProcessorRun::stages(model::BlockRef ref) const {
  const Block& block = blocks_.at(ref);
  if (block.stages) return *block.stages;
  if (again_ && again_->first == ref) return again_->second;
  const model::Network& network = *inputs().network;
  const bool has_encoder = !network.layers->encoder.empty();
  const Array memory = has_encoder || ref.kind != model::BlockKind::Cross
                           ? run_.encoder_output
                           : model::reference::embed(network.source_embedding.get(), inputs().input.source);
  again_.emplace(ref, model::reference::run_block(network, inputs().input, rules_, ref, block.input, memory));
  return again_->second;
}

std::vector<attention::Tile> ProcessorRun::evaluate(std::span<const attention::TileRequest> requests) const {
  for (const attention::TileRequest& request : requests) attention::check(shape(request.block), request);
  std::vector<attention::Tile> tiles;
  for (const attention::TileRequest& request : requests) tiles.push_back(tile(request));
  return tiles;
}

std::vector<float> ProcessorRun::cells(attention::Tile& tile, std::vector<std::uint8_t>& masked) const {
  const attention::TileRequest& request = tile.request;
  const BlockShape block = shape(request.block);
  const Stages& stages = this->stages(request.block);
  const attention::BlockShape::Extent extent = *block.extent(request.stage);
  const std::size_t matrix =
      std::size_t{request.batch} * block.matrices(request.stage) + block.matrix_of(request.stage, request.head);
  std::vector<float> cells(std::size_t{request.rows} * request.columns);
  const auto copy_row = [&](std::uint32_t row, const double* from) {
    std::copy_n(from + request.column, request.columns,
                cells.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * request.columns));
  };
  const auto stored_row = [&](std::uint32_t row) {
    return stages[request.stage].values.data() + (matrix * extent.rows + request.row + row) * extent.columns;
  };
  if (!attention::is_map(request.stage)) {
    for (std::uint32_t row = 0; row < request.rows; ++row) copy_row(row, stored_row(row));
    return cells;
  }
  masked.resize(cells.size());
  tile.row_max.resize(request.rows);
  tile.row_sum.resize(request.rows);
  const model::reference::Attention attention =
      model::reference::attention_of(*inputs().network, inputs().input, rules_, request.block);
  const auto compute = [&](std::uint32_t row) {
    model::reference::AttentionRow found =
        model::reference::attention_row(attention, stages, request.batch, request.head, request.row + row,
                                        request.stage == Stage::Weights || request.stage == Stage::Masked);
    tile.row_max[row] = static_cast<float>(found.max);
    tile.row_sum[row] = static_cast<float>(found.sum);
    for (std::uint32_t c = 0; c < request.columns; ++c) {
      masked[std::size_t{row} * request.columns + c] = found.is_visible[request.column + c] == 0 ? 1 : 0;
    }
    copy_row(row, found[request.stage].data());
  };
  threads_->run(request.rows, static_cast<double>(request.rows) * block.keys * block.d_k, compute);
  return cells;
}

attention::Tile ProcessorRun::tile(const attention::TileRequest& request) const {
  attention::Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
  std::vector<std::uint8_t> masked;
  const std::vector<float> cells = this->cells(tile, masked);
  const bool is_map = attention::is_map(request.stage);
  const bool takes_largest = request.stage == Stage::Weights && request.pooling == attention::Pooling::Max;
  const bool leaves_out_masked = request.stage == Stage::Masked && !request.is_exact();
  const auto fill = static_cast<float>(rules_.fills[static_cast<std::size_t>(request.block.kind)]);
  const std::uint32_t width = request.tile_columns();
  for (std::uint32_t first = 0; first < request.rows; first += request.pool) {
    attention::PooledRow pooled(request, takes_largest);
    std::vector<std::uint8_t> all_masked(is_map ? width : 0, 1);
    const std::uint32_t wanted = request.sampled_rows == 0 ? request.pool : request.sampled_rows;
    for (std::uint32_t row = first; row < std::min(first + wanted, request.rows); ++row) {
      const std::size_t at = std::size_t{row} * request.columns;
      const std::span line = std::span(cells).subspan(at, request.columns);
      if (!leaves_out_masked) pooled.add(line, 0, request.columns);
      for (std::uint32_t c = 0; is_map && c < request.columns; ++c) {
        if (masked[at + c] != 0) continue;
        all_masked[c / request.column_pool()] = 0;
        if (leaves_out_masked) pooled.add(line, c, c + 1);
      }
    }
    for (std::uint32_t at = 0; at < width; ++at) tile.values.push_back(pooled.is_empty(at) ? fill : pooled.value(at));
    tile.masked.insert(tile.masked.end(), all_masked.begin(), all_masked.end());
  }
  return tile;
}

const std::optional<model::Norm>& ProcessorRun::final_norm(Stack stack) const {
  const model::Layers& layers = *inputs().network->layers;
  return stack == Stack::Encoder ? layers.encoder_norm : layers.decoder_norm;
}

Tensor ProcessorRun::hidden(Stack stack) const {
  const std::vector<Array>& all = states(stack);
  if (all.empty() || all.front().values.empty()) return {};
  Shape shape = all.front().shape;
  shape.insert(shape.begin(), static_cast<std::uint32_t>(all.size()));
  Tensor result(shape);
  auto to = result.values.begin();
  for (std::size_t layer = 0; layer < all.size(); ++layer) {
    const bool is_last = layer + 1 == all.size();
    const Array state = is_last ? model::reference::apply(final_norm(stack), all[layer]) : all[layer];
    to = std::transform(state.values.begin(), state.values.end(), to, [](double one) { return static_cast<float>(one); });
  }
  return result;
}

Tensor ProcessorRun::encoder_output() const { return rounded(run_.encoder_output); }

Tensor ProcessorRun::logits() const {
  if (!has_logits()) return {};
  const Array& last = states(last_stack()).back();
  return rounded(model::reference::unembed(*inputs().network->layers->unembedding,
                                           model::reference::apply(final_norm(last_stack()), last), rules_.arithmetic));
}

Tensor ProcessorRun::logits(std::span<const StateRef> wanted) const {
  if (!has_logits() || wanted.empty()) return {};
  const std::vector<Array>& all = states(last_stack());
  const std::uint32_t length = all.front().shape.at(1), width = all.front().shape.back();
  Array rows{.shape = {1, static_cast<std::uint32_t>(wanted.size()), width}, .values = {}};
  for (const StateRef& state : wanted) {
    const Array& from = all[std::min<std::size_t>(state.layer, all.size() - 1)];
    const auto first =
        from.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{state.batch} * length + state.token) * width);
    rows.values.insert(rows.values.end(), first, first + width);
    if (!state.translator) continue;
    const Array read{.shape = {width}, .values = {first, first + width}};
    const Array translated = model::reference::apply(*state.translator, read);
    const auto to = rows.values.end() - static_cast<std::ptrdiff_t>(width);
    std::transform(to, rows.values.end(), translated.values.begin(), to, std::plus());
  }
  Tensor logits = rounded(model::reference::unembed(*inputs().network->layers->unembedding,
                                                    model::reference::apply(final_norm(last_stack()), std::move(rows)),
                                                    rules_.arithmetic));
  logits.shape.erase(logits.shape.begin());
  return logits;
}

std::vector<Tensor> ProcessorRun::products(std::span<const Product> products) const {
  std::vector<Tensor> result;
  for (const Product& product : products) {
    Array rows = model::reference::widen(product.rows);
    if (!product.weight) {
      const double scale{inputs().network->layers->unembedding.value().scale};
      for (double& value : rows.values) value *= scale;
    }
    const model::Linear& weight = product.weight ? *product.weight : inputs().network->layers->unembedding->linear;
    result.push_back(rounded(rules_.arithmetic.multiply(weight, rows)));
  }
  return result;
}

std::vector<Tensor> ProcessorRun::residuals(std::span<const ResidualRows> requests) const {
  std::vector<Tensor> result;
  for (const ResidualRows& rows : requests) {
    const bool is_encoder = rows.stack == Stack::Encoder, is_state = rows.part == StreamPart::State;
    const std::vector<Array>& all = states(rows.stack);
    if (rows.layer + (is_state ? 0U : 1U) >= all.size())
      throw Error("the run has no residual stream after {} layers", rows.layer);
    const model::BlockRef block{is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::Cross,
                                LayerIndex{rows.layer}};
    const Array& from = is_state ? all[rows.layer] : stages(block)[Stage::FfnOutput];
    if (from.values.empty()) throw Error("the run has no feed-forward network in layer {}", rows.layer);
    const std::uint32_t length = from.shape.at(1), width = from.shape.back();
    const bool is_inside = rows.batch < from.shape.front() && rows.first < length && rows.count <= length - rows.first;
    if (!is_inside || rows.count == 0) {
      throw Error("the run has no tokens {} to {} in batch item {}", rows.first, rows.first + rows.count, rows.batch);
    }
    const std::size_t at = (std::size_t{rows.batch} * length + rows.first) * width;
    result.push_back({{rows.count, width}, rounded(std::span(from.values).subspan(at, std::size_t{rows.count} * width))});
  }
  return result;
}

}  // namespace headlight::inference
