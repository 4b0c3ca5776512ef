// Compares each kernel of linear layers with a loop in double precision.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/checks/checker.h"
#include "core/half.h"
#include "inference/reference_run.h"
#include "ops/experts.h"
#include "ops/linear.h"

namespace headlight::checks {
namespace {

using model::Activation;
using ops::KernelVariant;
using ops::LinearKernel;
using ops::Shader;
using ops::WeightType;

constexpr std::uint32_t kExperts = 3, kPerToken = 2;

/// y = activation(x · Wᵀ + b) of these sizes, or of experts: each row of x, a pair of a token and one of the two experts of
/// its largest logits, by that expert's weight.
struct Layer {
  std::uint32_t rows = 65, in = 67, out = 129;
  bool of_experts = false;
  WeightType type = WeightType::F32;
  Activation activation = Activation::None;
  Tensor x = {}, weight = {}, bias = {}, logits = {};

  std::uint32_t weights() const { return of_experts ? kExperts : 1; }
  std::uint32_t tokens() const { return rows / kPerToken; }
  void fill() {
    x = random_tensor({1, 1, rows, in}, 1);
    weight = random_tensor({weights() * out, in}, 2);
    bias = random_tensor({weights() * out}, 3);
    logits = random_tensor({1, 1, tokens(), kExperts}, 4);
    for (float& number : weight.values) {
      std::uint16_t bits = 0;
      if (type == WeightType::F16) number = from_half(to_half(number));
      if (type != WeightType::BF16) continue;
      to_bfloats(&number, 1, &bits);
      from_bfloats(reinterpret_cast<const std::byte*>(&bits), 1, &number);
    }
  }

  /// Returns the expert whose weight a row is multiplied by.
  std::size_t expert_of(std::size_t row) const {
    if (!of_experts) return 0;
    const auto of_token = std::span(logits.values).subspan(row / kPerToken * kExperts, kExperts);
    std::array<std::size_t, kExperts> order{0, 1, 2};
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return of_token[a] > of_token[b]; });
    return order.at(row % kPerToken);
  }

  std::vector<double> wanted() const {
    std::vector<double> y;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t o = expert_of(row) * out, end = o + out; o < end; ++o) {
        double sum = static_cast<double>(bias.values[o]);
        for (std::size_t i = 0; i < in; ++i) {
          sum += static_cast<double>(x.values[row * in + i]) * static_cast<double>(weight.values[o * in + i]);
        }
        y.push_back(model::reference::activated(activation, sum));
      }
    }
    return y;
  }
};

/// Returns the choice of a tuning that computes with this shader; nullopt: it isn't one of linear layers.
std::optional<LinearKernel> kind_of(const KernelVariant& variant) {
  switch (variant.shader) {
    case Shader::LinearNaive:
      return LinearKernel::Naive;
    case Shader::LinearVec4:
      return variant.reads_texels ? LinearKernel::Vec4Texel : LinearKernel::Vec4;
    case Shader::LinearShuffle:
      return variant.reads_texels ? LinearKernel::ShuffleTexel : LinearKernel::Shuffle;
    case Shader::LinearTiled:
    case Shader::LinearSum:
      return LinearKernel::Tiled;
    case Shader::LinearGemv:
      return LinearKernel::Gemv;
    case Shader::LinearMatrix:
    case Shader::LinearMatrixLarge:
      return LinearKernel::Matrix;
    default:
      return std::nullopt;
  }
}

/// Returns a layer that makes the ops choose the variant.
Layer layer_for(const gpu::DeviceInfo& device, const KernelVariant& variant) {
  Layer layer{.type = variant.weights, .activation = static_cast<Activation>(variant.constants[0])};
  const std::uint32_t per_group = variant.constants[1];
  layer.of_experts = variant.of_experts;
  if (variant.shader == Shader::LinearSum) layer = {.rows = 13, .in = 2'048, .out = 63, .activation = layer.activation};
  if (variant.shader == Shader::LinearVec4) layer.rows = per_group == 1 ? 1 : per_group == 4 ? 3 : 65;
  if (variant.shader == Shader::LinearGemv) layer.rows = per_group == 4 ? 3 : per_group == 8 ? 7 : per_group;
  if (variant.shader == Shader::LinearShuffle) layer.rows = per_group == 8 ? 7 : 65;
  if (variant.of_experts) {  // ops/experts.cpp chooses by pairs of each expert
    const bool is_vec4 = variant.shader == Shader::LinearVec4, is_gemv = variant.shader == Shader::LinearGemv;
    layer.rows = is_gemv ? 10 : is_vec4 ? (per_group == 1 ? 2 : per_group == 4 ? 10 : 26) : per_group == 64 ? 40 : 120;
  }
  if (ops::is_of_matrices(variant.shader)) {  // which are for layers that keep all cores busy
    const auto side = static_cast<std::uint32_t>(std::ceil(std::sqrt(std::max(device.cores, 32U))));
    const std::uint32_t tile = variant.shader == Shader::LinearMatrixLarge ? 128 : 64;
    layer.rows = side * tile - 63;
    layer.out = side * tile - 63;
  }
  layer.fill();
  return layer;
}

void run_layer(CheckStream& one, ops::Kernels& kernels, const Layer& layer) {
  std::vector<ops::LinearSource> sources;
  for (std::size_t i = 0; i < layer.weights(); ++i) {
    sources.push_back({.weight = std::span(layer.weight.values).subspan(i * layer.out * layer.in, layer.out * layer.in),
                       .bias = std::span(layer.bias.values).subspan(i * layer.out, layer.out),
                       .out = layer.out,
                       .in = layer.in,
                       .type = layer.type});
  }
  const ops::PackedLinear& packed = one.keep(ops::pack(kernels.context(), sources, "a check"));
  const ops::DeviceTensor& x = one.put(layer.x);
  const ops::DeviceTensor& y = one.make({1, 1, layer.rows, layer.out});
  const auto activation = static_cast<ops::Activation>(layer.activation);  // equal values (see inference/device_layers.cpp)
  if (layer.of_experts) {
    const ops::ExpertCounts counts{.experts = kExperts, .per_token = kPerToken};
    const ops::ExpertRows rows{.first_item = 0, .items = 1, .tokens = {0, layer.tokens()}};
    const ops::DeviceTensor& gates = one.make({1, 1, layer.tokens(), kExperts});
    const gpu::Buffer& routing = one.words(std::vector<std::uint32_t>(ops::routing_numbers(counts, layer.rows)));
    ops::route(one.stream, kernels, one.put(layer.logits), counts, rows, gates, routing);
    ops::linear_of_pairs(one.stream, kernels, x, rows, {packed, counts, routing, activation}, y);
  } else {
    ops::linear(one.stream, kernels, x, packed, y, {.activation = activation});
  }
  one.take(y);
}

/// Can the device run it, and do the ops ever ask for it there?
bool is_possible(const gpu::DeviceInfo& device, const KernelVariant& variant) {
  if (variant.of_experts && variant.constants[1] == (variant.shader == Shader::LinearTiled ? 256U : 0U)) return false;
  if (variant.of_experts && variant.shader == Shader::LinearGemv && variant.constants[1] > 1) return false;
  if (variant.shader == Shader::LinearShuffle) return ops::can_shuffle(device);
  if (!ops::is_of_matrices(variant.shader)) return true;
  if (variant.multiplies_matrices != ops::multiplies_matrices(device)) return false;
  return variant.constants[1] ==
         ops::matrix_subgroups(variant.shader) * (variant.multiplies_matrices ? device.matrix_lanes : 32);
}

/// Returns other tiles of the same kernel: without them the ops choose this one.
std::set<std::string> other_tiles(const KernelVariant& variant) {
  std::set<std::string> others;
  if (ops::is_of_matrices(variant.shader)) {
    KernelVariant other = variant;
    const bool is_large = variant.shader == Shader::LinearMatrixLarge;
    other.shader = is_large ? Shader::LinearMatrix : Shader::LinearMatrixLarge;
    other.constants[1] = is_large ? variant.constants[1] / 2 : variant.constants[1] * 2;
    return {to_string(other)};
  }
  for (const std::uint32_t lanes : {64U, 128U, 256U}) {
    KernelVariant other = variant;
    other.constants[1] = lanes;
    if (variant.shader == Shader::LinearTiled && !variant.of_experts && lanes != variant.constants[1])
      others.insert(to_string(other));
  }
  return others;
}

/// Returns "linear_vec4.half"
std::string family_of(const std::string& variant) { return variant.substr(0, variant.find(".activation")); }

}  // namespace

void check_linear_kernels(Checker& check) {
  ops::Kernels& kernels = check.kernels();
  const gpu::DeviceInfo& device = check.context().device();
  std::string family;
  for (KernelVariant variant : ops::kernel_variants(device.is_cpu)) {
    const std::optional<LinearKernel> kind = kind_of(variant);
    if (!kind || !is_possible(device, variant)) continue;
    const std::string plain = to_string(variant);
    if (const std::string now = family_of(plain); now != family) {
      check.tell_tally(family, "kernels");
      family = now;
    }
    check.step(plain, [&] {
      const Layer layer = layer_for(device, variant);
      kernels.set_tuning({.few_rows = *kind, .many_rows = *kind, .texel_reads = variant.reads_texels});
      kernels.exclude(other_tiles(variant));
      const bool is_half = variant.weights == WeightType::F16 && !ops::is_of_matrices(variant.shader);
      variant.reads_half_bits = is_half && !kernels.half_conversions().unpacking_keeps;
      const Checker::Numbers found = check.run([&](CheckStream& one) { run_layer(one, kernels, layer); });
      kernels.exclude({});
      if (kernels.is_refused(variant)) return check.count_refused();
      if (!check.has_used(to_string(variant))) return;  // the device has not enough lanes for it, or too many cores
      check.expect(found, {layer.wanted()});
    });
  }
  check.tell_tally(family, "kernels");
}

}  // namespace headlight::checks
