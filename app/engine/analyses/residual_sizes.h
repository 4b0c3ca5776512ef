#pragma once

#include "app/engine/analyses/analysis.h"

namespace headlight::app {

/// Asks for the Euclidean lengths of the residual stream's vectors, before the final norm: how much each layer writes. For
/// cross-attention it is the decoder's stream.
struct ResidualSizesQuestion {
  model::BlockKind kind = {};
  std::uint32_t batch = 0;

  auto operator<=>(const ResidualSizesQuestion&) const = default;
};

struct ResidualSizes final : AnalysisResult {
  std::uint32_t layers = 0, tokens = 0;  ///< layers of the stack
  /// [layer + 1, token]: of the token vectors, then after each layer. Only whole layers: fewer while it is computed.
  std::vector<float> lengths;
};

/// Tells each layer.
Task<ResidualSizes> analyse(ResidualSizesQuestion question, AnalysisSubject subject);

/// Asks for the largest numbers of the residual stream's vectors, of the same stream (Sun et al. 2024, "Massive Activations
/// in Large Language Models").
struct LargestActivationsQuestion : ResidualSizesQuestion {
  auto operator<=>(const LargestActivationsQuestion&) const = default;
};

/// A number of the stream.
struct Activation {
  std::uint32_t token = 0;  ///< padding counted
  std::uint32_t dimension = 0;
  float value = 0.0F;  ///< with its sign

  float size() const { return std::abs(value); }
};

/// The stream before the first layer, or after one; of real tokens alone.
struct LayerActivations {
  static constexpr std::size_t kTop = 3;
  static constexpr float kMassive = 100.0F, kMassiveRatio = 1'000.0F;

  std::vector<Activation> largest;  ///< [token − first]: the largest |x| of each token, of equal ones the first
  std::vector<Activation> top;      ///< the kTop largest of the layer, the largest first
  float median = 0.0F;              ///< of |x| over the layer's tokens and dimensions; of two the lower one

  /// Is |x| > 100 and |x| > 1,000 × the median, as the paper has it?
  bool is_massive(const Activation& x) const { return x.size() > kMassive && x.size() > kMassiveRatio * median; }
};

struct LargestActivations final : AnalysisResult {
  std::uint32_t layers = 0, first = 0;   ///< layers of the stack; the first token that is no padding
  std::vector<LayerActivations> states;  ///< [layer + 1], as ResidualSizes::lengths

  std::uint32_t end() const {
    return first + static_cast<std::uint32_t>(states.empty() ? 0 : states.front().largest.size());
  }
};

/// Tells each layer. Throws Error in one line also where a number isn't finite.
Task<LargestActivations> analyse(LargestActivationsQuestion question, AnalysisSubject subject);

/// Returns the largest activations among states [token, width], whose first token is `first`. Throws Error where a number
/// isn't finite.
LayerActivations largest_activations(std::span<const float> states, std::size_t width, std::uint32_t first);

}  // namespace headlight::app
