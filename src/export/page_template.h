#pragma once

#include <string>
#include <string_view>

#include "chart/color.h"
#include "export/json.h"

namespace headlight::exporting {

/// The files of src/export/page of a kind of page, which the build makes constants of (cmake/Embed.cmake): the head that all
/// have, the body and the foot; the style; the scripts, one after the other.
extern const std::string_view kPageHtml, kPageStyle, kPageScript;
extern const std::string_view kLessonHtml, kLessonStyle, kLessonScript;

struct PageTemplate {
  std::string_view html, style, script;
};
/// The head of a page says this: data-theme and data-kind are for styles and scripts.
struct PageHead {
  std::string language = "en", theme = "auto", kind;
  std::string generator = "Headlight";
  std::string title;
};
/// The whole file. Its script is one function, so that its names are its own.
std::string filled(const PageTemplate& of, const PageHead& head, const Json& data);
/// A map's 256 colours, three bytes each, as base64.
std::string color_bytes(chart::ColorMap map);

}  // namespace headlight::exporting
