#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The menu of the token that was clicked with the right button (Transient::token_menu): masks what it attends to, and what
/// attends to it, in the maps that the brush paints. Call it once a frame.
class TokenMenu {
 public:
  void draw(Frame& frame);

 private:
  LockedToken token_;  ///< while the menu is open
};

/// Returns the tokens in which the text begins, ascending; it may go on in the tokens after it. Upper and lower case of
/// ASCII letters are alike, a space is the mark that labels have for one ("·"). None for an empty text.
std::vector<std::uint32_t> tokens_with(const std::vector<std::string>& labels, std::string_view text);

/// Returns the index in `found`, which ascends, of the token `steps` finds from `from` on, backwards where negative; round
/// at the ends. Without `from` the first or the last. None where nothing was found.
std::optional<std::size_t> step_among(const std::vector<std::uint32_t>& found, std::optional<std::uint32_t> from, int steps);

}  // namespace headlight::app
