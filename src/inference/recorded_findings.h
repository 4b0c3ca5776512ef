#pragma once

#include "attention/run.h"
#include "gpu/stream.h"
#include "inference/weight_findings.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// Counts of what isn't a number in a pass, recorded after it on its last stream.
class RecordedFindings {
 public:
  /// `run`: what the pass leaves on the device; its rows that were kept from a base are counted again.
  RecordedFindings(gpu::Stream& stream, ops::Kernels& kernels, const attention::AttentionRun& run);

  RunFindings read(const gpu::Submission& submission) const;

 private:
  std::vector<model::BlockRef> blocks_;
  std::uint64_t all_rows_ = 0;
  gpu::Download counts_;  ///< [block, then item of the last state]
};

}  // namespace headlight::inference
