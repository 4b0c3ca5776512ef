#pragma once

#include "text/template_functions.h"

namespace headlight::text {

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
