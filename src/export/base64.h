#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight::exporting {

/// RFC 4648, padded, without line breaks.
std::string base64(std::string_view bytes);
/// Nullopt for anything else.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headlight::exporting
