#pragma once

#include <cstdint>
#include <span>
#include <vector>
#include "attention/run.h"
#include "inference/run.h"
#include "inference/run_tensors.h"
#include "inference/session.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// A run of one block whose queries, keys and values are given. Its rows are computed as those of a pass, but only where a
/// tile asks for them: a text of 32,768 tokens has 2^30 scores a head, of which a view shows some thousand rows. The session
/// must outlive it.
class GivenRun final : public Run {
 public:
  GivenRun(ops::Kernels& kernels, ScratchTensors& scratch, const GivenAttention& given);

  std::vector<model::BlockRef> blocks() const override;
  BlockShape shape(model::BlockRef block) const override;
  std::uint64_t version(model::BlockRef block) const override;
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override;

 private:
  const attention::BlockRun& block() const { return run_.blocks.front(); }
  /// Computes the rows that the requests read and no request before them did: (m, l) and the heads' outputs.
  void attend(std::span<const attention::TileRequest> requests) const;

  ops::Kernels& kernels_;
  ScratchTensors& scratch_;
  attention::AttentionRun run_;                    ///< of one block
  mutable std::vector<std::uint8_t> is_computed_;  ///< [strip of rows]
};

}  // namespace headlight::inference
