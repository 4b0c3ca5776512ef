#pragma once

#include "app/frame.h"

namespace headlight::app {

enum class TypedOfferChoice : std::uint8_t { None, Adds, Replaces, Leaves };

/// What was typed outside of a text box, with the question whether it is put into the text; fills the current window.
/// `has_text_box`: else it is only said that nothing was changed.
TypedOfferChoice draw_typed_offer_panel(Frame& frame, const std::string& typed, bool has_text_box);

/// The size of its window, in UI units, where there is so much room.
inline constexpr glm::vec2 kTypedOfferSize(520.0F, 96.0F);

}  // namespace headlight::app
