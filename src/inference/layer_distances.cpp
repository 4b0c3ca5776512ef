#include <algorithm>

#include "attention/mask_words.h"
#include "inference/layer_recorder.h"
#include "ops/distance_scores.h"

namespace headlight::inference {

Hidden LayerRecorder::kept(std::uint32_t heads, std::uint32_t tokens, std::uint32_t width, std::string_view purpose) {
  auto tensor = std::make_shared<const ops::DeviceTensor>(stream_, 1, heads, tokens, width, purpose);
  forward_.buffers.emplace_back(tensor, &tensor->buffer());
  return tensor;
}

void LayerRecorder::relate(const LayerPosition& place, const attention::BlockRun& block, const DeviceLayer& device) {
  if (!block.config.distances || place.rows.count == 0) return;
  const model::DistanceVectors& distances = pass_.network->layers->distances[*block.config.distances];
  const std::uint32_t heads = block.shape.heads, d_k = block.shape.d_k, width = distances.table.axis(1);
  const auto [first, count] = attention::distance_rows(distances, block.shape.queries, block.shape.keys);
  const auto begin = distances.table.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{first} * width);
  const std::vector<float> rows(begin, begin + static_cast<std::ptrdiff_t>(std::size_t{count} * width));
  constexpr const char* kPurpose = "vectors of distances";
  const Hidden keys = kept(heads, count, d_k, kPurpose);
  Hidden queries = keys;
  if (distances.is_projected) {
    const Hidden plain = kept(1, count, width, kPurpose), values = kept(heads, count, block.shape.d_v, kPurpose);
    queries = kept(heads, count, d_k, kPurpose);
    plain->upload(stream_, Tensor({1, 1, count, width}, rows));
    const ops::PackedLinear& weights = device.position_projections ? *device.position_projections : *device.projections;
    ops::project_heads(stream_, kernels_, *plain, weights, queries.get(), keys.get(), values.get());
  } else {
    Tensor all({1, heads, count, width});
    for (std::uint32_t head = 0; head < heads; ++head) {
      std::ranges::copy(rows, all.values.begin() + static_cast<std::ptrdiff_t>(head * rows.size()));
    }
    keys->upload(stream_, all);
  }
  const attention::DeviceMask& mask = *block.mask;
  const auto multiply = [&](std::uint32_t at, const Hidden& x, const Hidden& table, std::uint32_t tokens) {
    if (at != 0) ops::distance_scores(stream_, kernels_, *x, *table, tokens, mask.words, at);
  };
  multiply(mask.content_position_at, block.q, keys, block.shape.queries);
  multiply(mask.position_content_at, block.k, queries, block.shape.keys);
}

}  // namespace headlight::inference
