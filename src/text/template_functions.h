#pragma once

#include "text/template_value.h"

namespace headlight::text {

/// Arguments of a call: by place, and by name.
struct TemplateArguments {
  using Named = std::vector<std::pair<TemplateText, TemplateValue>>;
  TemplateValues list = {};
  Named named = {};
};

/// The arguments of a function.
struct TemplateCall {
  TemplateHeap& heap;
  TemplateValue value;                  ///< that a filter, a test or a method is of
  TemplateValues given = {};            ///< by the places of its parameters; undefined where missing
  TemplateArguments::Named named = {};  ///< those that it takes by any name
  TemplateText detail = {};

  const TemplateValue& operator[](std::size_t place) const { return given[place]; }
  /// str() of the value.
  std::string text() const { return to_python_text(value, heap); }
};

/// Uses of a function: a filter, a test, a method of a text, a dictionary or a loop, or its name alone.
enum class TemplateUse : char { Filter = 'f', Test = 'i', Text = 't', Dict = 'd', Loop = 'l', Global = 'g' };

/// A function that Jinja and Python have too.
struct TemplateFunction {
  /// Letters of its uses, its name, and its parameters in their order: "ft replace old new count?". "?" is after those that
  /// may be missing; "*" and "**" are any others, by place and by name.
  TemplateText signature;
  TemplateValue (*run)(const TemplateCall& call);
  TemplateText detail = {};  ///< what functions with the same `run` do differently
};

std::span<const TemplateFunction> template_text_functions();
std::span<const TemplateFunction> template_list_functions();
std::span<const TemplateFunction> template_number_functions();
std::span<const TemplateFunction> template_tests();

/// Throws Error where Headlight knows none of this name and use, and for arguments that it doesn't take.
TemplateValue apply_template_function(TemplateUse use, TemplateText name, const TemplateValue& value,
                                      const TemplateArguments& arguments, TemplateHeap& heap);
TemplateValue call_template_function(const TemplateFunction& function, const TemplateValue& value,
                                     const TemplateArguments& arguments, TemplateHeap& heap);
/// {{ value.name }}: a method, a member, or undefined.
TemplateValue attribute_of(const TemplateValue& value, TemplateText name, TemplateHeap& heap);

/// The value as a text. Throws Error where it is none.
TemplateText text_of(const TemplateValue& value);
/// A text of the value's or of another.
TemplateText text_or(const TemplateValue& value, TemplateText fallback);
/// Returns the text without the characters of `set` at the ends, or without white space where `set` is none.
TemplateText stripped(TemplateText text, const TemplateValue& set, bool left, bool right, TemplateHeap& heap);
/// str.lower().
TemplateValue lower_value(const TemplateValue& value, TemplateHeap& heap);

/// Python's text % values: of a tuple or a dictionary, or of one value. Throws Error for directives that it doesn't know.
std::string percent_format(TemplateText text, const TemplateValue& values, TemplateHeap& heap);
/// strftime() of the time at which the clock of all templates stands: 26 July 2024, noon, so that a chat has the same tokens
/// on every day. Throws likewise.
std::string noon_text(TemplateText format, TemplateHeap& heap);
/// json.dumps() of a call of tojson.
std::string to_json_text(const TemplateCall& call);

/// The first place of a part at or after `from`, and the last; npos where there is none. What is compared is spent.
std::size_t find_text(TemplateText text, TemplateText part, std::size_t from, TemplateHeap& heap);
std::size_t rfind_text(TemplateText text, TemplateText part, TemplateHeap& heap);

}  // namespace headlight::text
