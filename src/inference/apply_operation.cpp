#include "inference/apply_operation.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace headlight::inference {
namespace {

using model::reference::Array;

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

void apply(const Add& add, const DeviceHead& head) {
  std::vector<float> padded(std::size_t{head.slot.width4} * 4);
  std::copy_n(add.vector.begin(), std::min(add.vector.size(), padded.size()), padded.begin());
  ops::add_to_head(head.stream, head.kernels, head.slot, upload(head, padded, "an intervention's vector"), head.rows);
}

void apply(const Average&, const DeviceHead& head) {
  std::vector<std::uint32_t> ranges;
  for (std::uint32_t item = 0; item < head.tokens.batch; ++item) {
    ranges.push_back(head.tokens.start(item));
    ranges.push_back(head.tokens.start(item) + head.tokens.lengths[item]);
  }
  ops::average_head(head.stream, head.kernels, head.slot, upload(head, ranges, "the texts' ends"));
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

/// Of the head's queries: with 0 all scores are equal.
void apply(const ReplacePattern& replaced, const DeviceHead& head) {
  if (replaced.pattern.kind != attention::FixedPattern::Uniform) return;
  ops::scale_head(head.stream, head.kernels, head.slot, 0.0f, head.rows);
}

/// Of weights the attention's kernels drop.
void apply(const Dropout& dropout, const DeviceHead& head) {
  const auto& [block, site, number] = head.place;
  if (site == model::Site::Weights || dropout.probability == 0.0f) return;
  const attention::DropoutPlan plan = attention::dropout_plan(dropout.probability, dropout.seed, site, block);
  ops::drop_from_head(head.stream, head.kernels, head.slot,
                      {.key = plan.key, .threshold = plan.threshold, .factor = plan.factor, .head = number}, head.rows);
}

/// One batch item's rows [token, width] of the reference, and which of them are real.
struct ReferenceRows {
  HeadPlace place;
  std::uint32_t item = 0;
  std::span<double> values;
  std::size_t width = 0;
  std::size_t begin = 0, end = 0;

  std::span<double> row(std::size_t token) const { return values.subspan(token * width, width); }
  std::size_t count() const { return values.size() / width; }
};

void apply(const Scale& scale, const ReferenceRows& rows) {
  for (double& value : rows.values) value *= static_cast<double>(scale.gain);
}

void apply(const Add& add, const ReferenceRows& rows) {
  for (std::size_t token = 0; token < rows.count(); ++token) {
    for (std::size_t i = 0; i < rows.width; ++i) rows.row(token)[i] += static_cast<double>(add.vector[i]);
  }
}

void apply(const Average&, const ReferenceRows& rows) {
  std::vector<double> mean(rows.width);
  for (std::size_t token = rows.begin; token < rows.end; ++token) {
    for (std::size_t i = 0; i < rows.width; ++i) mean[i] += rows.row(token)[i] / static_cast<double>(rows.end - rows.begin);
  }
  for (std::size_t token = rows.begin; token < rows.end; ++token) std::ranges::copy(mean, rows.row(token).begin());
}

void apply(const Replace& replace, const ReferenceRows& rows) {
  if (replace.item != rows.item) return;
  const std::size_t given = replace.rows.size() / rows.width;
  for (std::size_t token = replace.first; token < std::min(replace.first + given, rows.count()); ++token) {
    const auto from = replace.rows.begin() + static_cast<std::ptrdiff_t>((token - replace.first) * rows.width);
    std::copy_n(from, rows.width, rows.row(token).begin());
  }
}

void apply(const ReplacePattern& replaced, const ReferenceRows& rows) {
  if (replaced.pattern.kind == attention::FixedPattern::Uniform) std::ranges::fill(rows.values, 0.0);
}

void apply(const Dropout& dropout, const ReferenceRows& rows) {
  const auto& [block, site, head] = rows.place;
  if (site == model::Site::Weights || dropout.probability == 0.0f) return;
  const attention::DropoutPlan plan = attention::dropout_plan(dropout.probability, dropout.seed, site, block);
  for (std::uint32_t token = 0; token < rows.count(); ++token) {
    for (std::uint32_t i = 0; i < rows.width; ++i) {
      rows.row(token)[i] *= static_cast<double>(plan.factor_of(rows.item, head, token, i));
    }
  }
}

}  // namespace

void apply_operation(const Operation& operation, const DeviceHead& head) {
  std::visit([&](const auto& one) { apply(one, head); }, operation);
}

void apply_operation(const Operation& operation, Array& values, const HeadPlace& place, const model::TokenBatch& tokens,
                     std::optional<std::uint32_t> only) {
  const std::size_t heads = values.shape[1], count = values.shape[2], width = values.shape[3];
  for (std::uint32_t item = 0; item < values.shape[0]; ++item) {
    if (only.value_or(item) != item) continue;
    const std::size_t first = (std::size_t{item} * heads + place.head) * count * width;
    const ReferenceRows rows{.place = place,
                             .item = item,
                             .values = std::span(values.values).subspan(first, count * width),
                             .width = width,
                             .begin = tokens.start(item),
                             .end = tokens.start(item) + tokens.lengths[item]};
    std::visit([&](const auto& one) { apply(one, rows); }, operation);
  }
}

model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input) {
  return [&interventions, &input](model::BlockRef block, model::Site site, Array& values) {
    const bool is_of_keys = site == model::Site::Key || site == model::Site::Value;
    const model::TokenBatch& tokens = is_of_keys ? input.keys(block.kind) : input.queries(block.kind);
    for (const Intervention& one : interventions) {
      if (one.site != site || !one.scope.covers(block)) continue;
      for (std::uint32_t head = 0; head < values.shape[1]; ++head) {
        if (one.scope.head.value_or(head) == head)
          apply_operation(one.operation, values, {block, site, head}, tokens, one.scope.item);
      }
    }
  };
}

model::reference::Visibility reference_visibility(const Interventions& interventions, const model::ModelInput& input,
                                                  const attention::MaskSet& masks, model::reference::Visibility is_visible) {
  return [&interventions, &input, &masks, is_visible = std::move(is_visible)](
             model::BlockRef block, std::uint32_t item, std::uint32_t head, std::uint32_t query, std::uint32_t key) {
    const auto patterns = patterns_of(interventions, block, head + 1);
    const model::TokenBatch& tokens = input.keys(block.kind);
    attention::KeyRange keys = tokens.length;
    if (masks[block.kind].rule.key_padding) keys = {tokens.start(item), tokens.start(item) + tokens.lengths[item]};
    const bool is_of_pattern = patterns.empty() || !patterns[head] || attention::shows(*patterns[head], query, key, keys);
    return is_of_pattern && is_visible(block, item, head, query, key);
  };
}

model::reference::ScoreEdit reference_scores(const Interventions& interventions, model::reference::ScoreEdit edit) {
  return [&interventions, edit = std::move(edit)](model::BlockRef block, std::uint32_t item, std::uint32_t head,
                                                  std::uint32_t query, std::uint32_t key, double score) {
    const auto patterns = patterns_of(interventions, block, head + 1);
    const double edited = edit ? edit(block, item, head, query, key, score) : score;
    return patterns.empty() || !patterns[head] ? edited : attention::score_of(*patterns[head], {query, key}, edited);
  };
}

model::reference::ScoreEdit reference_weights(const Interventions& interventions) {
  return [&interventions](model::BlockRef block, std::uint32_t item, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key, double weight) {
    const std::optional<attention::DropoutPlan> plan = weight_dropout(interventions, block);
    return plan ? weight * static_cast<double>(plan->factor_of(item, head, query, key)) : weight;
  };
}

}  // namespace headlight::inference
