#pragma once

#include "app/frame.h"
#include "app/views/head/grouped_head.h"
#include "chart/ellipsis.h"
#include "export/drawing.h"

namespace headlight::app {

// The parts of the view Head above and over its map.

/// Draws, above the map, which head it is, how the map is computed, and the choice of its stage.
void draw_head_header(Frame& frame);

/// The header's description of the map beside its title. All but the kind may be empty.
struct HeadAbout {
  std::string kind = {};                           ///< of attention
  std::string sizes = {};                          ///< "12 × 12"
  std::string line = {};                           ///< "line 1 of 2"
  std::string grouping = {}, brief_grouping = {};  ///< what the numbers of a grouped map are, and in few words

  std::string text() const;
  bool operator==(const HeadAbout&) const = default;
};

/// Returns the text, as much of it as `room` takes. The grouping is shortened first; then the sizes are left out, which the
/// map shows, then the grouping, which its list shows, then the line; "…" ends what is left. The kind is cut last.
std::string fit_about(const HeadAbout& about, float room, const chart::MeasureText& measure);

/// Draws a tooltip for a cell of the selected head's map, or of a mean: both tokens, weight, scores, why it is masked, the
/// row's largest weight and entropy, and what the key receives in all. Requests the exact rows that it reads.
void draw_map_tooltip(Frame& frame, attention::Cell cell, const chart::Rect& box, const chart::Rect& map);

/// The tokens along the map's sides.
struct MapTokens {
  const std::vector<std::string>* queries = nullptr;  ///< may be null
  const std::vector<std::string>* keys = nullptr;
  bool are_same = false;  ///< both sides are one sequence
};

/// Draws, while the search is open, a line with its field, what was found and buttons; Enter and the commands go on to the
/// next token, whose row and column are pinned. Draws at the cursor of the current window.
void draw_token_search(Frame& frame, const MapTokens& tokens);

/// Answers Transient::seeks_strongest: asks for the tiles that it needs, and when they are known pins and shows the cell.
void follow_strongest(Frame& frame, std::uint32_t rows, std::uint32_t columns);

/// The map of this view as a figure for a paper: all of it, however the view is zoomed, with the words, colours and ranges
/// that `headlight export` gives it. A map that is grouped by words or has its special tokens hidden is drawn so.
class HeadFigure {
 public:
  /// Notes what this frame shows. Asks for every cell of a map of tokens that a figure has room for.
  void keep(Frame& frame, const GroupedHead& grouped);
  /// Returns the figure; null: the cells aren't all known yet. Throws Error where the map is too large.
  std::unique_ptr<exporting::Drawing> draw() const;

 private:
  // State and result are the window's, which outlives its views.
  const State* state_ = nullptr;
  const EngineResult* result_ = nullptr;
  std::shared_ptr<const attention::Tile> tile_;  ///< null while not known
  float reach_ = 0.0F;                           ///< shared_reach() of the map
  bool is_difference_ = false, is_too_large_ = false;
  std::string grouping_;                          ///< how the map is grouped, in words; empty: it isn't
  std::vector<std::string> row_names_, columns_;  ///< of a grouped map
};

/// While the model writes, the row of the newest token appears key by key, which is how its attention is computed: one row,
/// all others stay. A click or Esc skips it; "reduce motion" and the speed of the Block view's walk apply.
class RowReveal {
 public:
  inline static constexpr double kSeconds = 0.5;  ///< of a row at speed 1

  /// Called once per frame, before drawing. `rows`: the real queries of the selected line. `now_s`: any clock.
  void observe(const Frame& frame, std::uint32_t rows, double now_s);
  /// Covers those keys of the row that haven't appeared yet, and asks for the next frame.
  void draw(Frame& frame, const chart::Viewport& viewport) const;

 private:
  std::uint32_t rows_ = 0;  ///< in the previous frame
  std::uint32_t batch_ = 0;
  std::uint32_t written_ = 0;  ///< tokens of the generation, when the rows changed last
  std::optional<std::uint32_t> row_;
  double started_s_ = 0.0;
  float part_ = 1.0F;
};

}  // namespace headlight::app
