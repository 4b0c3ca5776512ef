#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight::exporting {

/// The session in a figure's metadata, from which it can be made again. In an SVG it is the element "metadata", in a PDF the
/// keywords, both as marked_session(); in a PNG a text with the keyword "headlight-session".

/// The session as ASCII letters, with a mark by which it is found.
std::string marked_session(std::string_view session);
/// A PNG with the session in it.
std::string png_with_session(std::string png, std::string_view session);
/// A PNG with a text, UTF-8, that viewers show under a keyword of the format: "Description".
std::string png_with_text(std::string png, std::string_view keyword, std::string_view text);
/// A PNG that says how large it is on paper, by which documents place it.
std::string png_with_resolution(std::string png, double dots_per_inch);

/// The session of a figure's bytes; nullopt where there is none, or it is damaged.
std::optional<std::string> session_of_figure(std::string_view file);

}  // namespace headlight::exporting
