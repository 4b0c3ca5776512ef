#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight::exporting {

/// A text as UTF-32; bytes that aren't UTF-8 become U+FFFD.
std::u32string code_points(std::string_view text);

/// A text as the content of an element or a quoted attribute, in XML and in HTML: what those formats use for themselves is
/// an entity, and what no such file may hold (control characters but newline and tab, code points that are no characters,
/// invalid UTF-8) is U+FFFD.
std::string markup_text(std::string_view text);

/// JSON as the content of an HTML element that a browser reads as text: no "<" begins an end tag or a comment, and code
/// points that are no characters are escaped. `json` is valid.
std::string json_in_markup(std::string_view json);

/// RFC 4648, padded, without line breaks.
std::string base64(std::string_view bytes);
/// Nullopt for anything else.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headlight::exporting
