#pragma once

#include "app/state/model_changes.h"
#include "app/window/desk.h"

namespace headlight::app {

/// The facts for the row of chips that aren't in the frame.
struct ChipContext {
  std::string model;             ///< name of what is shown
  std::string text;              ///< "20 tokens"; empty: the text has no settings
  std::string lesson;            ///< title of the open lesson; empty: none
  bool is_lesson_shown = false;  ///< its panel, or the list's
  std::span<Feature* const> features;
};

/// The row of chips below the text: the model, its mask, every way in which the pass differs from the model's, what it is
/// compared with; at the right what else is open. A click on a chip switches it or opens its settings, a small panel below
/// it; a right click always opens them. One panel is open at a time, until Esc, a click beside it or on its chip; one is
/// kept at the left of the view, for what is edited beside it.
class Chips final : public Feature {
 public:
  using Feature::Feature;

  /// Draws the row into the current window.
  void draw(Frame& frame, const ChipContext& context);
  /// Draws the open panel, in a window above the panes, whose content `draw_content` draws by the panel's id. `area`: of the
  /// keyboard's walk.
  void draw_panel(Frame& frame, int area, const std::function<void(std::string_view panel)>& draw_content);
  /// Is a panel kept at the left? Draw it into the current window.
  bool has_docked() const { return !docked_.empty(); }
  void draw_docked(Frame& frame, const std::function<void(std::string_view panel)>& draw_content);
  /// Draws the list of changes, which the row has no room for.
  void draw_changes(Frame& frame);
  /// Returns the height that the row wanted in the last frame, in UI units.
  float height() const { return height_; }
  bool shows(std::string_view panel) const { return open_ == panel || docked_ == panel; }
  bool close() override { return !std::exchange(open_, {}).empty(); }

 private:
  enum class Role : std::uint8_t { Offer, Off, On, Changed };
  enum class Part : std::uint8_t { None, Body, Off };
  struct Chip {
    std::string name, label, help;
    Role role = Role::Offer;
    std::string_view panel = {};  ///< that a right click opens, and a click where it switches nothing; empty: none
    bool switches = false;
    const char* off = nullptr;  ///< what the ✕ does; null: there is none
  };
  float width_of(const Chip& chip) const;
  /// Draws a chip after the last one. Returns what was clicked, of a chip that opens a panel the ✕ alone.
  Part draw_chip(Frame& frame, const Chip& chip);
  /// Draws a panel's title and the button that keeps it at the left, or closes it there. Returns whether it was clicked.
  bool draw_head(Frame& frame, std::string_view panel, const char* button, const char* help);
  /// Draws a caption in the line of the chip after it, which is `next` wide.
  void draw_caption(Frame& frame, const char* text, float next = 0.0F);
  void draw_mask(Frame& frame);
  /// `end`: where the chips at the right begin.
  void draw_differences(Frame& frame, float end);
  std::vector<Chip> right_chips(Frame& frame, const ChipContext& context) const;

  std::string open_, docked_;                               ///< ids of the panels below its chip and at the left
  std::map<std::string, chart::Rect, std::less<>> places_;  ///< of the chips, by the panels that they open
  chart::Rect row_;
  float height_ = 34.0F, panel_height_ = 200.0F;
  glm::vec2 at_{0.0F};  ///< where the next chip begins
};

/// Returns the panel that has a control, by the beginning of the control's name; empty: none has. The chip that opens it is
/// "chip.<panel>".
std::string_view panel_of(std::string_view control);

}  // namespace headlight::app
