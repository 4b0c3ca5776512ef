#include "inference/recorded_findings.h"

#include <utility>

#include "ops/odd_numbers.h"

namespace headlight::inference {
namespace {

/// l of the pairs (m, l): it is NaN wherever one of both isn't finite, but where the mask hides a whole row by −∞, which has
/// m = −∞ and l = 0.
ops::NumberRows sums_of(const attention::BlockRun& block) {
  const std::uint32_t maps = block.shape.batch * block.shape.heads, capacity = block.stats->width / (2 * maps);
  return {.numbers = block.stats->buffer(),
          .rows = maps * capacity,
          .stride = 2,
          .first = 1,
          .period = capacity,
          .kept = block.shape.queries};
}

}  // namespace

RecordedFindings::RecordedFindings(gpu::Stream& stream, ops::Kernels& kernels, const attention::AttentionRun& run) {
  std::vector<ops::NumberRows> parts;
  for (const attention::BlockRun& block : run.blocks) {
    blocks_.push_back(block.ref);
    all_rows_ += std::uint64_t{block.shape.batch} * block.shape.heads * block.shape.queries;
    parts.push_back(sums_of(block));
  }
  const auto& states = run.decoder_states.empty() ? run.encoder_states : run.decoder_states;
  const attention::DeviceTensorPtr last = states.empty() ? nullptr : states.back();
  for (std::uint32_t item = 0; last && item < last->items; ++item) {
    parts.push_back({.numbers = last->item(item),
                     .rows = run.blocks.empty() ? 0 : run.blocks.back().shape.queries,
                     .stride = last->width4() * 4,
                     .count = last->width});
  }
  gpu::Buffer counts(stream.context(), parts.size() * sizeof(std::uint32_t), gpu::Memory::Transient,
                     "counts of what isn't a number");
  ops::count_odd_numbers(stream, kernels, parts, counts);
  counts_ = stream.download(std::move(counts));
}

RunFindings RecordedFindings::read(const gpu::Submission& submission) const {
  const std::span<const std::uint32_t> counts = submission.values<std::uint32_t>(counts_);
  RunFindings findings{.all_rows = all_rows_};
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (findings.rows == 0 && counts[block] > 0) findings.first_block = blocks_[block];
    findings.rows += counts[block];
  }
  for (const std::uint32_t count : counts.subspan(blocks_.size())) findings.last_state += count;
  return findings;
}

}  // namespace headlight::inference
