#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "app/state/state.h"
#include "attention/stage.h"
#include "model/config.h"

namespace headlight::app {

/// A number on screen, by what it is a number of: the question "where is this from?".
struct NumberRef {
  /// Id of a quantity ("weights"), or of other numbers that views show ("w_q", "logit"): app/widgets/cells/provenance.h
  /// lists them.
  std::string of = {};
  model::BlockRef block = {};
  std::uint32_t batch = 0;
  std::uint32_t head = 0;
  std::uint32_t row = 0, column = 0;  ///< of its matrix; of a logit the token's place and the id in the vocabulary
  std::uint32_t pool = 1;             ///< rows of the rectangle of cells that it covers, whose first cell is named
  std::uint32_t pooled_columns = 0;   ///< its columns; 0: as many as rows
  attention::Pooling pooling = attention::Pooling::Max;
  std::optional<double> value = {};  ///< as it is shown; none: the matrix knows it
  /// Names and texts of what only the view knows of it, such as the other head of a pair: the answer's first lines.
  std::vector<std::pair<std::string, std::string>> notes = {};

  bool operator==(const NumberRef&) const = default;
  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }
  bool is_exact() const { return pool == 1 && column_pool() == 1; }
};

/// The target of a context menu: the pinned cell, the dragged range of cells, or the selected head.
enum class MenuTarget : std::uint8_t { Cell = 1, Range = 2, Head = 4 };
/// The targets as bits of a command's or a view's `menus_of`.
inline constexpr std::uint8_t kOfCell = 1, kOfRange = 2, kOfHead = 4;

/// Returns the token of a side that the user has chosen: the locked one, else that of the pinned cell.
inline std::optional<std::uint32_t> chosen_token(const ViewChoices& view, MapSide side) {
  if (view.locked && view.locked->side == side) return view.locked->token;
  if (!view.pinned) return std::nullopt;
  return side == MapSide::Query ? view.pinned->query : view.pinned->key;
}

/// The first text box's action in the next frame: none, or take the keyboard with the caret at the end of the text or
/// with the whole text selected. The values are in the order of shell::FieldFocus.
enum class TextFocus : std::uint8_t { None, AtEnd, SelectAll };

/// The place where the next strongest cell is looked for: the pinned cell's row or column, or the whole map.
enum class StrongestOf : std::uint8_t { Row, Column, Map };

/// Rows and columns of the big heatmap, all of which count.
struct CellRange {
  attention::Cell first, last;  ///< the upper left and the lower right cell

  auto operator<=>(const CellRange&) const = default;
};

/// The search for tokens of the big heatmap.
struct TokenSearch {
  bool is_open = false;     ///< its bar is shown
  bool takes_keys = false;  ///< the bar's field takes the keyboard in the next frame
  std::string text = {};
  int steps = 0;  ///< finds to go on by, backwards where negative; set by commands, cleared by the map
};

/// The target of a lesson's card. It changes how things are shown, and no choice of the user.
struct Aim {
  std::string control = {};    ///< name of a widget that is outlined: "mask.fill.1"; the section that has it is unfolded
  std::string matrix = {};     ///< id of the matrix that Steps scrolls to: "scaled", "w_q"
  bool scrolls = false;        ///< in the first frame of a card: the view scrolls to the control or the matrix
  bool shows_indices = false;  ///< axes number their tokens, from 0
  bool conceals = false;       ///< cells of maps are blank: the user is asked what is in them
  std::optional<attention::Stage> conceals_from = {};  ///< in Steps: this matrix and those after it are blank
  bool is_nameless = false;                            ///< nothing says what a head does: the user is asked

  bool operator==(const Aim&) const = default;
  /// Is a stage's matrix blank where others aren't?
  bool hides(attention::Stage stage) const { return conceals && conceals_from && stage >= *conceals_from; }
};

/// Tokens under the pointer, by their chip, label or cell: as a row and as a column of the map.
struct PointedTokens {
  std::optional<std::uint32_t> query, key;

  bool operator==(const PointedTokens&) const = default;
};

/// State of pointer and keyboard, neither undone nor saved.
struct Transient {
  Aim aim;
  /// The cell under the pointer, in `hovered_stage`'s matrix: Frame::point_at() sets it in each frame.
  std::optional<attention::Cell> hovered;
  attention::Stage hovered_stage = attention::Stage::Weights;
  /// Tokens that were under the pointer in the last frame, which all views light, and those of this one (Frame::point_at()).
  PointedTokens pointed, points_at;
  float zoom = 1.0f;                           ///< of the big heatmap; 1 fits the area
  glm::vec2 pan{0.0F};                         ///< of the big heatmap, in cells
  std::optional<attention::Cell> reveals;      ///< the big heatmap moves until it shows the cell, and clears this
  std::optional<CellRange> range;              ///< dragged over the big heatmap; of its selected map
  std::optional<CellRange> visible;            ///< of the big heatmap on screen; set by it in each frame
  std::optional<StrongestOf> seeks_strongest;  ///< set by commands; cleared by the map, which pins the cell
  /// The head with the highest value is selected as soon as it is known; set by commands, cleared by the window.
  std::optional<evaluation::HeadMetric> seeks_head;
  TokenSearch search;
  std::optional<NumberRef> pointed_number;  ///< under the pointer, or held, in the view on screen; cleared each frame
  std::optional<NumberRef> asked_number;    ///< its source is shown in a window of its own, until that is closed
  std::optional<LockedToken> token_menu;    ///< a menu of this token is opened at the pointer; cleared by the window
  bool shows_one_pane = false;             ///< the pane that has the keyboard has the others' room, until this is taken back
  bool paints = false;                     ///< the brush is on: the left button masks and unmasks cells of the big heatmap
  TextFocus text_focus = TextFocus::None;  ///< cleared by the text box
  bool focuses_second_text = false;        ///< its box takes the keyboard in the next frame, and clears this
  bool takes_path = false;                 ///< a dialog uses the path of a dropped file; set by it in each frame
  std::string dropped = {};                ///< that path; cleared by the dialog
  std::string copies = {};                 ///< id of the view whose numbers are copied as soon as they are known
  std::string in_place = {};               ///< why the view lacks numbers; of this frame, newest
  bool shows_nothing = false;              ///< `in_place` is all that the view shows

  /// Called before the panes are drawn, which then set anew what is under the pointer.
  void begin_panes() {
    pointed = std::exchange(points_at, {});
    hovered.reset();
    visible.reset();
    pointed_number.reset();
    takes_path = false;
  }
  /// Returns the row whose weights shade the keys' chips: under the pointer on the map or among the chips, else the pinned
  /// one.
  std::optional<std::uint32_t> followed_query(const State& state) const {
    const bool is_on_map = hovered && attention::is_map(hovered_stage);
    if (is_on_map || pointed.query) return is_on_map ? hovered->query : pointed.query;
    return state.view.pinned ? std::optional(state.view.pinned->query) : std::nullopt;
  }
};

}  // namespace headlight::app
