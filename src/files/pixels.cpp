#include "files/pixels.h"

#include <array>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "files/cairo_surface.h"

namespace headlight::files {

cairo_status_t append_to_string(void* target, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

std::string png_of(cairo_surface_t* surface) {
  std::string png;
  const cairo_status_t status = cairo_surface_write_to_png_stream(surface, append_to_string, &png);
  if (status != CAIRO_STATUS_SUCCESS) throw Error("can't encode the image as PNG: {}", cairo_status_to_string(status));
  return png;
}

Surface make_surface(double width, double height, cairo_format_t format) {
  if (!(width <= kLargestImage && height <= kLargestImage)) {
    throw Error(
        "an image of {:.0f} × {:.0f} pixels is too large, at most {:.0f} on each side; lower its resolution, or draw less",
        width, height, kLargestImage);
  }
  Surface surface(
      cairo_image_surface_create(format, static_cast<int>(std::ceil(width)), static_cast<int>(std::ceil(height))));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) {
    throw Error("no memory for an image of {:.0f} × {:.0f} pixels; lower its resolution, or draw less", width, height);
  }
  return surface;
}

Surface make_surface(const Pixels& pixels) {
  Surface surface = make_surface(static_cast<double>(pixels.width), static_cast<double>(pixels.height));
  unsigned char* const target = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t y = 0; y < pixels.height; ++y) {
    for (std::size_t x = 0; x < pixels.width; ++x) {
      const std::uint32_t rgba = pixels.rgba[y * pixels.width + x];
      const std::uint32_t rgb = (rgba & 0xffU) << 16 | (rgba & 0xff00U) | ((rgba >> 16) & 0xffU);
      std::memcpy(target + y * stride + x * 4, &rgb, sizeof rgb);
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

std::string encode_png(const Pixels& pixels) { return png_of(make_surface(pixels).get()); }

std::uint32_t mean_of(const Pixels& image, std::uint32_t left, std::uint32_t right, std::uint32_t top,
                      std::uint32_t bottom) {
  std::array<std::uint64_t, 3> sums{};
  for (std::uint32_t y = top; y < bottom; ++y) {
    for (std::uint32_t x = left; x < right; ++x) {
      const std::uint32_t pixel = image.rgba[std::size_t{y} * image.width + x];
      for (std::size_t channel = 0; channel < sums.size(); ++channel) sums[channel] += pixel >> (8U * channel) & 0xFFU;
    }
  }
  const std::uint64_t count = std::uint64_t{right - left} * (bottom - top);
  std::uint32_t mean = 0xFF00'0000U;
  for (std::size_t channel = 0; channel < sums.size(); ++channel) {
    mean |= static_cast<std::uint32_t>((sums[channel] + count / 2) / count) << (8U * channel);
  }
  return mean;
}

}  // namespace headlight::files
