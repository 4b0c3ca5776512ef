#include "attention/run.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "ops/cells.h"

namespace headlight::attention {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 20;  // of one submission's cells

ops::Region region_of(const TileRequest& request) {
  return {request.row,  request.rows,         request.column,        request.columns,
          request.pool, request.sampled_rows, request.pooled_columns};
}

/// The tensor and the layout of a stored stage's matrix.
struct Stored {
  const ops::DeviceTensor* tensor = nullptr;
  ops::StoredMatrix matrix;
};

Stored stored(const BlockRun& block, const TileRequest& request) {
  const auto of_heads = [](const ops::DeviceTensor& tensor, std::uint32_t head) {
    const std::uint32_t row = tensor.width4() * 4;
    return Stored{&tensor, {head * tensor.tokens * row, row, tensor.width, 0}};
  };
  const std::uint32_t head = block.shape.matrix_of(request.stage, request.head);
  const auto whole = [](const ops::DeviceTensor& tensor) {
    return Stored{&tensor, {0, tensor.width4() * 4, tensor.width, 0}};
  };
  const std::uint32_t slot = block.v->width4() * 4;
  switch (request.stage) {
    case Stage::X:
      return whole(*block.x);
    case Stage::Q:
      return of_heads(*block.q, head);
    case Stage::K:
      return of_heads(*block.k, head);
    case Stage::V:
      return of_heads(*block.v, head);
    case Stage::Heads:
      return {block.merged.get(), {request.head * block.layout.head4 * 4, block.layout.row4 * 4, block.shape.d_v, slot}};
    case Stage::Merged:
      return {block.merged.get(), {0, block.shape.heads * slot, block.shape.d_v, slot}};
    case Stage::Output:
      return whole(*block.output);
    default:
      break;
  }
  const auto found = block.stream.find(request.stage);
  if (found == block.stream.end()) throw Error("stage '{}' is not stored", to_string(request.stage));
  return whole(*found->second);
}

ops::MapStage map_stage(const TileRequest& request) {
  const bool is_mean = request.stage == Stage::Weights && !request.is_exact() && request.pooling == Pooling::Mean;
  if (is_mean) return ops::MapStage::MeanWeights;
  return static_cast<ops::MapStage>(map_index(request.stage));
}

/// Does the mask's rule hide all cells of the request, so that each is what a masked cell is (0 of weights, −∞ before them)?
/// Maps with cells that are shown against the rule are taken for visible, and so is padding.
bool is_hidden(const BlockRun& block, const TileRequest& request) {
  const ops::MaskData& mask = block.mask->data;
  const bool is_after_mask = request.stage == Stage::Weights || request.stage == Stage::Masked;
  if (!is_after_mask || mask.has_finite_fill || mask.allow_at != 0) return false;
  const std::uint64_t first = request.row, last = first + request.rows - 1;
  std::uint64_t begin = 0, end = block.shape.keys;  // as visited_keys() of shaders/lib/mask.glsl
  if (mask.causal) end = std::min<std::uint64_t>(end, std::max<std::uint64_t>(last + 1, mask.prefix));
  if (mask.window != 0) {
    end = std::min<std::uint64_t>(end, std::max<std::uint64_t>(last + mask.window, mask.prefix));
    if (mask.prefix == 0 && first + 1 > mask.window) begin = first + 1 - mask.window;
  }
  return request.column >= end || std::uint64_t{request.column} + request.columns <= begin;
}

Tile hidden_tile(const TileRequest& request) {
  const std::size_t count = std::size_t{request.tile_rows()} * request.tile_columns();
  const float value = request.stage == Stage::Weights ? 0.0f : -std::numeric_limits<float>::infinity();
  return {.request = request,
          .values = std::vector<float>(count, value),
          .masked = std::vector<std::uint8_t>(count, 1),
          .row_max = {},
          .row_sum = {}};
}

/// Does `next` ask for the same map of the head `distance` further on, so that one dispatch can evaluate both?
bool continues(const TileRequest& first, const TileRequest& next, std::uint32_t distance) {
  TileRequest expected = first;
  expected.head += distance;
  return is_map(first.stage) && expected == next;
}

/// Records one dispatch for each run of requests that differ only in consecutive heads.
void record(gpu::Stream& stream, ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests,
            const gpu::Buffer& cells) {
  std::uint32_t out_at = 0;
  for (std::size_t i = 0; i < requests.size();) {
    const TileRequest& request = requests[i];
    const BlockRun& block = run.block(request.block);
    const ops::Region region = region_of(request);
    std::uint32_t heads = 1;
    if (is_map(request.stage) && is_hidden(block, request)) {
      ++i;
      continue;
    }
    if (is_map(request.stage)) {
      while (i + heads < requests.size() && continues(request, requests[i + heads], heads)) ++heads;
      ops::map_cells(stream, kernels, map_stage(request), block.inputs({0, block.shape.queries}), *block.stats,
                     {request.batch, request.head, heads}, region, cells, out_at);
    } else {
      const Stored source = stored(block, request);
      ops::matrix_cells(stream, kernels, *source.tensor, request.batch, source.matrix, region, cells, out_at);
    }
    out_at += heads * static_cast<std::uint32_t>(region.tile_values());
    i += heads;
  }
}

/// The rows' (m, l) of a map request.
gpu::Slice stats_slice(const BlockRun& block, const TileRequest& request) {
  constexpr std::size_t kPair = 2 * sizeof(float);
  const std::size_t first = (std::size_t{request.batch} * block.shape.heads + request.head) * block.q->tokens + request.row;
  return {block.stats->buffer(), first * kPair, request.rows * kPair};
}

float restore_infinity(float value) {
  return value == std::numeric_limits<float>::lowest() ? -std::numeric_limits<float>::infinity() : value;
}

void add_statistics(Tile& tile, std::span<const float> stats) {
  for (std::size_t row = 0; row < tile.request.rows; ++row) {
    tile.row_max.push_back(restore_infinity(stats[2 * row]));
    tile.row_sum.push_back(stats[2 * row + 1]);
  }
}

Tile unpack(const TileRequest& request, std::span<const float> cells) {
  Tile tile;
  tile.request = request;
  const std::size_t count = std::size_t{request.tile_rows()} * request.tile_columns();
  tile.values.resize(count);
  for (std::size_t i = 0; i < count; ++i) tile.values[i] = cells[2 * i];
  if (!is_map(request.stage)) return tile;
  tile.masked.resize(count);
  const bool counts_shown = request.sampled_rows != 0;  // instead of telling that all are masked
  for (std::size_t i = 0; i < count; ++i) tile.masked[i] = (cells[2 * i + 1] != 0.0f) != counts_shown ? 1 : 0;
  if (request.stage == Stage::Masked)
    std::transform(tile.values.begin(), tile.values.end(), tile.values.begin(), restore_infinity);
  return tile;
}

}  // namespace

ops::AttentionInputs BlockRun::inputs(ops::Rows queries) const {
  return {.q = *q,
          .k = *k,
          .v = *v,
          .mask = mask_data(*mask),
          .scale = config.scale.factor(config.d_k),
          .softcap = config.softcap,
          .queries = queries,
          .keys = shape.keys};
}

const BlockRun& AttentionRun::block(model::BlockRef ref) const {
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const BlockRun& block) { return block.ref == ref; });
  if (found == blocks.end()) throw Error("the run has no {} attention in layer {}", to_string(ref.kind), ref.layer.value);
  return *found;
}

std::size_t RecordedTiles::count(const gpu::Context& context, std::span<const TileRequest> requests) {
  const std::size_t budget = std::min(kChunkBytes, context.device().max_storage_range);
  std::size_t count = 0, bytes = 0;
  for (; count < requests.size(); ++count) {
    const std::size_t more = region_of(requests[count]).tile_values() * ops::kCellBytes;
    if (count > 0 && bytes + more > budget) break;
    bytes += more;
  }
  if (bytes > context.device().max_storage_range) {
    throw Error("a tile of {} MiB is more than the device '{}' binds at once; ask for fewer rows", bytes >> 20,
                context.device().name);
  }
  return count;
}

RecordedTiles::RecordedTiles(gpu::Stream& stream, ops::Kernels& kernels, const AttentionRun& run,
                             std::span<const TileRequest> requests)
    : requests_(requests) {
  std::size_t bytes = 0;
  for (const TileRequest& request : requests) {
    const BlockRun& block = run.block(request.block);
    check(block.shape, request);
    is_hidden_.push_back(is_map(request.stage) && is_hidden(block, request));
    if (!is_hidden_.back()) bytes += region_of(request).tile_values() * ops::kCellBytes;
  }
  if (bytes > 0) {
    gpu::Buffer cells(kernels.context(), bytes, gpu::Memory::Transient, "the maps on screen");
    record(stream, kernels, run, requests, cells);
    values_ = stream.download(std::move(cells));
  }
  for (const TileRequest& request : requests) {
    if (is_map(request.stage)) stats_.push_back(stream.download(stats_slice(run.block(request.block), request)));
  }
}

std::vector<Tile> RecordedTiles::read(const gpu::Submission& submission) const {
  std::vector<Tile> tiles;
  std::span<const float> cells;
  if (values_) cells = submission.values<float>(*values_);
  std::size_t map = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const TileRequest& request = requests_[i];
    tiles.push_back(is_hidden_[i] ? hidden_tile(request) : unpack(request, cells));
    if (is_map(request.stage)) add_statistics(tiles.back(), submission.values<float>(stats_[map++]));
    if (!is_hidden_[i]) cells = cells.subspan(region_of(request).tile_values() * 2);
  }
  return tiles;
}

std::vector<Tile> evaluate(ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests) {
  for (const TileRequest& request : requests) check(run.block(request.block).shape, request);
  std::vector<Tile> tiles;
  while (tiles.size() < requests.size()) {
    const auto rest = requests.subspan(tiles.size());
    gpu::Stream stream(kernels.context());
    const RecordedTiles recorded(stream, kernels, run, rest.first(RecordedTiles::count(kernels.context(), rest)));
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    for (Tile& tile : recorded.read(submission)) tiles.push_back(std::move(tile));
  }
  return tiles;
}

}  // namespace headlight::attention
