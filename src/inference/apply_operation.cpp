#include "inference/apply_operation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <fmt/format.h>

namespace headlight::inference {
namespace {

std::string complaint(const Scale& scale, std::uint32_t) {
  return std::isfinite(scale.gain) ? "" : fmt::format("its gain is {}: give a finite number", scale.gain);
}
void apply(const Scale& scale, const DeviceHead& head) {
  if (scale.gain != 1.0f) ops::scale_head(head.stream, head.kernels, head.slot, scale.gain, head.rows);
}

/// Lives as long as the pass.
template <typename T>
const gpu::Buffer& upload(const DeviceHead& head, const std::vector<T>& values, const char* what) {
  const auto buffer =
      std::make_shared<const gpu::Buffer>(head.stream.context(), values.size() * sizeof(T), gpu::Memory::Transient, what);
  head.stream.upload(*buffer, 0, std::span<const T>(values));
  head.buffers.push_back(buffer);
  return *buffer;
}

std::string complaint(const Add& add, std::uint32_t width) {
  if (add.vector.size() != width) {
    return fmt::format("its vector has {} numbers where a head has {}: give as many", add.vector.size(), width);
  }
  const bool is_finite = std::ranges::all_of(add.vector, [](float value) { return std::isfinite(value); });
  return is_finite ? "" : "its vector has a number that isn't finite: give finite ones";
}
void apply(const Add& add, const DeviceHead& head) {
  std::vector<float> padded(std::size_t{head.slot.width4} * 4);
  std::copy_n(add.vector.begin(), std::min(add.vector.size(), padded.size()), padded.begin());
  ops::add_to_head(head.stream, head.kernels, head.slot, upload(head, padded, "an intervention's vector"), head.rows);
}

std::string complaint(const Average&, std::uint32_t) { return ""; }
void apply(const Average&, const DeviceHead& head) {
  std::vector<std::uint32_t> ranges;
  for (std::uint32_t item = 0; item < head.tokens.batch; ++item) {
    ranges.push_back(head.tokens.start(item));
    ranges.push_back(head.tokens.end(item));
  }
  ops::average_head(head.stream, head.kernels, head.slot, upload(head, ranges, "the texts' ends"));
}

std::string complaint(const Replace& replace, std::uint32_t width) {
  if (replace.rows.empty() || replace.rows.size() % width != 0) {
    return fmt::format("its rows have {} numbers in all where each token has {}: give whole rows", replace.rows.size(),
                       width);
  }
  const bool is_finite = std::ranges::all_of(replace.rows, [](float value) { return std::isfinite(value); });
  return is_finite ? "" : "its rows have a number that isn't finite: give finite ones";
}
void apply(const Replace& replace, const DeviceHead& head) {
  if (replace.item >= head.tokens.batch || head.item.value_or(replace.item) != replace.item) return;
  const std::size_t width = head.width, count = replace.rows.size() / width;
  const std::uint32_t first = std::max(replace.first, head.rows.first);
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(replace.first + count, head.rows.end()));
  if (first >= end) return;
  const std::size_t stride = std::size_t{head.slot.width4} * 4;
  std::vector<float> padded(stride * (end - first));
  for (std::size_t row = 0; row < end - first; ++row) {
    const auto from = replace.rows.begin() + static_cast<std::ptrdiff_t>((row + first - replace.first) * width);
    std::copy_n(from, width, padded.begin() + static_cast<std::ptrdiff_t>(row * stride));
  }
  const gpu::Buffer& buffer = upload(head, padded, "an intervention's rows");
  ops::replace_in_head(head.stream, head.kernels, head.slot, replace.item, {buffer, 0, padded.size() * sizeof(float)},
                       {.first = first, .count = end - first});
}

std::string complaint(const ReplacePattern&, std::uint32_t) { return ""; }
/// Changes the head's queries: multiplied by 0, they make all scores equal.
void apply(const ReplacePattern& replaced, const DeviceHead& head) {
  if (replaced.pattern.kind != attention::FixedPattern::Uniform) return;
  ops::scale_head(head.stream, head.kernels, head.slot, 0.0f, head.rows);
}

std::string complaint(const Dropout& dropout, std::uint32_t) {
  if (dropout.probability >= 0.0f && dropout.probability <= attention::kMaxDropout) return "";
  return fmt::format("its probability is {}: give 0 to {}", dropout.probability, attention::kMaxDropout);
}
/// Drops numbers of every site but the weights, whose dropout the attention kernels do.
void apply(const Dropout& dropout, const DeviceHead& head) {
  const auto& [block, site, number] = head.place;
  if (site == model::Site::Weights || dropout.probability == 0.0f) return;
  const attention::DropoutPlan plan = attention::dropout_plan(dropout.probability, dropout.seed, site, block);
  ops::drop_from_head(head.stream, head.kernels, head.slot,
                      {.key = plan.key, .threshold = plan.threshold, .factor = plan.factor, .head = number}, head.rows);
}

}  // namespace

std::string complaint(const Operation& operation, std::uint32_t width) {
  return std::visit([&](const auto& one) { return complaint(one, width); }, operation);
}

void apply_operation(const Operation& operation, const DeviceHead& head) {
  std::visit([&](const auto& one) { apply(one, head); }, operation);
}

}  // namespace headlight::inference
