#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "app/frame.h"

namespace headlight::app {

/// Characters typed one after another while no text field is edited. A row of letters is a text that missed its box and must
/// start nothing; a letter alone is a shortcut. So a shortcut waits for a moment, and one that has run is taken back by the
/// caller when what follows shows that it was the beginning of a text:
///
/// - two different characters less than kSecondLetter_s apart, or
/// - a character that is no shortcut, or one after a space, less than kRow_s before or after another one, or
/// - three different characters less than kQuickRow_s apart.
///
/// Digits, commas and full stops, by which views go on and back, are alone never a text and don't wait; one character
/// repeated, as by a key that is held, is no text either.
class TypedRow {
 public:
  static constexpr double kSecondLetter_s = 0.2, kQuickRow_s = 0.5, kRow_s = 1.0;

  bool is_empty() const { return text_.empty(); }
  /// Was the last character so long ago that the next one begins another row? A text never ends: it waits for an answer. Any
  /// steady clock.
  bool has_ended(double now_s) const;
  /// Adds the characters of one frame, `shortcuts` of which start something. Spaces at the beginning are ignored.
  void add(std::string_view typed, std::size_t shortcuts, double now_s);
  /// Takes the last character away.
  void erase_last();

  bool is_text() const { return is_text_; }
  /// Is it a text, or may it become one? Spaces and commas in it are no keys of a view.
  bool may_be_text() const { return is_text_ || has_other_; }
  const std::string& text() const { return text_; }
  /// May a shortcut that waits run?
  bool may_run(double now_s) const;
  /// Returns the seconds until something changes without a further character; infinity: nothing does.
  double wait_s(double now_s) const;

 private:
  std::string text_;
  std::set<std::string, std::less<>> different_;  ///< without white space
  std::size_t count_ = 0;                         ///< without white space
  bool has_letter_ = false;                       ///< anything but digits, commas and full stops
  bool has_other_ = false;                        ///< a character that is no shortcut, or one after a space
  bool is_quick_ = true;                          ///< all gaps are shorter than kQuickRow_s
  bool is_text_ = false;
  double last_s_ = 0.0;    ///< when the last character came
  double letter_s_ = 0.0;  ///< … that is no space
};

enum class TypedOfferChoice : std::uint8_t { None, Adds, Replaces, Leaves };

/// Draws what was typed outside of a text box, with the question whether it is put into the text; fills the current window.
/// `has_text_box`: else it is only said that nothing was changed.
TypedOfferChoice draw_typed_offer_panel(Frame& frame, const std::string& typed, bool has_text_box);

/// The size of the typed row's window, in UI units, where there is so much room.
inline constexpr glm::vec2 kTypedOfferSize(520.0F, 96.0F);

}  // namespace headlight::app
