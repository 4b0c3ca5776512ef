#pragma once

#include "app/frame.h"

namespace headlight::app {

/// The text of a number's field while the user types in it: "", "1e" and "007" aren't numbers yet and change nothing. One
/// is enough, because only one field has the keyboard.
struct NumberBeingTyped {
  std::string field;
  std::string text;
  std::uint64_t value = 0;  ///< the number's value when `text` was typed
};

/// Limits and steps of a number's field.
struct NumberRange {
  std::uint64_t low = 0;
  std::uint64_t high = UINT64_MAX;
  std::uint64_t below = 0;                            ///< the value after the minus button
  std::uint64_t above = 0;                            ///< … and after the plus button; both for the current value
  const char* hint = nullptr;                         ///< shown for zero instead of it: "auto (8)"
  std::optional<std::uint64_t> other = std::nullopt;  ///< the value after a third button, a die; none: no such button
};

/// A column of settings: labels left, fields in one column at the right. Widgets are named "<prefix>.<name>" for tests.
/// Each function returns true in the frame where the user changed the value.
class Form {
 public:
  Form(Frame& frame, NumberBeingTyped& typed, std::string prefix);

  /// Fields after this can be read but not changed.
  void set_read_only(bool is_read_only) { is_read_only_ = is_read_only; }

  /// Draws a field whose number is typed or stepped; typed values are clamped to the range.
  bool number(const char* name, const char* label, std::uint64_t& value, const NumberRange& range,
              const char* explanation = nullptr);
  bool number(const char* name, const char* label, std::uint32_t& value, const NumberRange& range,
              const char* explanation = nullptr);
  bool decimal(const char* name, const char* label, float& value, float low, float high, const char* explanation = nullptr);
  /// Draws a switch. `keys`: the shortcut, shown beside the switch; may be empty.
  bool toggle(const char* name, const char* label, bool& is_on, std::string_view keys = {},
              const char* explanation = nullptr);
  /// Draws a slider from 0, shown as "off", to `high`.
  bool slider(const char* name, const char* label, std::uint32_t& value, std::uint32_t high,
              const char* explanation = nullptr);
  /// Draws a row of buttons that chooses one of a few short choices, all visible.
  bool segments(const char* name, const char* label, std::span<const char* const> choices, int& choice,
                const char* explanation = nullptr, std::span<const Option> options = {});
  /// Draws a list that opens and chooses one of several entries.
  bool choose(const char* name, const char* label, std::span<const char* const> choices, int& choice,
              const char* explanation = nullptr, std::span<const Option> options = {});
  /// Draws a setting's field, as its type and its options ask for: buttons of few options, a list of many. `named`: in place
  /// of its name in files.
  bool setting(const AnySetting& setting, Choices& choices, std::string named = {});
  /// Draws a value to read.
  void value(const char* label, std::string_view text, const char* explanation = nullptr);
  /// Draws a value to read with a button at its right end, which may be disabled.
  bool value_with_button(const char* name, const char* label, std::string_view text, const char* button, bool is_enabled);
  bool button(const char* name, const char* label, float width = 0.0F);
  /// Draws the head of fields that are looked at now and then: a click shows or folds them. Returns whether they are to be
  /// drawn.
  bool fold(const char* name, const char* label, bool& is_open, const char* explanation = nullptr);

  /// Draws a label and goes to the field's column, for a field that isn't one of these; returns the field's width.
  float label(const char* text, const char* explanation) { return begin_field(text, explanation); }

  /// Writes a note of one small line or more, in the secondary colour.
  void note(std::string_view text);
  /// Writes such a note in the colour of errors.
  void warning(std::string_view text);

 private:
  /// Draws the label and goes to the field's column; returns the field's width.
  float begin_field(const char* label, const char* explanation);
  /// Marks one of several choices: its tooltip is its option's or its own line in the table, else the whole field's.
  void mark_choice(const char* name, std::size_t choice, const char* explanation, std::span<const Option> options);
  std::string mark_name(const char* name) const { return prefix_ + "." + name; }

  Frame& frame_;
  NumberBeingTyped& typed_;
  std::string prefix_;
  bool is_read_only_ = false;
};

/// Draws a section of the panel `bar` that folds: a strong title, what is in it while it is open, and a line.
void draw_section(Frame& frame, const chart::Rect& bar, const char* name, const char* title, bool& is_open,
                  const std::function<void()>& draw_content);

}  // namespace headlight::app
