#include "ops/cells.h"

#include <algorithm>
#include <tuple>

namespace headlight::ops {

namespace {

/// The kernel of a map, and what its workgroups compute.
struct Choice {
  KernelVariant variant;
  std::uint32_t columns, rows;  ///< pooled values of a workgroup
  std::uint32_t strip;          ///< rows of a pooled rectangle that one dispatch may walk through
};

/// Tiles where attention is computed with tiles as well.
Choice choose(const Tuning& tuning, const Region& region, std::uint32_t d_k4) {
  const std::uint32_t pool = region.pool, column_pool = region.column_pool();
  constexpr std::uint32_t kFewRows = 8;  // of a sample, or of rectangles that are long: tiles would compute 32
  const bool has_sample = region.sampled_rows > 0 && region.sampled_rows <= kFewRows;
  const bool is_thin = has_sample || (std::min(pool, column_pool) <= kFewRows && std::max(pool, column_pool) > 16);
  if (tuning.attention == AttentionKernel::Tiled && !is_thin) {
    constexpr std::uint32_t kEdge = 32;   // of the cells that a workgroup computes at a time …
    constexpr std::uint32_t kTiles = 90;  // … and how often in one dispatch: a millisecond of a GPU's core, roughly
    const bool has_one = std::max(pool, column_pool) > kEdge / 2;  // as in the shader
    return {{.shader = Shader::AttentionCellsTiled},
            has_one ? 1 : kEdge / column_pool,
            has_one ? 1 : kEdge / pool,
            kEdge * std::max(1u, kTiles / divide_up(column_pool, kEdge))};
  }
  if (pool == 1 && column_pool == 1)
    return {{.shader = Shader::AttentionCellsExact, .reads_texels = tuning.texel_reads}, 32, 8, 1};
  constexpr std::uint32_t kRounds =
      60'000;  // llvmpipe ends loops silently after 65,535 rounds of all loops of a shader together
  // A step: so many keys, and 4 rows · (mask and score of each key), with the round in which each of these loops ends.
  constexpr std::uint32_t kKeys = 4, kRoundsOfMask = 48;
  const std::uint32_t rounds = divide_up(column_pool, kKeys) * (d_k4 + kRoundsOfMask);  // of a row
  return {
      {.shader = Shader::AttentionCellsPooled, .reads_texels = tuning.texel_reads}, 8, 4, std::max(1u, kRounds / rounds)};
}

/// choose(), or what computes the same where the driver refuses that kernel; `complete` sets what else its variant has.
template <typename Complete>
Choice choose_made(Kernels& kernels, Tuning tuning, const Region& region, std::uint32_t d_k4, const Complete& complete) {
  const auto next = [&] {
    Choice choice = choose(tuning, region, d_k4);
    const std::uint32_t rounds = kernels.rounds_products();
    if (choice.variant.shader == Shader::AttentionCellsExact) choice.variant.constants = {rounds};
    if (choice.variant.shader == Shader::AttentionCellsPooled) choice.variant.constants[2] = rounds;
    complete(choice.variant);
    return choice;
  };
  Choice choice = next();
  if (kernels.find(choice.variant) != nullptr) return choice;
  tuning.attention = AttentionKernel::Blocks;
  choice = next();
  if (kernels.find(choice.variant) != nullptr) return choice;
  tuning.texel_reads = false;
  return next();
}

}  // namespace

void map_cells(gpu::Stream& stream, Kernels& kernels, MapStage stage, const AttentionInputs& inputs,
               const DeviceTensor& stats, const HeadRun& heads, const Region& region, const gpu::Buffer& out,
               std::uint32_t out_at) {
  const auto& [q, k] = std::tie(inputs.q, inputs.k);
  CellsParameters parameters{};
  parameters.stage = static_cast<std::uint32_t>(stage);
  parameters.batch_item = heads.item;
  parameters.heads = q.heads;
  parameters.group = q.heads / k.heads;
  parameters.q_tokens = q.tokens;
  parameters.k_tokens = k.tokens;
  parameters.queries = inputs.queries.end();
  parameters.keys = inputs.keys;
  parameters.d_k4 = q.width4();
  parameters.column = region.column;
  parameters.columns = region.columns;
  parameters.pool = region.pool;
  parameters.column_pool = region.column_pool();
  parameters.scale = inputs.scale;
  parameters.softcap = inputs.softcap;
  parameters.bias_at = inputs.mask.bias_at;
  parameters.fill = inputs.mask.fill;
  parameters.mask = mask_parameters(inputs.mask);
  Tuning tuning = kernels.tuning();
  tuning.texel_reads =
      tuning.texel_reads && q.item_bytes() <= kernels.max_binding(true) && k.item_bytes() <= kernels.max_binding(true);
  const auto complete = [&](KernelVariant& variant) {
    if (inputs.mask.expressions) variant.expressions = inputs.mask.expressions->glsl;
    if (variant.shader != Shader::AttentionCellsPooled) return;
    const bool has_extras = inputs.softcap > 0.0f || inputs.mask.bias_at != 0 ||
                            (inputs.mask.expressions && inputs.mask.expressions->changes_scores);
    variant.constants[0] = has_extras ? 1 : 0;
    variant.constants[1] = stage == MapStage::MeanWeights ? 1 : 0;
  };
  const Choice choice = choose_made(kernels, tuning, region, parameters.d_k4, complete);
  const gpu::Kernel& kernel = kernels[choice.variant];
  const std::uint32_t group_columns = choice.columns, group_rows = choice.rows, strip = choice.strip;
  // Some heads per dispatch, or some rows of one head, where all of them would occupy the device for too long.
  const std::uint32_t tile_rows = region.tile_rows(), row_groups = divide_up(tile_rows, group_rows);
  // A dispatch that ends before the square's last row leaves its partial numbers, which are those of the sample.
  const std::uint32_t square_rows = region.sampled_rows > 0 ? std::min(region.sampled_rows, region.pool) : region.pool;
  const double cell_work = kAttentionCost * region.columns * 4.0 * parameters.d_k4;  // of a row of cells
  const double group_work = cell_work * group_rows * square_rows;
  const std::uint32_t heads_step = kernels.parts_at_once(heads.heads, group_work * row_groups);
  const std::uint32_t rows_step = heads_step > 1 ? tile_rows : group_rows * kernels.parts_at_once(row_groups, group_work);
  for (std::uint32_t head = 0; head < heads.heads; head += heads_step) {
    const std::uint32_t some_heads = std::min(heads_step, heads.heads - head);
    for (std::uint32_t row = 0; row < tile_rows; row += rows_step) {
      const std::uint32_t some_rows = std::min(rows_step, tile_rows - row);
      parameters.first_head = heads.first_head + head;
      parameters.row = region.row + row * region.pool;
      parameters.rows = std::min(some_rows * region.pool, region.rows - row * region.pool);
      parameters.out_at = out_at + (head * tile_rows + row) * region.tile_columns();
      for (parameters.strip_begin = 0; parameters.strip_begin < square_rows; parameters.strip_begin += strip) {
        parameters.strip_end = std::min(parameters.strip_begin + strip, square_rows);
        stream.dispatch(kernel, {q.item(heads.item), k.item(heads.item), *inputs.mask.words, stats.buffer(), out},
                        parameters,
                        {divide_up(region.tile_columns(), group_columns), divide_up(some_rows, group_rows), some_heads},
                        cell_work * some_heads * some_rows * (parameters.strip_end - parameters.strip_begin));
      }
    }
  }
}

void ask_for_map_cells(Kernels& kernels) {
  static_cast<void>(kernels[choose_made(kernels, kernels.tuning(), Region(), 1, [](KernelVariant&) {}).variant]);
}

void matrix_cells(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& tensor, std::uint32_t item,
                  const StoredMatrix& matrix, const Region& region, const gpu::Buffer& out, std::uint32_t out_at) {
  constexpr std::uint32_t kLanes = 64;  // of matrix_region.comp
  MatrixRegionParameters parameters{};
  parameters.base = matrix.base;
  parameters.row_stride = matrix.row_stride;
  parameters.slot_width = matrix.slot_width;
  parameters.slot_stride = matrix.slot_stride;
  parameters.row = region.row;
  parameters.rows = region.rows;
  parameters.column = region.column;
  parameters.columns = region.columns;
  parameters.pool = region.pool;
  parameters.column_pool = region.column_pool();
  parameters.out_at = out_at;
  stream.dispatch(kernels[{.shader = Shader::MatrixRegion}], {tensor.item(item), out}, parameters,
                  {divide_up(region.tile_columns(), kLanes), region.tile_rows(), 1});
}

}  // namespace headlight::ops
