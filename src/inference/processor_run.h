#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "inference/reference_run.h"
#include "inference/run.h"
#include "inference/session.h"
#include "ops/host_threads.h"

namespace headlight::inference {

/// Settings of a session without a device.
struct ProcessorSettings {
  Precision precision = Precision::F32;
  PassObserver observer = {};  ///< of every pass
  std::size_t kept_bytes = std::size_t{512}
                           << 20;  ///< of stages of blocks; those of others are computed again when asked for
};

/// A pass without a device: linear layers by the program's functions for processors in float32, everything else as the
/// reference has it, in double precision, rounded to float32 where a stage ends: what overflows on a device is infinite
/// here. Any network, mask and intervention, the whole text anew in each pass. Of n × n maps only rows are computed, when a
/// tile asks for them.
class ProcessorRun final : public Run {
 public:
  /// Throws Error of kind Cancelled where the observer says so.
  ProcessorRun(PassInputs pass, const ProcessorSettings& settings, std::shared_ptr<ops::HostThreads> threads);

  std::vector<model::BlockRef> blocks() const override { return inputs().network->blocks(); }
  BlockShape shape(model::BlockRef block) const override;
  std::uint64_t version(model::BlockRef /*block*/) const override { return number_; }
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override;
  Tensor hidden(Stack stack) const override;
  Tensor encoder_output() const override;
  bool has_logits() const override { return inputs().network->layers->unembedding.has_value(); }
  Tensor logits() const override;
  Tensor logits(std::span<const StateRef> states) const override;
  std::vector<Tensor> residuals(std::span<const ResidualRows> requests) const override;
  std::vector<Tensor> products(std::span<const Product> products) const override;

 private:
  using Array = model::reference::Array;
  using Stages = model::reference::AttentionStages;
  struct Block {
    std::shared_ptr<const Stages> stages;  ///< without maps; null: to be computed again
    Array input;                           ///< of the layer, where they are
  };
  const Stages& stages(model::BlockRef block) const;
  attention::Tile tile(const attention::TileRequest& request) const;
  /// Exact cells [rows, columns] of the request and, of maps, which of them are masked; row_max and row_sum of the tile.
  std::vector<float> cells(attention::Tile& tile, std::vector<std::uint8_t>& masked) const;
  const std::vector<Array>& states(Stack stack) const {
    return stack == Stack::Encoder ? run_.encoder_hidden : run_.decoder_hidden;
  }
  Stack last_stack() const { return run_.decoder_hidden.empty() ? Stack::Encoder : Stack::Decoder; }
  const std::optional<model::Norm>& final_norm(Stack stack) const;

  std::shared_ptr<ops::HostThreads> threads_;
  std::uint64_t number_;
  model::reference::PassRules rules_;
  model::reference::Run run_;  ///< without blocks
  std::map<model::BlockRef, Block> blocks_;
  mutable std::optional<std::pair<model::BlockRef, Stages>> again_;  ///< the block that was computed again last
};

}  // namespace headlight::inference
