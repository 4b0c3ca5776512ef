#include "inference/given_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/attention.h"

namespace headlight::inference {
namespace {

/// Rows that are computed together: whole groups of every kernel's, and 4 million multiply-adds of 1,024 keys.
constexpr std::uint32_t kStrip = 64;

attention::DeviceTensorPtr upload_heads(gpu::Stream& stream, const Tensor& values, const char* purpose) {
  auto tensor = std::make_shared<ops::DeviceTensor>(stream, 1, values.axis(0), values.axis(1), values.axis(2), purpose);
  tensor->upload(stream, values);
  return tensor;
}

attention::BlockRun upload_block(gpu::Stream& stream, const GivenAttention& given) {
  const std::uint32_t heads = given.q.axis(0), queries = given.q.axis(1), d_k = given.q.axis(2);
  const std::uint32_t kv_heads = given.k.axis(0), keys = given.k.axis(1);
  const bool has_values = !given.v.is_empty();
  const std::uint32_t d_v = has_values ? given.v.axis(2) : 0;
  attention::BlockRun block;
  block.ref = given.block;
  block.config.heads = heads;
  block.config.kv_heads = kv_heads;
  block.config.d_k = d_k;
  block.config.d_v = d_v;
  block.config.scale = given.scale;
  block.config.softcap = given.softcap;
  block.shape = {.batch = 1,
                 .heads = heads,
                 .queries = queries,
                 .keys = keys,
                 .d_k = d_k,
                 .d_v = d_v,
                 .kv_heads = kv_heads,
                 .d_merged = heads * d_v,
                 .has_values = has_values};
  block.q = upload_heads(stream, given.q, "the queries");
  block.k = upload_heads(stream, given.k, "the keys");
  // Attention is one step with its product: without values it is one with zeros of the least width.
  block.v = has_values ? upload_heads(stream, given.v, "the values")
                       : std::make_shared<const ops::DeviceTensor>(stream, 1, kv_heads, keys, 1, "the values");
  const std::uint32_t d_v4 = block.v->width4();
  block.layout = ops::concatenated(heads, d_v4);
  block.merged = std::make_shared<const ops::DeviceTensor>(stream, 1, 1, queries, heads * d_v4 * 4, "the merged heads");
  block.stats = std::make_shared<const ops::DeviceTensor>(ops::make_stats(stream, 1, heads, queries));
  attention::MaskSpec mask;
  mask.rule = {.causal = given.is_causal, .window = given.window, .key_padding = given.real_keys.has_value()};
  const attention::KeyRange real = given.real_keys.value_or(keys);
  const std::array<std::uint32_t, 2> real_keys{real.begin, real.end};
  block.mask = std::make_shared<const attention::DeviceMask>(attention::upload_mask(
      stream, mask, {.layer = given.block.layer.value, .batch = 1, .heads = heads, .queries = queries, .keys = keys},
      real_keys));
  return block;
}

/// Does a tile of the stage read (m, l) or what attention returns?
bool reads_rows(attention::Stage stage) {
  return attention::is_map(stage) || stage == attention::Stage::Heads || stage == attention::Stage::Merged;
}

}  // namespace

GivenRun::GivenRun(ops::Kernels& kernels, ScratchTensors& scratch, const GivenAttention& given)
    : Run({}, {}), kernels_(kernels), scratch_(scratch) {
  gpu::Stream stream(kernels.context());
  run_.blocks.push_back(upload_block(stream, given));
  is_computed_.resize(ops::divide_up(block().shape.queries, kStrip), 0);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
}

std::vector<model::BlockRef> GivenRun::blocks() const { return {block().ref}; }
BlockShape GivenRun::shape(model::BlockRef ref) const { return run_.block(ref).shape; }
std::uint64_t GivenRun::version(model::BlockRef ref) const { return run_.block(ref).version; }

void GivenRun::attend(std::span<const attention::TileRequest> requests) const {
  const auto strips = static_cast<std::uint32_t>(is_computed_.size());
  std::vector<std::uint8_t> is_wanted(strips, 0);
  for (const attention::TileRequest& request : requests) {
    if (!reads_rows(request.stage) || request.rows == 0) continue;
    const std::uint64_t end = std::uint64_t{request.row} + request.rows;
    for (std::uint32_t strip = request.row / kStrip; strip < strips && std::uint64_t{strip} * kStrip < end; ++strip) {
      is_wanted[strip] = is_computed_[strip] == 0 ? 1 : 0;
    }
  }
  if (std::ranges::find(is_wanted, std::uint8_t{1}) == is_wanted.end()) return;
  const attention::BlockShape& shape = block().shape;
  const bool needs_scratch = ops::needs_scratch(ops::attention_kernel(kernels_, block().mask->data));
  const ops::AttentionScratch* scratch =
      needs_scratch ? scratch_.attention(kernels_.context(), shape.heads, shape.queries, shape.keys, 1) : nullptr;
  gpu::Stream stream(kernels_.context());
  for (std::uint32_t first = 0; first < strips;) {
    std::uint32_t end = first;
    while (end < strips && is_wanted[end] != 0) ++end;
    if (end > first) {
      const std::uint32_t row = first * kStrip;
      const ops::Rows rows{row, std::min(end * kStrip, shape.queries) - row};
      ops::attention(stream, kernels_, block().inputs(rows), {*block().merged, *block().stats, block().layout}, scratch);
    }
    first = end + 1;
  }
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  for (std::uint32_t strip = 0; strip < strips; ++strip) is_computed_[strip] |= is_wanted[strip];
}

std::vector<attention::Tile> GivenRun::evaluate(std::span<const attention::TileRequest> requests) const {
  attend(requests);
  return attention::evaluate(kernels_, run_, requests);
}

}  // namespace headlight::inference
