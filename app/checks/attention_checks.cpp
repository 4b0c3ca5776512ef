// Compares each kernel of attention and of its maps with loops in double precision.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "app/checks/checker.h"
#include "ops/attention.h"
#include "ops/attention_blocks.h"
#include "ops/cells.h"

namespace headlight::checks {
namespace {

using ops::AttentionKernel;

/// Causal from the last query on, as many KV heads as half the query heads.
struct Attention {
  std::uint32_t queries = 63, keys = 65, heads = 4, d_k = 20, d_v = 33;
  bool is_causal = true;
  float softcap = 0.0F;
  Tensor q = {}, k = {}, v = {};

  void fill() {
    q = random_tensor({1, heads, queries, d_k}, 4);
    k = random_tensor({1, heads / 2, keys, d_k}, 5);
    v = random_tensor({1, heads / 2, keys, d_v}, 6);
  }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(d_k)); }

  /// Returns one row of weights, 0 where they are masked.
  std::vector<double> weights(std::size_t head, std::size_t query) const {
    std::vector<double> row(keys, 0.0);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
    const std::size_t visible = is_causal ? std::min<std::size_t>(query + 1, keys) : keys;
    for (std::size_t key = 0; key < visible; ++key) {
      double score = 0.0;
      for (std::size_t i = 0; i < d_k; ++i) {
        score += static_cast<double>(q.values[(head * queries + query) * d_k + i]) *
                 static_cast<double>(k.values[(head / 2 * keys + key) * d_k + i]);
      }
      score *= static_cast<double>(scale());
      const auto cap = static_cast<double>(softcap);
      row[key] = softcap > 0.0F ? cap * std::tanh(score / cap) : score;
      largest = std::max(largest, row[key]);
    }
    for (std::size_t key = 0; key < visible; ++key) sum += row[key] = std::exp(row[key] - largest);
    for (double& weight : row) weight /= sum;
    return row;
  }

  /// [query, head · padded d_v]
  std::vector<double> wanted() const {
    const std::size_t padded = ops::divide_up(d_v, 4) * 4;
    std::vector<double> merged(queries * heads * padded, 0.0);
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t query = 0; query < queries; ++query) {
        const std::vector<double> row = weights(head, query);
        for (std::size_t key = 0; key < keys; ++key) {
          for (std::size_t i = 0; i < d_v; ++i) {
            merged[(query * heads + head) * padded + i] +=
                row[key] * static_cast<double>(v.values[(head / 2 * keys + key) * d_v + i]);
          }
        }
      }
    }
    return merged;
  }

  /// Pairs (value, 1 where all cells are masked) of one head's whole map.
  std::vector<double> wanted_map(std::uint32_t pool, bool means) const {
    constexpr std::size_t kHead = 3;
    const std::size_t columns = ops::divide_up(keys, pool), rows = ops::divide_up(queries, pool);
    std::vector<double> sums(rows * columns, 0.0), peaks(sums), cells(sums), shown(sums), pairs;
    for (std::size_t query = 0; query < queries; ++query) {
      const std::vector<double> row = weights(kHead, query);
      for (std::size_t key = 0; key < keys; ++key) {
        const std::size_t at = query / pool * columns + key / pool;
        sums[at] += row[key];
        peaks[at] = std::max(peaks[at], row[key]);
        cells[at] += 1.0;
        if (!is_causal || key <= query) shown[at] += 1.0;
      }
    }
    for (std::size_t at = 0; at < sums.size(); ++at) {
      pairs.push_back(means ? sums[at] / cells[at] : peaks[at]);
      pairs.push_back(shown[at] == 0.0 ? 1.0 : 0.0);
    }
    return pairs;
  }
};

/// Records one attention, and where `pool` isn't 0 its last head's map.
void record_attention(CheckStream& one, ops::Kernels& kernels, const Attention& layer, std::uint32_t pool, bool means) {
  const std::array<std::uint32_t, 16> none{};
  const ops::DeviceTensor &q = one.put(layer.q), &k = one.put(layer.k), &v = one.put(layer.v);
  const ops::DeviceTensor& merged = one.make({1, 1, layer.queries, layer.heads * v.width4() * 4});
  const ops::DeviceTensor& stats = one.keep(ops::make_stats(one.stream, 1, layer.heads, layer.queries));
  const ops::AttentionScratch& scratch =
      *one.keep(std::make_shared<ops::AttentionScratch>(kernels.context(), layer.heads, layer.queries, layer.keys));
  const ops::AttentionInputs inputs{
      .q = q,
      .k = k,
      .v = v,
      .mask = {.causal = layer.is_causal, .fill = std::numeric_limits<float>::lowest(), .words = &one.words(none)},
      .scale = layer.scale(),
      .softcap = layer.softcap,
      .queries = q.all(),
      .keys = layer.keys};
  ops::attention(one.stream, kernels, inputs, {merged, stats, ops::concatenated(layer.heads, v.width4())}, &scratch);
  if (pool == 0) return one.take(merged);
  const ops::Region region{0, layer.queries, 0, layer.keys, pool};
  const gpu::Buffer& cells =
      one.keep(gpu::Buffer(kernels.context(), region.tile_values() * ops::kCellBytes, gpu::Memory::Device, "a check"));
  ops::map_cells(one.stream, kernels, means ? ops::MapStage::MeanWeights : ops::MapStage::Weights, inputs, stats,
                 {.item = 0, .first_head = 3, .heads = 1}, region, cells, 0);
  one.take(cells);
}

/// Returns the sizes that kernels see: one query, one less and one more than a tile, everything visible, capped scores, and
/// so many heads that large tiles occupy any device.
std::vector<Attention> layers_to_check() {
  std::vector<Attention> all{{.queries = 1, .keys = 129, .is_causal = false},
                             {},
                             {.queries = 129, .keys = 129, .d_k = 64, .d_v = 64},
                             {.queries = 129, .keys = 129, .heads = 128, .d_k = 5, .d_v = 3},
                             {.queries = 127, .keys = 128, .d_k = 5, .d_v = 3, .softcap = 0.7F}};
  for (Attention& layer : all) layer.fill();
  return all;
}

struct Kind {
  AttentionKernel kernel;
  std::string wanted = {}, excluded = {};  ///< a kernel, and that which the ops might choose in its place
};

std::vector<Kind> kinds_of(const gpu::DeviceInfo& device) {
  const std::uint32_t rolled = device.is_cpu ? 1 : 0;
  const auto tiles = [&](std::uint32_t lanes) {
    return to_string(ops::KernelVariant{.shader = ops::Shader::AttentionTiled, .constants = {lanes, rolled}});
  };
  std::vector<Kind> kinds{{AttentionKernel::Naive},
                          {AttentionKernel::Blocks},
                          {AttentionKernel::BlocksTexel},
                          {AttentionKernel::Tiled, tiles(64), tiles(256)},
                          {AttentionKernel::Tiled, tiles(256), tiles(64)}};
  if (ops::can_shuffle(device)) {
    kinds.insert(kinds.end(), {{AttentionKernel::BlocksShuffle}, {AttentionKernel::BlocksShuffleTexel}});
  }
  if (device.runs_host_steps) kinds.push_back({AttentionKernel::Host});
  return kinds;
}

}  // namespace

void check_attention_kernels(Checker& check) {
  ops::Kernels& kernels = check.kernels();
  const std::vector<Attention> layers = layers_to_check();
  const auto run = [&](const std::string& name, const Kind& kind, bool texel, const Attention& layer, std::uint32_t pool,
                       bool means) {
    check.step(name, [&] {
      kernels.set_tuning({.attention = kind.kernel, .texel_reads = texel});
      kernels.exclude({kind.excluded});
      const Checker::Numbers found =
          check.run([&](CheckStream& one) { record_attention(one, kernels, layer, pool, means); });
      kernels.exclude({});
      if (!kind.wanted.empty() && !check.has_used(kind.wanted)) return;
      check.expect(found, {pool == 0 ? layer.wanted() : layer.wanted_map(pool, means)});
    });
  };
  for (const Kind& kind : kinds_of(check.context().device())) {
    const std::string name = kind.wanted.empty() ? std::string(to_string(kind.kernel)) : kind.wanted;
    for (const Attention& layer : layers) {
      run(fmt::format("{}, {} queries of {} heads", name, layer.queries, layer.heads), kind, is_texel(kind.kernel), layer, 0,
          false);
    }
    check.tell_tally(name, "attentions");
  }
  for (const auto& [kernel, texel] :
       {std::pair(AttentionKernel::Tiled, false), {AttentionKernel::Naive, false}, {AttentionKernel::Naive, true}}) {
    const std::string name = kernel == AttentionKernel::Tiled ? "maps by tiles" : texel ? "maps of texels" : "maps";
    for (const Attention& layer : layers) {
      for (const std::uint32_t pool : {1U, 8U, 33U}) {
        for (const bool means : {false, true}) {
          if (means && pool == 1) continue;
          run(fmt::format("{}, {} queries of {} heads, {} a value{}", name, layer.queries, layer.heads, pool,
                          means ? ", means" : ""),
              {kernel}, texel, layer, pool, means);
        }
      }
    }
    check.tell_tally(name, "maps");
  }
}

}  // namespace headlight::checks
