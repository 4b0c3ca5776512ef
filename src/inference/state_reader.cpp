#include "inference/state_reader.h"

#include <algorithm>
#include <cmath>

#include "ops/linear.h"
#include "ops/norm.h"

namespace headlight::inference {
namespace {

/// Copies the first `tokens` rows of every item to `to` [item, token, width].
void unpad(const ops::DeviceTensor& tensor, std::span<const float> padded, std::uint32_t tokens, float* to) {
  const std::size_t row_width = std::size_t{tensor.width4()} * 4;
  for (std::uint32_t item = 0; item < tensor.items; ++item) {
    for (std::uint32_t row = 0; row < tokens; ++row, to += tensor.width) {
      const auto source = padded.subspan(item * tensor.item_bytes() / sizeof(float) + row * row_width, tensor.width);
      std::copy(source.begin(), source.end(), to);
    }
  }
}

}  // namespace

Tensor StateReader::hidden() const {
  if (states_.empty()) return {};
  const ops::DeviceTensor& first = *states_.front();
  Tensor result({static_cast<std::uint32_t>(states_.size()), first.items, length_, first.width});
  const std::size_t one = result.values.size() / states_.size();
  for (std::size_t layer = 0; layer + 1 < states_.size(); ++layer) {
    gpu::Stream stream(kernels_.context());
    const gpu::Download bytes = stream.download(states_[layer]->buffer());
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    unpad(*states_[layer], submission.values<float>(bytes), length_, result.values.data() + layer * one);
  }
  const Tensor last = output();
  std::copy(last.values.begin(), last.values.end(), result.values.end() - static_cast<std::ptrdiff_t>(one));
  return result;
}

Tensor StateReader::output() const {
  if (states_.empty()) return {};
  const ops::DeviceTensor& last = *states_.back();
  gpu::Stream stream(kernels_.context());
  std::optional<ops::DeviceTensor> normed;
  if (final_norm_ != nullptr) {
    normed.emplace(stream, last.items, 1, last.tokens, last.width, "the result");
    ops::norm(stream, kernels_, last, *final_norm_, *normed, {.rows = ops::Rows{0, length_}});
  }
  const ops::DeviceTensor& source = normed ? *normed : last;
  const gpu::Download bytes = stream.download(source.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  Tensor result({last.items, length_, last.width});
  unpad(source, submission.values<float>(bytes), length_, result.values.data());
  return result;
}

void RecordedRows::add(gpu::Stream& stream, const ops::DeviceTensor& state, std::uint32_t item, ops::Rows rows) {
  const std::size_t row_bytes = std::size_t{state.width4()} * ops::DeviceTensor::kVec4Bytes;
  const gpu::Slice slice(state.buffer(), item * state.item_bytes() + rows.first * row_bytes, rows.count * row_bytes);
  parts_.push_back({.bytes = stream.download(slice), .rows = rows.count, .width = state.width});
}

std::vector<Tensor> RecordedRows::read(const gpu::Submission& submission) const {
  std::vector<Tensor> result;
  for (const Part& part : parts_) {
    const std::span<const float> padded = submission.values<float>(part.bytes);
    const std::size_t stride = ops::divide_up(part.width, 4) * std::size_t{4};
    Tensor& tensor = result.emplace_back(Shape{part.rows, part.width});
    for (std::size_t row = 0; row < part.rows; ++row) {
      const auto source = padded.subspan(row * stride, part.width);
      std::copy(source.begin(), source.end(), tensor.values.begin() + static_cast<std::ptrdiff_t>(row * part.width));
    }
  }
  return result;
}

Tensor RecordedLogits::read(const gpu::Submission& submission) const {
  Tensor result({logits_.items, rows_, logits_.width});
  unpad(logits_, submission.values<float>(*bytes_), rows_, result.values.data());
  if (softcap_ > 0.0f) {
    for (float& logit : result.values) logit = softcap_ * std::tanh(logit / softcap_);
  }
  return result;
}

RecordedLogits StateReader::record_logits(gpu::Stream& stream, const DeviceUnembedding& weights,
                                          const model::Unembedding& source, std::span<const StateRows> rows) const {
  RecordedLogits recorded;
  recorded.softcap_ = source.softcap;
  std::uint32_t count = 0;
  for (const StateRows& some : rows) count += some.tokens.count;
  recorded.rows_ = count;
  const ops::DeviceTensor& last = *states_.back();  // which every run has, one of copies too
  const auto make = [&](std::uint32_t width) {
    return ops::DeviceTensor(stream, last.items, 1, count, width, "the logits");
  };
  const bool has_lens = std::ranges::any_of(rows, [](const StateRows& some) { return some.translator != nullptr; });
  if (has_lens) recorded.translated_.emplace(make(last.width));
  if (final_norm_ != nullptr) recorded.normed_.emplace(make(last.width));
  if (weights.transform) recorded.transformed_.emplace(make(weights.transform->width));
  recorded.logits_ = make(weights.linear.width);

  /// Records an operation on the wanted rows where they are so far: spread over states, or together in one tensor.
  const auto through = [&](const ops::DeviceTensor* together, auto&& record) {
    if (together != nullptr) return record(*together, ops::Rows{0, count}, 0u);
    std::uint32_t at = 0;
    for (const StateRows& some : rows) {
      const bool is_translated = some.translator != nullptr;
      record(is_translated ? *recorded.translated_ : *states_[some.layer], ops::Rows{at, some.tokens.count},
             is_translated ? at : some.tokens.first);
      at += some.tokens.count;
    }
  };
  for (std::uint32_t at = 0; const StateRows& some : rows) {
    const ops::Rows to{at, some.tokens.count};
    if (some.translator != nullptr) {
      ops::linear(stream, kernels_, *states_[some.layer], *some.translator, *recorded.translated_,
                  {.rows = to, .x_first = some.tokens.first});
    }
    at += to.count;
  }
  const ops::DeviceTensor* together = nullptr;
  if (recorded.normed_) {
    through(together, [&](const ops::DeviceTensor& x, ops::Rows to, std::uint32_t from) {
      ops::norm(stream, kernels_, x, *final_norm_, *recorded.normed_,
                {.rows = ops::Rows{from, to.count}, .out_first = to.first});
    });
    together = &*recorded.normed_;
  }
  if (recorded.transformed_) {
    const ops::DeviceTensor& transformed = *recorded.transformed_;
    through(together, [&](const ops::DeviceTensor& x, ops::Rows to, std::uint32_t from) {
      ops::linear(stream, kernels_, x, *weights.transform, transformed,
                  {.activation = static_cast<ops::Activation>(source.activation), .rows = to, .x_first = from});
    });
    together = &transformed;
    if (weights.norm) ops::norm(stream, kernels_, transformed, *weights.norm, transformed);
  }
  through(together, [&](const ops::DeviceTensor& x, ops::Rows to, std::uint32_t from) {
    ops::linear(stream, kernels_, x, weights.linear, recorded.logits_, {.rows = to, .x_first = from});
  });
  recorded.bytes_ = stream.download(recorded.logits_.take_buffer());
  return recorded;
}

}  // namespace headlight::inference
