#pragma once

#include "app/state/view_pane.h"
#include "app/views/view_table.h"

namespace headlight::app {

/// The views on screen, each in a pane.
class ViewArea {
 public:
  /// Draws a pane: an ImGui window of this name at a place, with what is drawn in it.
  using DrawPane = std::function<void(const std::string& name, const chart::Rect& rect, const std::function<void()>& draw)>;

  struct Surroundings {
    chart::Rect room;
    bool shows_one = false;      ///< the pane that has the keyboard alone
    bool is_first_time = false;  ///< the window's first sentence says what a head is
    DrawPane pane;
    std::function<void()> draw_waiting;  ///< draws what takes a view's place while there is no run
    std::function<void()> begin;         ///< opens the decoder that comes along; empty: this installation has none
  };
  /// Draws the panes, first the one that has the keyboard: its requests are the most important ones.
  void draw(Frame& frame, const Surroundings& around);

  /// Returns the figure of the view that has the keyboard; null: it has none, and says() may know why.
  std::unique_ptr<exporting::Drawing> figure(const State& state) const;
  /// Returns the newest sentence that it showed in place of numbers in the last frame.
  const std::string& says() const { return says_; }
  /// Returns the sentence below its title, of the last frame.
  const Sentence& sentence() const { return sentence_; }

 private:
  void draw_pane(Frame& frame, const PlacedPane& placed, const Surroundings& around);
  void say(Frame& frame, bool is_first_time);
  void draw_view(Frame& frame, const Surroundings& around);
  void draw_strip(Frame& frame, bool is_pinned);
  void drag_borders(Frame& frame);
  void take_dragged_view(Frame& frame);

  /// By number of the pane, and id: those that were shown.
  std::map<std::pair<std::size_t, std::string_view>, std::unique_ptr<ViewPanel>> open_;
  PaneLayout layout_;        ///< of this frame
  std::size_t number_ = 0;   ///< of the pane that is drawn, in its layout
  std::size_t shown_ = 0;    ///< of the pane that has the keyboard
  bool has_strips_ = false;  ///< there are several panes, whose titles have buttons
  /// By a click in this frame: the pane that gets the keyboard, that goes, that keeps its head or follows again.
  std::optional<std::size_t> chosen_, closed_, pinned_;
  Sentence sentence_;
  std::string says_;
  bool is_empty_ = false;  ///< says_ is all that the view shows
};

/// Handles Ctrl and a click, which ask where the number under the pointer is from: in the ImGui window that is drawn.
void ask_about_number(Frame& frame);

/// The data type of a view's id while its tab is dragged.
inline constexpr const char* kDraggedView = "view";

}  // namespace headlight::app
