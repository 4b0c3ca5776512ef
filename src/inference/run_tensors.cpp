#include "inference/run_tensors.h"

#include <algorithm>

namespace headlight::inference {

attention::DeviceTensorPtr ScratchTensors::get(gpu::Stream& stream, const TensorKey& key, const TensorSize& size,
                                               std::string_view purpose) {
  Entry& entry = tensors_[key];
  if (!entry.tensor || !entry.tensor->has_shape(size.items, size.heads, size.tokens, size.width)) {
    if (entry.is_used) replaced_.push_back(std::move(entry.tensor));  // recorded already: the stream needs it
    entry.tensor =
        std::make_shared<const ops::DeviceTensor>(stream, size.items, size.heads, size.tokens, size.width, purpose);
  }
  entry.is_used = true;
  return entry.tensor;
}

const ops::AttentionScratch* ScratchTensors::attention(gpu::Context& context, std::uint32_t heads, std::uint32_t queries,
                                                       std::uint32_t keys, std::uint32_t items) {
  AttentionEntry& entry = attention_[{heads, queries, keys, items}];
  if (!entry.scratch) entry.scratch = std::make_shared<const ops::AttentionScratch>(context, heads, queries, keys, items);
  entry.is_used = true;
  return entry.scratch.get();
}

void ScratchTensors::drop_unused() {
  const auto drop = [](auto& entries) {
    std::erase_if(entries, [](const auto& entry) { return !entry.second.is_used; });
    for (auto& entry : entries) entry.second.is_used = false;
  };
  replaced_.clear();
  drop(tensors_);
  drop(attention_);
}

attention::DeviceTensorPtr RunTensors::get(gpu::Stream& stream, const TensorKey& key, const TensorSize& size, ops::Rows rows,
                                           std::string_view purpose) {
  const std::uint32_t end = rows.count > 0 ? rows.end() : 0;
  const auto known = tensors_.find(key);
  if (known != tensors_.end()) {
    known->second.written = std::max(known->second.written, end);
    return known->second.shared->tensor;
  }
  std::shared_ptr<Shared> base;
  long holders = 0;
  if (base_ != nullptr) {
    const auto found = base_->tensors_.find(key);
    const bool fits = found != base_->tensors_.end() &&
                      found->second.shared->tensor->has_shape(size.items, size.heads, size.tokens, size.width);
    if (fits) {
      holders = found->second.shared.use_count();
      base = found->second.shared;
    }
  }
  const bool appends = base && (rows.count == 0 || rows.first >= base->written);
  const bool overwrites = base && !appends && overwrites_base_ && holders == 1;
  if (appends || overwrites) {
    destroys_base_ = destroys_base_ || overwrites;
    tensors_[key] = {.shared = base, .written = end, .is_own = overwrites};
    return base->tensor;
  }
  auto own = std::make_shared<Shared>();
  own->tensor = std::make_shared<const ops::DeviceTensor>(stream, size.items, size.heads, size.tokens, size.width, purpose);
  if (base && rows.first > 0) stream.copy(base->tensor->buffer(), own->tensor->buffer());
  tensors_[key] = {.shared = own, .written = end, .is_own = true};
  return own->tensor;
}

attention::DeviceTensorPtr RunTensors::find(const TensorKey& key) const {
  const auto found = tensors_.find(key);
  return found == tensors_.end() ? nullptr : found->second.shared->tensor;
}

void RunTensors::commit() {
  for (auto& [key, entry] : tensors_) {
    entry.shared->written = entry.is_own ? entry.written : std::max(entry.shared->written, entry.written);
  }
  base_ = nullptr;
}

}  // namespace headlight::inference
