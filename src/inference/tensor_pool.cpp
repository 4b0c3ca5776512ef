#include "inference/tensor_pool.h"

namespace headlight::inference {

attention::DeviceTensorPtr TensorPool::get(gpu::Stream& stream, const TensorKey& key, const TensorSize& size,
                                           std::string_view purpose) {
  Entry& entry = tensors_[key];
  if (!entry.tensor || !entry.tensor->has_shape(size.items, size.heads, size.tokens, size.width)) {
    if (entry.is_used) retired_.push_back(std::move(entry.tensor));  // recorded already: the stream needs it
    entry.tensor =
        std::make_shared<const ops::DeviceTensor>(stream, size.items, size.heads, size.tokens, size.width, purpose);
  }
  entry.is_used = true;
  return entry.tensor;
}

const ops::AttentionScratch* TensorPool::scratch(gpu::Context& context, std::uint32_t heads, std::uint32_t queries,
                                                 std::uint32_t keys, std::uint32_t items) {
  ScratchEntry& entry = scratches_[{heads, queries, keys, items}];
  if (!entry.scratch) entry.scratch = std::make_shared<const ops::AttentionScratch>(context, heads, queries, keys, items);
  entry.is_used = true;
  return entry.scratch.get();
}

void TensorPool::drop_unused() {
  const auto drop = [](auto& entries) {
    std::erase_if(entries, [](const auto& entry) { return !entry.second.is_used; });
    for (auto& entry : entries) entry.second.is_used = false;
  };
  retired_.clear();
  drop(tensors_);
  drop(scratches_);
}

}  // namespace headlight::inference
