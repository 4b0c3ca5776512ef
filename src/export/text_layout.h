#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/ellipsis.h"

namespace headlight::exporting {

/// Lines of at most `width`, broken at spaces and at the text's own newlines; a word that is wider than a line is shortened.
std::vector<std::string> wrap(std::string_view text, float width, const view::MeasureText& measure);

}  // namespace headlight::exporting
