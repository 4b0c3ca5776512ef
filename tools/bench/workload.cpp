#include "tools/bench/workload.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gpu/transfer.h"
#include "inference/reference_run.h"
#include "ops/attention.h"

namespace headlight::bench {
namespace {

using ops::LinearKernel;

Tensor random(Shape shape, float deviation) {
  Tensor tensor(std::move(shape));
  std::mt19937 bits(static_cast<std::uint32_t>(tensor.values.size()));
  std::normal_distribution<float> normal(0.0f, deviation);
  for (float& value : tensor.values) value = normal(bits);
  return tensor;
}

/// Weights of [out, in] scaled as in a trained layer: outputs as large as inputs.
Tensor random_weight(std::uint32_t out, std::uint32_t in) {
  return random({out, in}, 1.0f / std::sqrt(static_cast<float>(in)));
}

model::Linear random_linear(std::uint32_t out, std::uint32_t in) { return {random_weight(out, in), random({out}, 0.1f)}; }

ops::PackedLinear pack_random(gpu::Context& context, std::uint32_t sections, const Size& size, std::uint32_t heads) {
  const Tensor weight = random_weight(size.d_model, size.d_model);
  const Tensor bias = random({size.d_model}, 0.1f);
  const ops::LinearSource source{.weight = weight.values,
                                 .bias = bias.values,
                                 .out = size.d_model,
                                 .in = size.d_model,
                                 .out_heads = heads,
                                 .in_heads = 1};
  const std::vector<ops::LinearSource> sources(sections, source);
  return pack(context, sources, "the weights to measure");
}

/// Records calls with another kernel for the projections than the tuning's.
class OtherLinearKernel {
 public:
  OtherLinearKernel(ops::Kernels& kernels, LinearKernel kernel) : kernels_(kernels), before_(kernels.tuning()) {
    ops::Tuning tuning = before_;
    tuning.few_rows = kernel;
    tuning.many_rows = kernel;
    kernels.set_tuning(tuning);
  }
  ~OtherLinearKernel() { kernels_.set_tuning(before_); }
  OtherLinearKernel(const OtherLinearKernel&) = delete;
  OtherLinearKernel& operator=(const OtherLinearKernel&) = delete;

 private:
  ops::Kernels& kernels_;
  ops::Tuning before_;
};

LinearKernel tuned_linear(const ops::Tuning& tuning, std::uint32_t rows) {
  return rows <= ops::kFewRows ? tuning.few_rows : tuning.many_rows;
}

}  // namespace

std::uint32_t counts_of_pass(const gpu::Context& context) { return context.device().runs_host_steps ? 1 : 2; }

Workload::Workload(ops::Kernels& kernels, const Size& size)
    : kernels_(kernels), size_(size), scale_(1.0f / std::sqrt(static_cast<float>(size.d_head()))) {
  constexpr const char* kPurpose = "the matrices to measure";
  gpu::Context& context = kernels.context();
  projections_ = pack_random(context, 3, size, size.heads);
  output_ = pack_random(context, 1, size, 1);
  gpu::Stream stream(context);
  x_ = ops::DeviceTensor(stream, 1, 1, size.n, size.d_model, kPurpose);
  for (ops::DeviceTensor* heads : {&q_, &k_, &v_}) {
    *heads = ops::DeviceTensor(stream, 1, size.heads, size.n, size.d_head(), kPurpose);
  }
  merged_ = ops::DeviceTensor(stream, 1, 1, size.n, size.heads * v_.width4() * 4, kPurpose);
  y_ = ops::DeviceTensor(stream, 1, 1, size.n, size.d_model, kPurpose);
  stats_ = ops::make_stats(stream, 1, size.heads, size.n);
  mask_words_ = gpu::Buffer(context, 64, gpu::Memory::Device, kPurpose);
  cells_ =
      gpu::Buffer(context, std::size_t{tile_edge(size)} * tile_edge(size) * ops::kCellBytes, gpu::Memory::Device, kPurpose);
  stream.clear(mask_words_);
  mask_ = {.causal = true, .words = &mask_words_};
  scratch_ = std::make_unique<ops::AttentionScratch>(context, size.heads, size.n, size.n);
  x_.upload(stream, random({size.n, size.d_model}, 1.0f));
  // The inputs of softmax and weights · V must be real scores and weights.
  record(stream, Operation::QkvGemm);
  record_steps(stream, {});
  std::move(stream).submit().wait();
}

/// The tuning's attention kernel if it works by blocks, else the block kernel that reads like its other kernels.
ops::AttentionKernel Workload::blocks() const {
  const ops::Tuning& tuning = kernels_.tuning();
  if (needs_scratch(tuning.attention)) return tuning.attention;
  return tuning.texel_reads ? ops::AttentionKernel::BlocksTexel : ops::AttentionKernel::Blocks;
}

ops::AttentionInputs Workload::inputs() const {
  return {.q = q_, .k = k_, .v = v_, .mask = mask_, .scale = scale_, .queries = q_.all(), .keys = size_.n};
}

ops::AttentionOutputs Workload::outputs() const { return {merged_, stats_, ops::concatenated(size_.heads, v_.width4())}; }

void Workload::record_projection(gpu::Stream& stream, LinearKernel kernel) const {
  const OtherLinearKernel chosen(kernels_, kernel);
  project_heads(stream, kernels_, x_, projections_, &q_, &k_, &v_);
}

void Workload::record_steps(gpu::Stream& stream, ops::BlockSteps steps) const {
  const ops::AttentionParameters parameters = attention_parameters(inputs(), outputs());
  const ops::BlockInputs slices{q_.buffer(), k_.buffer(), v_.buffer(), mask_words_, merged_.buffer(), stats_.buffer(), 1};
  attention_blocks(stream, kernels_, blocks(), *scratch_, slices, parameters, steps);
}

void Workload::record_tile(gpu::Stream& stream, const ops::Region& region) const {
  map_cells(stream, kernels_, ops::MapStage::Weights, inputs(), stats_, {}, region, cells_, 0);
}

void Workload::record(gpu::Stream& stream, Operation operation) const {
  const std::uint32_t edge = tile_edge(size_);
  switch (operation) {
    case Operation::LinearNaive:
      return record_projection(stream, LinearKernel::Naive);
    case Operation::LinearVec4:
      return record_projection(stream, LinearKernel::Vec4);
    case Operation::LinearVec4Texel:
      return record_projection(stream, LinearKernel::Vec4Texel);
    case Operation::LinearTiled:
      return record_projection(stream, LinearKernel::Tiled);
    case Operation::LinearShuffle:
      return record_projection(stream, LinearKernel::Shuffle);
    case Operation::LinearShuffleTexel:
      return record_projection(stream, LinearKernel::ShuffleTexel);
    case Operation::QkvGemm:
      return record_projection(stream, tuned_linear(kernels_.tuning(), size_.n));
    case Operation::AttentionScores:
      return record_steps(stream, {.scores = true, .softmax = false, .values = false});
    case Operation::MaskedSoftmax:
      return record_steps(stream, {.scores = false, .softmax = true, .values = false});
    case Operation::AttentionMerge:
      return record_steps(stream, {.scores = false, .softmax = false, .values = true});
    case Operation::Attention:
      return ops::attention(stream, kernels_, inputs(), outputs(), scratch_.get());
    case Operation::OutputProjection:
      return linear(stream, kernels_, merged_, output_, y_);
    case Operation::Tile:
      return record_tile(stream, {size_.n - edge, edge, 0, edge, 1});
    case Operation::TilePooled:
      return record_tile(stream, {0, size_.n, 0, size_.n, kPool});
    case Operation::Forward:
    case Operation::HeadMerge:
      return;
  }
}

std::uint32_t Workload::dispatches(Operation operation) const {
  gpu::Stream stream(kernels_.context());
  record(stream, operation);
  return stream.dispatches();
}

std::string Workload::variant(Operation operation) const {
  const ops::Tuning& tuning = kernels_.tuning();
  switch (operation) {
    case Operation::LinearNaive:
      return std::string(to_string(LinearKernel::Naive));
    case Operation::LinearVec4:
      return std::string(to_string(LinearKernel::Vec4));
    case Operation::LinearVec4Texel:
      return std::string(to_string(LinearKernel::Vec4Texel));
    case Operation::LinearTiled:
      return std::string(to_string(LinearKernel::Tiled));
    case Operation::LinearShuffle:
      return std::string(to_string(LinearKernel::Shuffle));
    case Operation::LinearShuffleTexel:
      return std::string(to_string(LinearKernel::ShuffleTexel));
    case Operation::QkvGemm:
    case Operation::OutputProjection:
      return std::string(to_string(tuned_linear(tuning, size_.n)));
    case Operation::AttentionScores:
    case Operation::MaskedSoftmax:
    case Operation::AttentionMerge:
      return std::string(to_string(blocks()));
    case Operation::Attention:
      return std::string(to_string(tuning.attention));
    case Operation::Forward:
      return "session";
    case Operation::HeadMerge:
      return "part of attention_merge";
    case Operation::Tile:
    case Operation::TilePooled:
      return tuning.texel_reads ? "cells_texel" : "cells";
  }
  return {};
}

WholePass::WholePass(const Size& size) {
  const std::uint32_t d = size.d_model;
  model::AttentionLayer layer{.config = {.d_model = d, .heads = size.heads, .d_k = size.d_head(), .d_v = size.d_head()}};
  layer.weights =
      model::AttentionWeights{random_linear(d, d), random_linear(d, d), random_linear(d, d), random_linear(d, d)};
  auto layers = std::make_shared<model::Layers>();
  layers->encoder.push_back(std::move(layer));
  auto network = std::make_shared<model::Network>();
  network->layers = std::move(layers);
  network_ = std::move(network);
  input_.source.length = size.n;
  input_.source.lengths = {size.n};
  input_.source.vectors = random({1, size.n, d}, 1.0f);
  masks_[model::BlockKind::EncoderSelf].rule = {.causal = true, .key_padding = false};
}

inference::RunTiming WholePass::run(inference::Session& session, std::shared_ptr<const inference::Run>& last) const {
  last = session.run({.network = network_, .input = input_, .masks = masks_}, std::move(last));
  return last->timing();
}

double WholePass::largest_error(inference::Session& session) const {
  std::shared_ptr<const inference::Run> pass;
  run(session, pass);
  const auto is_visible = [](model::BlockRef, std::uint32_t, std::uint32_t, std::uint32_t query, std::uint32_t key) {
    return key <= query;
  };
  const model::reference::Run wanted =
      model::reference::run(*network_, input_, is_visible, -std::numeric_limits<double>::infinity());
  const std::vector<double>& expected = wanted.encoder_hidden.back().values;
  const Tensor states = pass->hidden(inference::Stack::Encoder);
  const std::size_t before = states.values.size() - expected.size();  // the states before the layer
  double largest = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(states.values[before + i]) - expected[i]);
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
    squares += expected[i] * expected[i];
  }
  return largest / std::sqrt(squares / static_cast<double>(expected.size()));
}

std::size_t WholePass::weight_bytes() const {
  std::size_t bytes = 0;
  const model::AttentionWeights& weights = *network_->layers->encoder.front().weights;
  for (const model::Linear* linear : {&weights.query, &weights.key, &weights.value, &*weights.output}) {
    const ops::LinearSource source{.out = linear->out(), .in = linear->in()};
    bytes += ops::packed_bytes({&source, 1});
  }
  return bytes;
}

}  // namespace headlight::bench
