#pragma once

#include <cairo.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "chart/color.h"

namespace headlight::exporting {

/// The pixels of a PNG, for tests of single ones.
struct DecodedPng {
  int width = 0, height = 0;
  std::vector<chart::Rgb> pixels;

  explicit DecodedPng(std::string_view png) {
    const auto read = [](void* source, unsigned char* target, unsigned int count) {
      auto& rest = *static_cast<std::string_view*>(source);
      if (rest.size() < count) return CAIRO_STATUS_READ_ERROR;
      std::memcpy(target, rest.data(), count);
      rest.remove_prefix(count);
      return CAIRO_STATUS_SUCCESS;
    };
    cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(read, &png);
    width = cairo_image_surface_get_width(surface);
    height = cairo_image_surface_get_height(surface);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        std::uint32_t argb = 0;
        std::memcpy(&argb, cairo_image_surface_get_data(surface) + y * cairo_image_surface_get_stride(surface) + 4 * x, 4);
        pixels.push_back(
            {static_cast<std::uint8_t>(argb >> 16), static_cast<std::uint8_t>(argb >> 8), static_cast<std::uint8_t>(argb)});
      }
    }
    cairo_surface_destroy(surface);
  }

  chart::Rgb at(double x, double y) const {
    return pixels.at(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x));
  }
};

}  // namespace headlight::exporting
