#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Something to begin with.
struct WelcomeCard {
  enum class Kind : std::uint8_t { Captions, Translator, Lessons, Notebooks, Preset, Browse };
  Kind kind = Kind::Browse;
  std::string title;
  std::string summary;                 ///< what one will see; two short lines at most
  std::string preset = {};             ///< of Kind::Preset
  bool is_shown = false;               ///< it is what the window shows now
  std::vector<WelcomeCard> list = {};  ///< of Kind::Notebooks: what a click offers
};

/// The panel's state from frame to frame: the card that the keyboard is at.
struct WelcomeMemory {
  std::size_t card = 0;
  bool takes_focus = true;  ///< the panel has just been opened
};

struct WelcomeChoice {
  std::optional<WelcomeCard> card;  ///< one of the cards, or of the list of one
  bool is_closed = false;
};

/// Returns the height that so many cards take in a window of this width, in UI units.
float welcome_height(std::size_t cards, float width);

/// Cards in rows of equal columns, drawn into the whole current pane. Tab and Enter choose one as well as the mouse.
WelcomeChoice draw_welcome_panel(Frame& frame, std::span<const WelcomeCard> cards, WelcomeMemory& memory);

}  // namespace headlight::app
