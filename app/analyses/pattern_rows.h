#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/analyses/head_ranking.h"
#include "attention/expression.h"
#include "attention/mask.h"
#include "evaluation/head_meter.h"
#include "inference/prompt.h"

namespace headlight::app {

/// The cells of a pattern that heads are ranked by, some rows at a time: nothing of [queries, keys] is kept. Computed on the
/// host, a typed one in double precision.
class PatternRows {
 public:
  /// Of the question's line. Throws Error in one line where the pattern means nothing for this kind of attention, or
  /// where what was typed is no expression.
  PatternRows(const PatternQuestion& question, const AnalysisSubject& subject, attention::KeyRange queries,
              attention::KeyRange keys);
  // mask tokens refer to the mask
  PatternRows(const PatternRows&) = delete;
  PatternRows& operator=(const PatternRows&) = delete;

  /// Has each head a pattern of its own? Only an expression with `head` or `layer` in it.
  bool depends_on_head() const;
  /// [row, key], 1 where the pattern has the cell: rows [first, first + count) of the map, keys of the line without padding.
  std::vector<std::uint8_t> rows(const HeadRef& head, std::uint32_t first, std::uint32_t count) const;

 private:
  void write_row(std::uint32_t query, std::vector<std::uint8_t>& row_by_row) const;

  AnalysisSubject subject_;  ///< keeps network and input
  std::uint32_t batch_;
  HeadPattern pattern_;
  attention::KeyRange queries_, keys_;
  std::optional<evaluation::TokenRepeats> repeats_;  ///< of self-attention
  attention::MaskSpec mask_;                         ///< with the typed expression
  std::optional<inference::MaskTokens> tokens_;      ///< of an expression
};

}  // namespace headlight::app
