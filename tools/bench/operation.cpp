#include "tools/bench/operation.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::bench {
namespace {

struct Entry {
  Operation operation;
  std::string_view name;
  std::string_view description;
};

constexpr std::array kEntries{
    Entry{Operation::LinearNaive, "linear_naive",
          "[n, d] x [d, 3d] by the naive kernel, which everything else is compared with"},
    Entry{Operation::LinearVec4, "linear_vec4", "the same, registers fed by storage buffers"},
    Entry{Operation::LinearVec4Texel, "linear_vec4_texel", "the same, registers fed by texel buffers"},
    Entry{Operation::LinearTiled, "linear_tiled", "the same, tiles in shared memory"},
    Entry{Operation::LinearShuffle, "linear_shuffle",
          "the same, registers fed by storage buffers and passed on between lanes"},
    Entry{Operation::LinearShuffleTexel, "linear_shuffle_texel", "the same, registers fed by texel buffers and passed on"},
    Entry{Operation::QkvGemm, "qkv_gemm",
          "the same by the kernel that the device's tuning chose, stored as Q, K and V heads"},
    Entry{Operation::AttentionScores, "attention_scores", "Q.K^T of what the mask shows"},
    Entry{Operation::MaskedSoftmax, "masked_softmax", "scale, mask and softmax of stored scores"},
    Entry{Operation::AttentionMerge, "attention_merge", "weights.V, written into the merged heads"},
    Entry{Operation::Attention, "attention", "the three together, by the kernels that the tuning chose"},
    Entry{Operation::OutputProjection, "output_projection", "[n, d] x [d, d]"},
    Entry{Operation::Forward, "forward", "a whole layer: QKV, attention, merge, output; one submission"},
    Entry{Operation::HeadMerge, "head_merge", "what the pass dispatches beyond its projections and attention: nothing"},
    Entry{Operation::Tile, "tile", "weights of one head for the window, at most 1024 x 1024 cells, exact"},
    Entry{Operation::TilePooled, "tile_pooled", "one head's whole map, 8 x 8 cells a value"},
};

const Entry& entry(Operation operation) { return kEntries.at(static_cast<std::size_t>(operation)); }

double visible_pairs(std::uint32_t n) { return 0.5 * n * (n + 1.0); }

/// Visible cells of the tile: the map's last `edge` rows, first `edge` keys.
double visible_tile_cells(std::uint32_t n, std::uint32_t edge) {
  double cells = 0.0;
  for (std::uint32_t row = n - edge; row < n; ++row) cells += std::min(row + 1, edge);
  return cells;
}

}  // namespace

std::span<const Operation> operations() {
  static constexpr auto kOperations = [] {
    std::array<Operation, kEntries.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kEntries[i].operation;
    return all;
  }();
  return kOperations;
}

std::string_view to_string(Operation operation) { return entry(operation).name; }
std::string_view description(Operation operation) { return entry(operation).description; }

bool is_causal(Operation operation) {
  return (operation >= Operation::AttentionScores && operation <= Operation::Attention) || operation == Operation::Forward ||
         operation == Operation::Tile || operation == Operation::TilePooled;
}

std::uint32_t tile_edge(const Size& size) {
  constexpr std::uint32_t kLargestEdge = 1024;
  return std::min(size.n, kLargestEdge);
}

double flops(Operation operation, const Size& size) {
  const double n = size.n, d = size.d_model;
  switch (operation) {
    case Operation::LinearNaive:
    case Operation::LinearVec4:
    case Operation::LinearVec4Texel:
    case Operation::LinearTiled:
    case Operation::LinearShuffle:
    case Operation::LinearShuffleTexel:
    case Operation::QkvGemm:
      return 6.0 * n * d * d;
    case Operation::OutputProjection:
      return 2.0 * n * d * d;
    case Operation::AttentionScores:
    case Operation::AttentionMerge:
      return 2.0 * visible_pairs(size.n) * d;
    case Operation::Attention:
      return 4.0 * visible_pairs(size.n) * d;
    case Operation::Forward:
      return 8.0 * n * d * d + 4.0 * visible_pairs(size.n) * d;
    case Operation::Tile:
      return 2.0 * visible_tile_cells(size.n, tile_edge(size)) * size.d_head();
    case Operation::TilePooled:
      return 2.0 * visible_pairs(size.n) * size.d_head();
    case Operation::MaskedSoftmax:
    case Operation::HeadMerge:
      return 0.0;
  }
  return 0.0;
}

double least_bytes(Operation operation, const Size& size) {
  const double n = size.n, d = size.d_model, edge = tile_edge(size), pooled = std::ceil(n / kPool);
  const double floats = [&] {
    switch (operation) {
      case Operation::LinearNaive:
      case Operation::LinearVec4:
      case Operation::LinearVec4Texel:
      case Operation::LinearTiled:
      case Operation::LinearShuffle:
      case Operation::LinearShuffleTexel:
      case Operation::QkvGemm:
        return 4.0 * n * d + 3.0 * d * d + 3.0 * d;  // x and Q, K, V; weights; biases
      case Operation::OutputProjection:
        return 2.0 * n * d + d * d + d;
      case Operation::AttentionScores:
      case Operation::AttentionMerge:
        return 2.0 * n * d + visible_pairs(size.n) * size.heads;  // Q, K and scores; V, the result and weights
      case Operation::Attention:
        return 4.0 * n * d + 2.0 * n * size.heads;  // Q, K, V, the result, and (m, l)
      case Operation::Forward:
        return 2.0 * n * d + 4.0 * d * d + 4.0 * d;
      case Operation::Tile:
        return 2.0 * (edge * size.d_head() + edge + edge * edge);  // rows of Q and K, (m, l), pairs of numbers
      case Operation::TilePooled:
        return 2.0 * (n * size.d_head() + n + pooled * pooled);
      case Operation::MaskedSoftmax:
      case Operation::HeadMerge:
        return 0.0;
    }
    return 0.0;
  }();
  return floats * sizeof(float);
}

double effort(Operation operation, const Size& size) {
  const double counted = flops(operation, size);
  return counted > 0.0 ? counted : visible_pairs(size.n) * size.heads;
}

}  // namespace headlight::bench
