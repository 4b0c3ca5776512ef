#pragma once

#include <string_view>

namespace headlight::exporting {

/// The files of src/export/page, which the build makes constants of (cmake/Embed.cmake).
extern const std::string_view kPageHtml, kPageStyle;
extern const std::string_view kPageScript;  ///< all scripts, one after the other

}  // namespace headlight::exporting
