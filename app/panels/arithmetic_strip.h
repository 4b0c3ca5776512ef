#pragma once

#include "panels/arithmetic.h"
#include "panels/panel.h"

namespace headlight::app {

inline constexpr float kStripHeight = 112.0F;

/// The cell's calculation in words and numbers, in a strip of kStripHeight from the cursor on. `tokens`: whose row and
/// column it is, "query 2 “short” · key 5 “first”". Without arithmetic: how to get one.
void draw_arithmetic_strip(Frame& frame, const Arithmetic* arithmetic, attention::Stage stage, const std::string& tokens);

}  // namespace headlight::app
