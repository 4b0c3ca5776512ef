#include "attribution/vocabulary_circuits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "attribution/additive_stack.h"
#include "model/reference.h"

namespace headlight::attribution {

namespace {

using model::Projection;
using model::reference::Array;

const model::Embedding* embedding_of(const model::Network& network, model::BlockKind kind) {
  return (kind == model::BlockKind::EncoderSelf ? network.source_embedding : network.target_embedding).get();
}

Tensor narrow(const Array& wide, std::uint32_t rows) {
  Tensor result({rows, wide.shape.back()});
  std::ranges::transform(wide.values, result.values.begin(), [](double value) { return static_cast<float>(value); });
  return result;
}

}  // namespace

std::string why_no_circuit(const model::Network& network, model::BlockRef block, TokenCircuit circuit) {
  if (block.kind == model::BlockKind::Cross) {
    return "cross-attention reads what the encoder wrote, which no single token's vector is";
  }
  if (embedding_of(network, block.kind) == nullptr) return "its input is vectors, so there is no vocabulary to read";
  const model::AttentionLayer& layer = network.layer(block);
  if (!layer.weights) return "its queries, keys and values are given, not projected";
  if (layer.weights->query.in() != layer.config.d_model) return "its heads don't read token vectors";
  return circuit == TokenCircuit::Written ? why_not_attributable(network) : std::string();
}

bool has_circuit_positions(const model::Network& network, model::BlockRef block) {
  const model::Embedding* embedding = embedding_of(network, block.kind);
  return (embedding != nullptr && !embedding->positions.is_empty()) || network.layer(block).config.rotary.has_value();
}

std::uint32_t circuit_vocabulary(const model::Network& network, model::BlockRef block, TokenCircuit circuit) {
  return circuit == TokenCircuit::Written ? network.layers->unembedding->linear.out()
                                          : embedding_of(network, block.kind)->table.axis(0);
}

Tensor read_vectors(const model::Network& network, model::BlockRef block, std::uint32_t first, std::uint32_t count,
                    std::optional<std::uint32_t> position) {
  model::Embedding embedding = *embedding_of(network, block.kind);
  embedding.dropped_id.reset();
  if (!position) embedding.positions = {};
  model::TokenBatch tokens{.length = count, .lengths = {count}};
  tokens.ids.resize(count);
  std::iota(tokens.ids.begin(), tokens.ids.end(), first);
  tokens.positions.assign(count, position.value_or(0));
  return narrow(apply(network.layer(block).norms.before, model::reference::embed(&embedding, tokens)), count);
}

std::vector<float> written_direction(const model::Network& network, model::BlockRef block, std::uint32_t head,
                                     std::uint32_t token) {
  const model::AttentionLayer& layer = network.layer(block);
  const Array x = model::reference::widen(read_vectors(network, block, token, 1, std::nullopt));
  const model::HeadWeight value = head_weight(layer, Projection::Value, head);
  const std::uint32_t d_v = value.count, width = layer.weights->output->out();
  Array v = apply(value.linear->rows(value.first, d_v), x);
  v.shape = {1, 1, 1, d_v};
  v = model::reference::finish_projection(layer.config, std::nullopt, std::move(v));
  const std::vector<float> output = read_weight(*layer.weights->output, head * d_v, d_v, 0, width);  // [d_v, d_model]
  std::vector<double> written(width);
  for (std::size_t i = 0; i < d_v; ++i) {
    for (std::size_t to = 0; to < width; ++to) {
      written[to] += v.values[i] * double{output[i * width + to]} * double{layer.norms.scale};
    }
  }
  if (const std::optional<model::Norm>& norm = network.layers->encoder_norm) {
    const double mean = norm->kind == model::Norm::Kind::Layer
                            ? std::accumulate(written.begin(), written.end(), 0.0) / static_cast<double>(width)
                            : 0.0;
    const Tensor gain = norm->weight.tensor();
    for (std::size_t i = 0; i < width; ++i) {
      written[i] = (written[i] - mean) * (double{gain.values[i]} + double{norm->weight_offset});
    }
  }
  return {written.begin(), written.end()};
}

CircuitScores::CircuitScores(const model::Network& network, model::BlockRef block, std::uint32_t head, TokenCircuit circuit,
                             std::uint32_t token, const std::optional<CircuitPositions>& positions)
    : layers_(*network.layers), layer_(network.layer(block)) {
  const auto at = [&](bool is_query) {
    return positions ? std::optional(is_query ? positions->query : positions->key) : std::nullopt;
  };
  const bool lists_keys = circuit == TokenCircuit::Keys;
  listed_ = side(lists_keys ? Projection::Key : Projection::Query, head, at(!lists_keys));
  const Side fixed = side(lists_keys ? Projection::Query : Projection::Key, head, at(lists_keys));
  const Array x = model::reference::widen(read_vectors(network, block, token, 1, fixed.position));
  fixed_ = finished(fixed, narrow(apply(fixed.linear, x), 1));
  for (double& value : fixed_) value *= double{layer_.config.scale.factor(layer_.config.d_k)};
}

CircuitScores::Side CircuitScores::side(Projection projection, std::uint32_t head,
                                        std::optional<std::uint32_t> position) const {
  const model::HeadWeight weight = head_weight(layer_, projection, head);
  const auto& norm = projection == Projection::Query ? layer_.weights->query_norm : layer_.weights->key_norm;
  const bool is_whole = norm && norm->spans_heads;
  const std::uint32_t number = weight.first / weight.count;
  return {.linear = is_whole ? *weight.linear : weight.linear->rows(weight.first, weight.count),
          .norm = &norm,
          .heads = is_whole ? weight.linear->out() / weight.count : 1,
          .head = number,
          .position = position};
}

std::vector<double> CircuitScores::finished(const Side& side, const Tensor& projected) const {
  const std::uint32_t count = projected.axis(0), d_k = layer_.config.d_k;
  Array x{.shape = {1, side.heads, count, d_k}, .values = {}};
  for (std::size_t head = 0; head < side.heads; ++head) {
    for (std::size_t row = 0; row < count; ++row) {
      const auto from = projected.values.begin() + static_cast<std::ptrdiff_t>((row * side.heads + head) * d_k);
      x.values.insert(x.values.end(), from, from + d_k);
    }
  }
  x = model::reference::finish_projection(layer_.config, *side.norm, std::move(x), side.heads > 1 ? 0 : side.head);
  if (side.heads > 1) {
    const auto first = x.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{side.head} * count * d_k);
    x = {.shape = {1, 1, count, d_k}, .values = {first, first + static_cast<std::ptrdiff_t>(std::size_t{count} * d_k)}};
  }
  if (!side.position || !layer_.config.rotary) return x.values;
  model::TokenBatch tokens{.length = count, .lengths = {count}};
  tokens.positions.assign(count, *side.position);
  return model::reference::rotate(layers_.rotaries[*layer_.config.rotary], tokens, std::move(x)).values;
}

std::vector<double> CircuitScores::of(const Tensor& projected) const {
  const std::vector<double> vectors = finished(listed_, projected);
  std::vector<double> scores(projected.axis(0));
  for (std::size_t row = 0; row < scores.size(); ++row) {
    scores[row] = std::inner_product(fixed_.begin(), fixed_.end(),
                                     vectors.begin() + static_cast<std::ptrdiff_t>(row * fixed_.size()), 0.0);
  }
  return scores;
}

}  // namespace headlight::attribution

#if defined(__GNUC__) && !defined(__clang__)
// GCC takes Eigen's loops, where it inlines them, for overruns and for reads of uninitialised memory, in some versions.
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#endif
#include <Eigen/Eigenvalues>

namespace headlight::attribution {
namespace {

/// Rows of W_O that are decoded at once.
constexpr std::uint32_t kRowsAtOnce = 32;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

std::string why_no_copying(const model::AttentionLayer& layer, model::BlockKind kind) {
  if (kind == model::BlockKind::Cross) {
    return "cross-attention reads the encoder's vectors and writes the decoder's, so nothing comes back where it was read";
  }
  if (!layer.weights || !layer.weights->output) return "its heads write into no residual stream: they have no W_O";
  if (layer.config.merge != model::MergeOrder::Concatenate) return "its heads are merged without a transpose";
  if (layer.weights->value.in() != layer.weights->output->out()) {
    return "its heads read and write vectors of different widths";
  }
  return {};
}

std::optional<double> ov_copying(const model::AttentionLayer& layer, std::uint32_t head) {
  const model::AttentionConfig& config = layer.config;
  const std::uint32_t size = config.d_v, d_model = layer.weights->value.in();
  const std::uint32_t kv_head = head / (config.heads / config.kv_head_count());
  std::vector<float> value(std::size_t{size} * d_model);  // W_Vᵀ
  layer.weights->value.weight.read(kv_head * size, size, value);
  const model::Parameter& output = layer.weights->output->weight;  // W_Oᵀ of all heads
  const std::size_t width = output.axis(1);
  std::vector<float> rows(kRowsAtOnce * width);
  std::vector<double> product(std::size_t{size} * size, 0.0);  // W_O·W_V
  std::vector<double> column(size);
  for (std::uint32_t first = 0; first < d_model; first += kRowsAtOnce) {
    const std::uint32_t count = std::min(kRowsAtOnce, d_model - first);
    output.read(first, count, std::span(rows).first(count * width));
    for (std::uint32_t row = 0; row < count; ++row) {
      const auto written = std::span(rows).subspan(row * width + std::size_t{head} * size, size);
      for (std::size_t j = 0; j < size; ++j) column[j] = double{value[j * d_model + first + row]};
      for (std::size_t i = 0; i < size; ++i) {
        const double factor = double{written[i]};
        for (std::size_t j = 0; j < size; ++j) product[i * size + j] += factor * column[j];
      }
    }
  }
  return eigenvalue_ratio(product, size);
}

std::optional<double> eigenvalue_ratio(std::span<const double> matrix, std::uint32_t size) {
  for (const double number : matrix) {
    if (!std::isfinite(number)) return std::nullopt;  // Eigen would search for ever
  }
  const Eigen::Map<const Matrix> map(matrix.data(), size, size);
  const Eigen::EigenSolver<Matrix> solver(map, false);
  if (solver.info() != Eigen::Success) return std::nullopt;
  double sum = 0.0, sizes = 0.0;
  for (Eigen::Index i = 0; i < solver.eigenvalues().size(); ++i) {
    sum += solver.eigenvalues()[i].real();
    sizes += std::abs(solver.eigenvalues()[i]);
  }
  return sizes > 0.0 ? std::optional(sum / sizes) : std::nullopt;
}

}  // namespace headlight::attribution
