#include "app/window/png_file.h"

#include <stb_image_write.h>

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
    throw Error("{}: a picture of {} x {} pixels can't be encoded", path.string(), width, height);
  }
  if (path.has_parent_path()) make_directories(path.parent_path());
  write_file_atomically(path, bytes);
}

}  // namespace headlight::app
