#pragma once

#include "app/engine/analyses/analysis.h"
#include "app/state/session_record.h"

namespace headlight::app {

/// Some weights of many heads, some logits of the last token, and a checksum of the model: what a session's record keeps.
/// The choice of numbers follows from the run's shapes alone.
struct RunSampleQuestion {
  auto operator<=>(const RunSampleQuestion&) const = default;
};

struct RunSample final : AnalysisResult {
  std::uint32_t weights_crc = 0;        ///< CRC-32 of a row of every layer's W_Q, W_K, W_V and W_O, as float32
  std::vector<float> weights = {};      ///< of attention; of 256 heads at most, 8 keys up to a query's own
  std::vector<float> logits = {};       ///< of the first line's last token: 64 of the vocabulary
  std::vector<std::uint32_t> ids = {};  ///< of the first line, of its source and its target; the first ones of a long text
};

Task<RunSample> analyse(RunSampleQuestion question, AnalysisSubject subject);

/// Returns the record of a session whose run was sampled on a device of this name.
SessionRecord record_of(const RunSample& sample, const std::string& device);

}  // namespace headlight::app
