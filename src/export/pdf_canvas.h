#pragma once

#include <memory>
#include <string>

#include "export/cairo_canvas.h"
#include "export/drawing.h"

namespace headlight::exporting {

inline constexpr double kPointsPerUnit = 72.0 / 96.0;
inline constexpr double kMostPoints = 14'400.0;  ///< along a side of a page, by the format

/// Writes a PDF: lines stay lines, text is selectable and has its fonts embedded.
class PdfCanvas : public CairoCanvas {
 public:
  /// width × height units of 1/96 inch. Throws Error beyond the 14,400 points of a page, and when memory is exhausted.
  PdfCanvas(float width, float height, const DrawingOutput& output);

  /// What is drawn from now on is on another page of the same size.
  void begin_page() { end_page(); }

  /// The whole document; nothing can be drawn afterwards.
  std::string finish();

 private:
  PdfCanvas(float width, float height, const DrawingOutput& output, std::unique_ptr<std::string> bytes);

  std::unique_ptr<std::string> bytes_;  ///< what cairo has written; outlives the surface only until finish()
};

}  // namespace headlight::exporting
