#pragma once

#include "app/widgets/head_map.h"

namespace headlight::app {

/// Numbers by head; none: it isn't defined for this head.
using HeadNumbers = std::map<HeadRef, std::optional<double>>;

/// A number in both runs.
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
/// By layer and head. `baseline`: null where nothing is compared; else numbers are what they changed by since, none where
/// one of both isn't known.
std::vector<ScoredHead> score_heads(const HeadNumbers& now, const HeadNumbers* baseline);

/// Are numbers differences?
bool has_differences(std::span<const ScoredHead> heads);

/// The largest number first, of differences and where `by_size` the one farthest from 0; equal ones by layer and head, those
/// without a number last.
void sort_by_value(std::vector<ScoredHead>& heads, bool by_size = false);

/// Selects a head, or shows it in the view of one head.
void go_to_head(Frame& frame, const HeadRef& head, bool opens);

/// Heads of one or more kinds of attention, with their numbers.
struct ScoredHeads {
  std::string name;                        ///< rows of the list are marked "<name>.row.0", …
  std::string cells = {};                  ///< "<cells>.<layer>.<head>"; empty: "<name>.<kind>.<layer>.<head>"
  std::span<const ScoredHead> heads = {};  ///< in the order of the list
  std::function<std::string(const HeadRef& head, double value)> about =
      {};                  ///< a tooltip; of differences their numbers follow
  bool has_signs = false;  ///< differences have signs in any case
  /// What is asked about a head's number (`value` is set by the caller); empty: nothing is.
  std::function<NumberRef(const HeadRef& head)> number = {};
  std::function<void(const HeadRef& head, bool is_double)> click = {};  ///< empty: go_to_head()
  std::function<std::string(const HeadRef& head)> remark = {};          ///< after a head's name in the list; may be empty
  std::function<void()> choose_order = {};                              ///< draws above the list; may be empty
};

/// A map of layers and heads for each kind of attention that is among them, and its height in a region of this width.
void draw_score_maps(Frame& frame, const ScoredHeads& scored);
float score_maps_height(const ScoredHeads& scored, float width);
/// The heads that have a number as bars, in their order, in what is left of the region.
void draw_score_list(Frame& frame, const ScoredHeads& scored);
/// Both, side by side or one below the other, in what is left of the region.
void draw_scored_heads(Frame& frame, const ScoredHeads& scored);

/// Lines "kind,layer,head,<title>" of the heads in their order, of differences "…,<title>,<title> baseline,<title> change";
/// empty where there is no number.
std::string scored_heads_csv(std::span<const ScoredHead> heads, const std::string& title);

/// The heads as maps of layers and heads for a paper, one for each kind of attention that is among them; null where none of
/// them is known. `look`: its words and colours; of differences the title at the colour bar goes on with `compared`.
std::unique_ptr<exporting::Drawing> make_scored_figure(std::span<const ScoredHead> heads, HeadMapFigure look,
                                                       const std::string& compared = "change");

/// The heads with a number, in their order: what the keyboard goes through.
std::vector<HeadRef> heads_with_value(std::span<const ScoredHead> heads);

}  // namespace headlight::app
