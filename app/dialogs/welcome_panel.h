#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "app/frame.h"

namespace headlight::app {

/// Something to begin with.
struct WelcomeCard {
  enum class Kind : std::uint8_t { Captions, Translator, Lessons, Preset, Browse };
  Kind kind = Kind::Browse;
  std::string title, summary;  ///< one line each
  std::string preset = {};     ///< of Kind::Preset
  bool is_shown = false;       ///< it is what the window shows now
};

/// What the panel keeps from frame to frame: the card that the keyboard is at.
struct WelcomeMemory {
  std::size_t card = 0;
  bool takes_focus = true;  ///< the panel has just been opened
};

struct WelcomeChoice {
  std::optional<std::size_t> card;
  bool is_closed = false;
};

/// The height that so many cards take in a window of this width, in UI units.
float welcome_height(std::size_t cards, float width);

/// Cards in rows of equal columns, drawn into the whole current pane. Tab and Enter choose one as well as the mouse.
WelcomeChoice draw_welcome_panel(Frame& frame, std::span<const WelcomeCard> cards, WelcomeMemory& memory);

}  // namespace headlight::app
