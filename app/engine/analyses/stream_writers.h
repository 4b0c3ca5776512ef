#pragma once

#include "app/engine/analyses/analysis.h"
#include "attribution/frozen_reader.h"

namespace headlight::app {

/// The queries or keys of one head, of some tokens of a line.
struct ReadSide {
  model::BlockRef block;
  std::uint32_t batch = 0, head = 0;
  std::uint32_t first = 0, count = 1;
  bool is_of_keys = false;
};

/// Takes what a writer gives to the queries or keys [token, d_k], turned by their positions. `heads`: of a head what its
/// layer's outputs are read by; else null. Returns whether to go on.
using TakeWriter = std::function<bool(const attribution::Writer& writer, attribution::FrozenReader::Rows part,
                                      const attribution::HeadReader* heads)>;

/// Calls `take` for each writer of the stream that they are read from, the last one first; all parts sum to the queries or
/// keys. Reads the stream and the heads' outputs layer by layer; keeps those of one layer. Of an attention that
/// attribution::why_no_writers() has nothing against. Returns whether it came to the end.
Task<bool> read_writers(ReadSide side, AnalysisSubject subject, TakeWriter take);

}  // namespace headlight::app
