#pragma once

#include <map>
#include <string>
#include <string_view>

#include "chart/color.h"

namespace headlight::exporting {

/// The files of src/export/page, which the build makes constants of (cmake/Embed.cmake).
extern const std::string_view kPageHtml, kPageStyle;
extern const std::string_view kPageScript;  ///< all scripts, one after the other
extern const std::string_view kLessonHtml, kLessonStyle, kLessonScript;

/// The template with every "{{NAME}}" replaced once; what is inserted isn't looked at again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& parts);
/// The script of a page as one function, so that its names are its own.
std::string closed(std::string_view script);
/// A map's 256 colours, three bytes each, as base64.
std::string color_bytes(chart::ColorMap map);

}  // namespace headlight::exporting
