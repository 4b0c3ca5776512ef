#pragma once

#include "app/frame.h"
#include "app/widgets/cells/arithmetic.h"

namespace headlight::app {

inline constexpr float kStripHeight = 112.0F, kEmptyStrip = 34.0F;

/// The contents of the strip.
struct ArithmeticStrip {
  const Arithmetic* arithmetic = nullptr;  ///< none: how to get one
  const char* title = "";                  ///< of its matrix: "raw scores"
  shell::Color color = 0;                  ///< of the matrix' role
  std::string tokens = {};                 ///< whose row and column the cell is: "query 2 “short” · key 5 “first”"
  float height = kStripHeight;             ///< without a cell kEmptyStrip is enough
  std::optional<NumberRef> number = {};    ///< what "From?" asks about; none: no such button
};

/// Draws the cell's calculation in words and numbers, from the cursor on: in one equation with the largest terms, or with
/// `shows_all` every term in a list that scrolls. Two buttons switch between them and copy the whole of it.
void draw_arithmetic_strip(Frame& frame, const ArithmeticStrip& strip, bool& shows_all);

}  // namespace headlight::app
