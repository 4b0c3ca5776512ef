#include "files/image.h"

#include <stb_image.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "core/error.h"
#include "core/file.h"
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

Pixels pixels_of(cairo_surface_t* surface) {
  Pixels pixels{.width = static_cast<std::uint32_t>(cairo_image_surface_get_width(surface)),
                .height = static_cast<std::uint32_t>(cairo_image_surface_get_height(surface)),
                .rgba = {}};
  const unsigned char* const source = cairo_image_surface_get_data(surface);
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface));
  for (std::size_t y = 0; y < pixels.height; ++y) {
    for (std::size_t x = 0; x < pixels.width; ++x) {
      std::uint32_t rgb = 0;
      std::memcpy(&rgb, source + y * stride + x * 4, sizeof rgb);
      pixels.rgba.push_back(0xFF00'0000U | (rgb & 0xffU) << 16 | (rgb & 0xff00U) | ((rgb >> 16) & 0xffU));
    }
  }
  return pixels;
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

namespace {

constexpr std::uint64_t kMaxImageBytes = std::uint64_t{64} << 20;
/// The most scans of a progressive JPEG; encoders write about ten. Each goes over the whole image, and takes as little
/// as ten bytes.
constexpr std::size_t kMaxScans = 64;
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegSignature = "\xff\xd8\xff";
constexpr std::uint32_t kOpaque = 0xFF00'0000U;

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

/// The chunks of a PNG that make its pixels: texts and profiles, which may unpack to gigabytes, are left out.
std::string bare_png(std::string_view bytes, const std::string& file) {
  constexpr std::array<std::string_view, 5> kKept = {"IHDR", "PLTE", "tRNS", "IDAT", "IEND"};
  constexpr std::size_t kAround = 12;  // length, type and checksum of a chunk
  std::string bare(kPngSignature);
  for (std::size_t at = kPngSignature.size(); bytes.size() - at >= kAround;) {
    const std::size_t length = big_endian(bytes, at);
    if (length > bytes.size() - at - kAround) break;
    const std::string_view type = bytes.substr(at + 4, 4);
    if (bare.size() == kPngSignature.size()) {
      if (type != "IHDR" || length < 8) throw Error("{} is no usable PNG file: it doesn't begin with its size", file);
      expect_image_size(file, big_endian(bytes, at + 8), big_endian(bytes, at + 12));
    }
    if (std::ranges::find(kKept, type) != kKept.end()) bare += bytes.substr(at, kAround + length);
    at += kAround + length;
    if (type == "IEND") return bare;
  }
  throw Error("{} is no usable PNG file: it ends before its last chunk; save it again", file);
}

/// The bytes that cairo reads next.
struct Unread {
  std::string_view bytes;
};
cairo_status_t read_some(void* unread, unsigned char* to, unsigned int count) {
  std::string_view& bytes = static_cast<Unread*>(unread)->bytes;
  if (bytes.size() < count) return CAIRO_STATUS_READ_ERROR;
  std::memcpy(to, bytes.data(), count);
  bytes.remove_prefix(count);
  return CAIRO_STATUS_SUCCESS;
}

/// Whatever format the surface has, on white.
Pixels on_white(cairo_surface_t* image) {
  const int width = cairo_image_surface_get_width(image), height = cairo_image_surface_get_height(image);
  const Surface ground(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  const CairoContext cairo(cairo_create(ground.get()));
  cairo_set_source_rgb(cairo.get(), 1.0, 1.0, 1.0);
  cairo_paint(cairo.get());
  cairo_set_source_surface(cairo.get(), image, 0.0, 0.0);
  cairo_paint(cairo.get());
  if (cairo_status(cairo.get()) != CAIRO_STATUS_SUCCESS) throw Error("no memory for an image");
  cairo_surface_flush(ground.get());
  const unsigned char* from = cairo_image_surface_get_data(ground.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(ground.get()));
  Pixels pixels{.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height), .rgba = {}};
  pixels.rgba.reserve(std::size_t{pixels.width} * pixels.height);
  for (std::size_t y = 0; y < pixels.height; ++y) {
    for (std::size_t x = 0; x < pixels.width; ++x) {
      std::uint32_t rgb = 0;
      std::memcpy(&rgb, from + y * stride + x * sizeof(rgb), sizeof(rgb));
      pixels.rgba.push_back((rgb >> 16U & 0xFFU) | (rgb & 0xFF00U) | (rgb & 0xFFU) << 16U | kOpaque);
    }
  }
  return pixels;
}

Pixels read_png(std::string_view bytes, const std::string& file) {
  const std::string bare = bare_png(bytes, file);
  Unread unread{.bytes = bare};
  const Surface image(cairo_image_surface_create_from_png_stream(read_some, &unread));
  const cairo_status_t status = cairo_surface_status(image.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    // Data that libpng can't unpack is reported as missing memory by cairo 1.16; the image's size was found small
    // enough before.
    const bool is_damaged = status == CAIRO_STATUS_NO_MEMORY || status == CAIRO_STATUS_PNG_ERROR;
    const char* why = is_damaged ? "its pixels are missing or damaged" : cairo_status_to_string(status);
    throw Error("{} is no usable PNG file: {}; save it again", file, why);
  }
  return on_white(image.get());
}

/// Throws Error where a JPEG lacks tables that its scans use, scans of all components, or their data to the end:
/// stb_image would take these from memory that was never written.
void expect_defined(std::string_view bytes, const std::string& file) {
  const auto expect = [&](bool is_defined, const char* what) {
    if (!is_defined) throw Error("{} is no usable JPEG file: {} missing; save it again", file, what);
  };
  const auto byte = [&](std::size_t at) {
    return at < bytes.size() ? std::size_t{static_cast<unsigned char>(bytes[at])} : 0;
  };
  std::set<std::size_t> quantisation, huffman;    // by number; by class and number, as the file has them in a byte
  std::map<std::size_t, std::size_t> components;  // the quantisation table of each
  std::set<std::size_t> begun;                    // components whose first coefficients are there
  bool is_progressive = false, has_end = false;
  for (std::size_t at = 2; at + 1 < bytes.size() && !has_end;) {
    const std::size_t marker = byte(at + 1);
    if (byte(at) != 0xFF || marker == 0 || marker == 0xFF || (marker >= 0xD0 && marker <= 0xD8)) {
      ++at;  // a scan's data
      continue;
    }
    has_end = marker == 0xD9;
    const std::size_t end = at + 2 + byte(at + 2) * 256 + byte(at + 3);
    std::size_t in = at + 4;
    while (marker == 0xDB && in < end) {
      quantisation.insert(byte(in) & 0xF);
      in += byte(in) > 0xF ? std::size_t{129} : std::size_t{65};
    }
    while (marker == 0xC4 && in < end) {
      huffman.insert(byte(in));
      std::size_t codes = 0;
      for (std::size_t i = 1; i <= 16; ++i) codes += byte(in + i);
      in += 17 + codes;
    }
    if (marker >= 0xC0 && marker <= 0xC2) {
      is_progressive = marker == 0xC2;
      for (in = at + 10; in + 2 < end; in += 3) components[byte(in)] = byte(in + 2);
    }
    if (marker == 0xDA) {
      const std::size_t last = at + 5 + 2 * byte(at + 4);
      const bool has_first = byte(last) == 0, refines = is_progressive && byte(last + 2) > 0xF;
      for (in = at + 5; in < last; in += 2) {
        expect(quantisation.contains(components[byte(in)]), "a quantisation table is");
        if (has_first) begun.insert(byte(in));
        if (has_first && !refines) expect(huffman.contains(byte(in + 1) >> 4U), "a Huffman table is");
        if (!has_first || !is_progressive) expect(huffman.contains(0x10 + (byte(in + 1) & 0xF)), "a Huffman table is");
      }
    }
    at = end;
  }
  expect(has_end, "its end is");
  expect(begun.size() == components.size(), "a component is");
}

Pixels read_jpeg(std::string_view bytes, const std::string& file) {
  std::size_t scans = 0;
  for (std::size_t at = bytes.find("\xff\xda"); at != std::string_view::npos; at = bytes.find("\xff\xda", at + 2)) ++scans;
  if (scans > kMaxScans) throw Error("{} has {} scans; save it as a plain JPEG or as PNG", file, scans);
  expect_defined(bytes, file);
  const auto* from = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int count = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_memory(from, count, &width, &height, &channels) == 0) {
    throw Error("{} is no usable JPEG file: {}; save it again", file, stbi_failure_reason());
  }
  expect_image_size(file, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height));
  constexpr int kChannels = 3;
  const std::unique_ptr<stbi_uc, void (*)(void*)> image(
      stbi_load_from_memory(from, count, &width, &height, &channels, kChannels), stbi_image_free);
  if (!image) throw Error("{} is no usable JPEG file: {}; save it again", file, stbi_failure_reason());
  Pixels pixels{.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height), .rgba = {}};
  const std::size_t all = std::size_t{pixels.width} * pixels.height;
  pixels.rgba.reserve(all);
  for (std::size_t i = 0; i < all; ++i) {
    const stbi_uc* rgb = image.get() + i * kChannels;
    pixels.rgba.push_back(std::uint32_t{rgb[0]} | std::uint32_t{rgb[1]} << 8U | std::uint32_t{rgb[2]} << 16U | kOpaque);
  }
  return pixels;
}

}  // namespace

void expect_image_size(const std::string& what, std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) throw Error("{} is {} × {} pixels: it is empty", what, width, height);
  if (std::max(width, height) > kMaxImageEdge || width * height > kMaxImagePixels) {
    throw Error("{} is {} × {} pixels, more than the {} millions that are read; save it smaller", what, width, height,
                kMaxImagePixels / 1'000'000);
  }
}

Pixels read_image_file(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, kMaxImageBytes);
  if (bytes.starts_with(kPngSignature)) return reduced(read_png(bytes, utf8(path)), kKeptImageEdge);
  if (bytes.starts_with(kJpegSignature)) return reduced(read_jpeg(bytes, utf8(path)), kKeptImageEdge);
  throw Error("{} is neither a PNG nor a JPEG file; save the image as one of them", utf8(path));
}

Pixels reduced(Pixels image, std::uint32_t edge) {
  const std::uint32_t step = (std::max(image.width, image.height) + edge - 1) / edge;
  if (step <= 1) return image;
  Pixels small{.width = (image.width + step - 1) / step, .height = (image.height + step - 1) / step, .rgba = {}};
  small.rgba.reserve(std::size_t{small.width} * small.height);
  for (std::uint32_t top = 0; top < image.height; top += step) {
    for (std::uint32_t left = 0; left < image.width; left += step) {
      small.rgba.push_back(
          mean_of(image, left, std::min(left + step, image.width), top, std::min(top + step, image.height)));
    }
  }
  return small;
}

}  // namespace headlight::files
