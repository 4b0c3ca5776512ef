#pragma once

#include "app/analyses/analysis.h"

namespace headlight::app {

/// A prediction, which is measured in passes.
struct MeasuredToken {
  std::uint32_t batch = 0;
  std::uint32_t position = 0;               ///< of the token after which is predicted, padding counted
  std::uint32_t token = 0;                  ///< its id
  std::optional<std::uint32_t> other = {};  ///< whose logit is subtracted

  auto operator<=>(const MeasuredToken&) const = default;
};

/// What a pass says of a token at a position.
struct PatchedNumbers {
  double logit = 0.0;            ///< the token's, less the other's where there is one
  double log_probability = 0.0;  ///< the token's: ln of softmax over the vocabulary

  /// Loss: −ln p, in nats.
  double of(PatchMeasure measure) const;
};

/// Of a row of logits [vocabulary]. Throws Error where they are NaN, as those of a token that the other text has no
/// counterpart of.
PatchedNumbers patched_numbers(std::span<const float> logits, const MeasuredToken& measured);

/// (patched − target) / (source − target): 0 where a patch leaves the target as it is, 1 where it does what the whole of the
/// source does (TransformerLens' normalisation of activation patching, the target being its corrupted run and the source its
/// clean one). None where the two differ by less than 1e-4, of probabilities by that share of the larger one, so that
/// float32's rounding would be most of it, and where a number isn't finite.
std::optional<double> recovery(PatchMeasure measure, const PatchedNumbers& target, const PatchedNumbers& source,
                               const PatchedNumbers& patched);

/// What patching each cell of a map does: a layer and a token, or a layer and a head.
struct PatchEffects final : AnalysisResult {
  PatchedNumbers target;                               ///< of the run that is patched, as it is
  PatchedNumbers source;                               ///< of the run that the activations come from
  std::vector<std::uint32_t> layers;                   ///< [row] number of the layer
  std::uint32_t first = 0;                             ///< of column 0: a token's number; 0 of heads
  std::size_t columns = 0;                             ///< tokens or heads
  std::vector<std::optional<PatchedNumbers>> patched;  ///< [row, column]; none: not known yet
  std::size_t known = 0, all = 0;                      ///< cells

  bool is_complete() const { return known == all; }
  void keep(std::size_t row, std::size_t column, const PatchedNumbers& numbers) {
    patched[row * columns + column] = numbers;
    ++known;
  }
  const std::optional<PatchedNumbers>& at(std::size_t row, std::size_t column) const;
  /// None: not known, or there is no recovery.
  std::optional<double> recovery_at(std::size_t row, std::size_t column, PatchMeasure measure) const;
  /// Do source and target differ enough?
  bool can_recover(PatchMeasure measure) const;
};

/// A cell, and what patching it does.
struct PatchCell {
  std::size_t row = 0, column = 0;
  double recovery = 0.0;

  bool operator==(const PatchCell&) const = default;
};

/// The cells whose recovery is farthest from 0, at most so many; equal ones by row and column.
std::vector<PatchCell> strongest_patches(const PatchEffects& effects, PatchMeasure measure, std::size_t most);

}  // namespace headlight::app
