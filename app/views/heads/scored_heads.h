#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/frame.h"
#include "app/views/heads/find_panel.h"
#include "export/drawing.h"

namespace headlight::app {

/// A head with a number; none: it isn't known, or not defined for this head.
struct ScoredHead {
  HeadRef head;
  std::optional<double> value = {};

  bool operator==(const ScoredHead&) const = default;
};

/// The largest number first, equal ones by layer and head, those without a number last.
void sort_by_value(std::vector<ScoredHead>& heads);

/// Heads of one or more kinds of attention, with their numbers.
struct ScoredHeads {
  std::string name;  ///< cells are marked "<name>.<kind>.<layer>.<head>", rows of the list "<name>.row.0", …
  std::span<const ScoredHead> heads;                                    ///< in the order of the list
  std::function<std::string(const HeadRef& head, double value)> about;  ///< a tooltip
  bool has_signs = false;
  /// What is asked about a head's number (`value` is set by the caller); empty: nothing is.
  std::function<NumberRef(const HeadRef& head)> number = {};
};

/// A map of layers and heads for each kind of attention that is among them, and the heads as a list of bars, beside it or
/// below, in what is left of the region. A click selects a head, a double click opens it.
void draw_scored_heads(Frame& frame, const ScoredHeads& scored);

/// Lines "kind,layer,head,<title>" of the heads in their order; empty where there is no number.
std::string scored_heads_csv(std::span<const ScoredHead> heads, const std::string& title);

/// The heads as maps of layers and heads for a paper, one for each kind of attention that is among them; null where none of
/// them is known.
std::unique_ptr<exporting::Drawing> make_scored_figure(std::span<const ScoredHead> heads, std::string value_title,
                                                       bool has_signs, const FindPanel::Look& look);

/// The heads with a number, in their order: what the keyboard goes through.
std::vector<HeadRef> heads_with_value(std::span<const ScoredHead> heads);

}  // namespace headlight::app
