#pragma once

#include "app/analyses/head_similarity.h"
#include "app/frame.h"

namespace headlight::app {

/// The divergences of every two heads in this run, and where it is compared in the baseline.
struct SimilarHeads {
  const HeadSimilarity* now = nullptr;
  const HeadSimilarity* baseline = nullptr;  ///< of the same heads; null: nothing is compared

  /// What is drawn: in bits, or by how much it is another number than in the baseline.
  float between(std::size_t a, std::size_t b) const {
    return now->between(a, b) - (baseline ? baseline->between(a, b) : 0.0F);
  }
};

/// The divergences of every two heads as a square map, in one order of heads for rows and columns.
class SimilarityMap {
 public:
  /// Takes over the numbers only where they or the order are others than before. `baseline`: null where nothing is compared.
  void show(std::shared_ptr<const AnalysisResult> result, std::shared_ptr<const AnalysisResult> baseline, bool is_grouped);
  /// What was shown last.
  SimilarHeads shown() const;
  /// Indices of HeadSimilarity::heads, from the top on.
  const std::vector<std::uint32_t>& order() const { return order_; }
  struct Pointed {
    std::optional<std::uint32_t> clicked;  ///< the index of the row's head
    bool is_opened = false;                ///< by a double click
    /// Under the pointer: the row's head and the column's.
    std::optional<std::pair<std::uint32_t, std::uint32_t>> hovered = {};
  };
  /// Draws into the current region, as large as it fits. `selected`: an index of HeadSimilarity::heads, whose row and column
  /// are outlined.
  Pointed draw(Frame& frame, std::optional<std::uint32_t> selected) const;

 private:
  std::shared_ptr<const AnalysisResult> result_, baseline_;  ///< whose numbers they are
  bool is_grouped_ = false;
  std::uint64_t revision_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<float> values_;  ///< [row, column]
  float largest_ = 0.0F;
};

}  // namespace headlight::app
