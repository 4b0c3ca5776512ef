#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "export/canvas.h"

namespace headlight::exporting {

/// A figure that is laid out and can be drawn on any canvas.
class Drawing {
 public:
  virtual ~Drawing() = default;
  /// Width and height, units of 1/96 inch.
  virtual glm::vec2 size() const = 0;
  virtual Rgb ground() const = 0;
  virtual std::string title() const = 0;
  virtual void draw(Canvas& canvas) const = 0;

 protected:
  Drawing() = default;
  Drawing(const Drawing&) = default;
  Drawing& operator=(const Drawing&) = default;
};

enum class DrawingFormat : std::uint8_t { Svg, Pdf, Png };

/// By the ending of a file's name; nullopt for any other.
std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path);

/// The bytes of a file: of an SVG with text as text, of a PDF of one page with its fonts, of a PNG with two pixels a unit.
/// Throws Error in one line when the figure is too large for a format.
std::string encode(const Drawing& drawing, DrawingFormat format);

}  // namespace headlight::exporting
