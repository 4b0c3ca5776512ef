#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headlight::chart {

/// Width of a UTF-8 text in pixels.
using MeasureText = std::function<float(std::string_view)>;

/// The text itself if it is at most `max_width` wide, else as many of its first characters (whole code points) as fit before
/// a "…". At least "…", even where that is wider.
std::string shorten(std::string_view text, float max_width, const MeasureText& measure);

}  // namespace headlight::chart
