#pragma once

#include "inference/counterparts.h"
#include "inference/run.h"

namespace headlight::inference {

/// A run of another text, asked by the token positions of the run that it is compared with: row 5 of a matrix is that of the
/// counterpart of token 5. What belongs to a token without a counterpart is NaN; in maps it is masked, too.
/// Pooled values are of those cells of their square that there are. It holds the other run, and answers at once what that
/// one answers, in strips of bounded size.
class AlignedRun final : public Run {
 public:
  /// `input`: by_positions_of(). `run` has as many items, or is of copies of the item `line`.
  AlignedRun(std::shared_ptr<const Run> run, model::ModelInput input, std::shared_ptr<const InputCounterparts> pairs,
             std::uint32_t line = 0);

  const std::shared_ptr<const InputCounterparts>& pairs() const { return pairs_; }
  /// Another run of the same text by the same positions, of which it is a pass with changes.
  std::shared_ptr<const AlignedRun> of_changed(std::shared_ptr<const Run> run, std::uint32_t line = 0) const {
    return std::make_shared<const AlignedRun>(std::move(run), inputs().input, pairs_, line);
  }
  /// Changes that name tokens of these positions, as the other run's pass needs them: rows of tokens without a counterpart
  /// are left out.
  Interventions own(const Interventions& changes) const;

  std::vector<model::BlockRef> blocks() const override { return run_->blocks(); }
  BlockShape shape(model::BlockRef block) const override;
  /// Runs with equal versions have equal numbers in the block only where their counterparts are equal, too: the wrapped
  /// run's version is mixed with a hash of the counterparts.
  std::uint64_t version(model::BlockRef block) const override { return run_->version(block) ^ pairs_hash_; }
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override;
  Tensor hidden(Stack stack) const override;
  Tensor encoder_output() const override;
  bool has_logits() const override { return run_->has_logits(); }
  Tensor logits() const override;
  Tensor logits(std::span<const StateRef> states) const override;
  std::vector<Tensor> residuals(std::span<const ResidualRows> requests) const override;

 private:
  using Line = std::vector<std::uint32_t>;
  const Line& line(const InputCounterparts::Items& items, std::uint32_t item) const;
  attention::Tile evaluate_map(const attention::TileRequest& request) const;
  attention::Tile evaluate_vectors(const attention::TileRequest& request) const;

  std::shared_ptr<const Run> run_;
  std::shared_ptr<const InputCounterparts> pairs_;
  std::uint64_t pairs_hash_;
  std::uint32_t line_;
};

/// `other` by the token positions of `run`: an AlignedRun, or `other` itself where both have as many tokens, or the texts
/// have other numbers of lines or no tokens but vectors, so that there are no counterparts.
std::shared_ptr<const Run> aligned_to(const Run& run, std::shared_ptr<const Run> other, TokenIdentity identity);

}  // namespace headlight::inference
