#pragma once

#include "app/shapes/quantities/compared.h"
#include "app/shapes/table.h"
#include "app/widgets/cell_grid.h"

namespace headlight::app {

/// Numbers by head; none: it isn't defined for this head.
using HeadNumbers = std::map<HeadRef, std::optional<double>>;

struct ScoredHead {
  HeadRef head;
  std::optional<Compared<double>> score = {};  ///< none: it isn't known, or not defined for this head

  std::optional<double> value() const { return score ? std::optional(score->shown()) : std::nullopt; }
};

/// What a figure for a paper says of its numbers.
struct FigureWords {
  std::string title = {}, subtitle = {};
  chart::ColorMap color_map = chart::ColorMap::Viridis;  ///< of numbers without signs
};

/// Numbers of heads of one or more kinds of attention, or how much they changed since the baseline.
struct HeadScores {
  std::string title = {};              ///< of the numbers, with their unit: a column's and a colour bar's
  bool is_signed = false;              ///< differences are in any case
  std::vector<ScoredHead> heads = {};  ///< in the order of the list

  HeadScores() = default;
  /// By layer and head. `baseline`: null where nothing is compared; else there is a score where both numbers are known.
  HeadScores(std::string of, bool has_sign, const HeadNumbers& now, const HeadNumbers* baseline = nullptr);

  bool has_differences() const;
  bool has_signs() const { return is_signed || has_differences(); }
  /// The largest number first, of differences and where `by_size` the one farthest from 0; equal ones by layer and head,
  /// those without a number last.
  void sort(bool by_size = false);
  /// Those with a number, in their order: what the keyboard goes through.
  std::vector<HeadRef> known() const;
  /// Kind, layer and head, and the score, in this order.
  Table table() const;
  /// A map of layers and heads for each kind of attention; null where there is none. Of differences the title at the colour
  /// bar goes on with `compared`.
  std::unique_ptr<exporting::Drawing> figure(const FigureWords& words, const std::string& compared = "change") const;
};

/// Selects a head, or shows it in the view of one head.
void go_to_head(Frame& frame, const HeadRef& head, bool opens);

/// How scores are drawn.
struct ScoredHeads {
  std::string name;        ///< rows of the list are marked "<name>.row.0", …
  std::string cells = {};  ///< "<cells>.<layer>.<head>"; empty: "<name>.<kind>.<layer>.<head>"
  const HeadScores& scores;
  std::function<std::string(const HeadRef& head, double value)> about;  ///< a tooltip; of differences their numbers follow
  /// What is asked about a head's number (`value` is set by the caller); empty: nothing is.
  std::function<NumberRef(const HeadRef& head)> number = {};
  std::function<void(const HeadRef& head, bool is_double)> click = {};  ///< empty: go_to_head()
  std::function<std::string(const HeadRef& head)> remark = {};          ///< after a head's name in the list; may be empty
  std::function<void()> choose_order = {};                              ///< draws above the list; may be empty
  std::function<void(const HeadRef& head)> drag = {};                   ///< after a cell's item; may be empty
  double least_end = 0.0;                                               ///< colours and bars reach at least this far
  std::function<void()> below = {};  ///< draws below the map what has room there; may be empty
};

/// A map of layers and heads for each kind of attention that is among them, and its height in a region of this width.
void draw_score_maps(Frame& frame, const ScoredHeads& scored);
float score_maps_height(const HeadScores& scores, float width);
/// The heads that have a number as bars, in their order, in what is left of the region. Says which head is pointed at, else
/// which number is the largest, or the farthest from 0 where they have signs.
void draw_score_list(Frame& frame, const ScoredHeads& scored);
/// Both, side by side or one below the other, in what is left of the region.
void draw_scored_heads(Frame& frame, const ScoredHeads& scored);

}  // namespace headlight::app
