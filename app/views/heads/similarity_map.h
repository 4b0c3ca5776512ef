#pragma once

#include "app/engine/analyses/head_similarity.h"
#include "app/widgets/cell_grid.h"
#include "app/widgets/finding.h"

namespace headlight::app {

/// The divergences of every two heads as a square map, in one order of heads for rows and columns: in bits, or by how much
/// they changed since the baseline.
class SimilarityMap {
 public:
  using Found = ComparedFinding<HeadSimilarity>;

  /// Takes over the numbers only where they or the order changed. There must be numbers of the run.
  void show(const Found& found, bool is_grouped);
  /// What was shown last; its answers are null.
  Found shown() const;
  /// Indices of HeadSimilarity::heads, from the top on.
  const std::vector<std::uint32_t>& order() const { return order_; }
  /// In that order.
  Grid matrix() const;
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

/// The divergence of two heads in both runs.
inline Compared<double> divergence(const SimilarityMap::Found& found, std::size_t a, std::size_t b) {
  return found.compare([&](const HeadSimilarity& of) { return double{of.between(a, b)}; });
}

}  // namespace headlight::app
