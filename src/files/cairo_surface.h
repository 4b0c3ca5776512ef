#pragma once

#include <cairo.h>

#include <memory>

#include "files/image.h"

namespace headlight::files {

inline constexpr double kLargestImage = 32'767.0;  ///< pixels along a side, of cairo

struct DestroyCairo {
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_pattern_t* pattern) const { cairo_pattern_destroy(pattern); }
};
using CairoContext = std::unique_ptr<cairo_t, DestroyCairo>;
using Surface = std::unique_ptr<cairo_surface_t, DestroyCairo>;
using Pattern = std::unique_ptr<cairo_pattern_t, DestroyCairo>;

/// An image in memory, sides rounded up. Throws Error beyond kLargestImage, and when memory is exhausted.
Surface make_surface(double width, double height, cairo_format_t format = CAIRO_FORMAT_RGB24);
Surface make_surface(const Pixels& pixels);
/// Reads an opaque image.
Pixels pixels_of(cairo_surface_t* surface);

/// Throws Error where cairo can't encode it.
std::string png_of(cairo_surface_t* surface);

/// Appends what cairo writes to a std::string: a cairo_write_func_t.
cairo_status_t append_to_string(void* target, const unsigned char* bytes, unsigned int count);

}  // namespace headlight::files
