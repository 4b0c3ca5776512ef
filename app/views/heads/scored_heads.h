#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/frame.h"
#include "app/views/heads/find_panel.h"
#include "export/drawing.h"

namespace headlight::app {

/// A head's number in both runs.
struct BothScores {
  double now = 0.0, baseline = 0.0;

  bool operator==(const BothScores&) const = default;
};

/// A head with a number, which is drawn; none: it isn't known, or not defined for this head.
struct ScoredHead {
  HeadRef head;
  std::optional<double> value = {};     ///< of the run, or by how much it differs from the baseline's
  std::optional<BothScores> both = {};  ///< where `value` is a difference

  bool operator==(const ScoredHead&) const = default;
};

/// The numbers of the baseline, by head.
using BaselineScores = std::map<HeadRef, std::optional<double>>;
/// Heads' numbers become what they changed by since; none where one of both isn't known.
void subtract_baseline(std::vector<ScoredHead>& heads, const BaselineScores& baseline);

/// Are numbers differences?
bool has_differences(std::span<const ScoredHead> heads);

/// The largest number first, of differences the one farthest from 0; equal ones by layer and head, those without a number
/// last.
void sort_by_value(std::vector<ScoredHead>& heads);

/// Heads of one or more kinds of attention, with their numbers.
struct ScoredHeads {
  std::string name;  ///< cells are marked "<name>.<kind>.<layer>.<head>", rows of the list "<name>.row.0", …
  std::span<const ScoredHead> heads;                                    ///< in the order of the list
  std::function<std::string(const HeadRef& head, double value)> about;  ///< a tooltip; of differences their numbers follow
  bool has_signs = false;                                               ///< differences have signs in any case
  /// What is asked about a head's number (`value` is set by the caller); empty: nothing is.
  std::function<NumberRef(const HeadRef& head)> number = {};
};

/// A map of layers and heads for each kind of attention that is among them, and the heads as a list of bars, beside it or
/// below, in what is left of the region. A click selects a head, a double click opens it.
void draw_scored_heads(Frame& frame, const ScoredHeads& scored);

/// Lines "kind,layer,head,<title>" of the heads in their order, of differences "…,<title>,<title> baseline,<title> change";
/// empty where there is no number.
std::string scored_heads_csv(std::span<const ScoredHead> heads, const std::string& title);

/// The heads as maps of layers and heads for a paper, one for each kind of attention that is among them; null where none of
/// them is known. Of differences the title at the colour bar says so.
std::unique_ptr<exporting::Drawing> make_scored_figure(std::span<const ScoredHead> heads, std::string value_title,
                                                       bool has_signs, const FindPanel::Look& look);

/// The heads with a number, in their order: what the keyboard goes through.
std::vector<HeadRef> heads_with_value(std::span<const ScoredHead> heads);

}  // namespace headlight::app
