#pragma once

#include <string_view>

namespace headlight::app {

/// The report around its data, of the files of app/survey/page (cmake/Embed.cmake): what is before the JSON, and after it.
extern const std::string_view kPageStart, kPageEnd;

}  // namespace headlight::app
