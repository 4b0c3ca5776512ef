#include "app/window/png_file.h"

#include <stb_image_write.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "core/atomic_file.h"
#include "core/error.h"

namespace headlight::app {

void write_png(const std::filesystem::path& path, const shell::PixelImage& image) {
  std::string bytes;
  const auto append = [](void* context, void* data, int size) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  const int width = static_cast<int>(image.size.width);
  const int height = static_cast<int>(image.size.height);
  constexpr int kChannels = 4;
  if (stbi_write_png_to_func(append, &bytes, width, height, kChannels, image.rgba.data(), width * kChannels) == 0) {
    throw Error("{}: an image of {} x {} pixels can't be encoded", path.string(), width, height);
  }
  if (path.has_parent_path()) make_directories(path.parent_path());
  write_file_atomically(path, bytes);
}

shell::PixelImage cropped(const shell::PixelImage& image, const shell::UiRect& rect, float scale) {
  const auto pixel = [&](float position, std::uint32_t end) {
    return static_cast<std::uint32_t>(std::clamp(std::round(position * scale), 0.0F, static_cast<float>(end)));
  };
  const std::uint32_t left = pixel(rect.x, image.size.width), right = pixel(rect.x + rect.width, image.size.width);
  const std::uint32_t top = pixel(rect.y, image.size.height), bottom = pixel(rect.y + rect.height, image.size.height);
  shell::PixelImage part{.size = {.width = right - left, .height = bottom - top}, .rgba = {}};
  part.rgba.reserve(std::size_t{part.size.width} * part.size.height * 4);
  for (std::uint32_t y = top; y < bottom; ++y) {
    const std::span row = std::span(image.rgba).subspan(std::size_t{y} * image.size.width * 4);
    const std::span inside = row.subspan(std::size_t{left} * 4, std::size_t{part.size.width} * 4);
    part.rgba.insert(part.rgba.end(), inside.begin(), inside.end());
  }
  return part;
}

}  // namespace headlight::app
