#include "support/block_colors.h"

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "support/deviation.h"

namespace headlight::test {
namespace {

/// Binary PPM: every image viewer opens it, and it needs no library.
std::string to_ppm(const BlockColors& image) {
  std::string bytes = fmt::format("P6\n{} {}\n255\n", image.columns, image.rows);
  for (const BlockColors::Rgb& color : image.means) bytes.append(color.begin(), color.end());
  return bytes;
}

BlockColors from_ppm(const std::string& bytes) {
  std::istringstream stream(bytes);
  std::string magic;
  BlockColors image;
  int largest = 0;
  stream >> magic >> image.columns >> image.rows >> largest;
  stream.get();
  image.means.resize(std::size_t{image.columns} * image.rows);
  for (BlockColors::Rgb& color : image.means) {
    for (std::uint8_t& channel : color) channel = static_cast<std::uint8_t>(stream.get());
  }
  if (!stream || magic != "P6" || largest != 255) throw Error("not a binary PPM of 8 bits");
  return image;
}

}  // namespace

BlockColors::BlockColors(std::uint32_t width, std::uint32_t height,
                         const std::function<Rgb(std::uint32_t x, std::uint32_t y)>& pixel)
    : columns((width + kBlock - 1) / kBlock), rows((height + kBlock - 1) / kBlock) {
  std::vector<std::array<std::uint32_t, 4>> sums(std::size_t{columns} * rows);  // of channels, and the pixels
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const Rgb color = pixel(x, y);
      auto& sum = sums[std::size_t{y / kBlock} * columns + x / kBlock];
      for (std::size_t channel = 0; channel < 3; ++channel) sum[channel] += color[channel];
      ++sum[3];
    }
  }
  for (const auto& sum : sums) {
    Rgb& mean = means.emplace_back();
    for (std::size_t channel = 0; channel < 3; ++channel) {
      mean[channel] = static_cast<std::uint8_t>((sum[channel] + sum[3] / 2) / sum[3]);
    }
  }
}

ColorDifference difference(const BlockColors& left, const BlockColors& right) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (left.columns != right.columns || left.rows != right.rows || left.means.empty()) return {kInfinity, kInfinity};
  ColorDifference result;
  for (std::size_t i = 0; i < left.means.size(); ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const double off =
          std::abs(static_cast<double>(left.means[i][channel]) - static_cast<double>(right.means[i][channel]));
      raise_to(result.most, off);
      result.mean += off / static_cast<double>(3 * left.means.size());
    }
  }
  return result;
}

ColorDifference difference_from_stored(const std::string& name, const BlockColors& found) {
  const std::filesystem::path file = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "images" / (name + ".ppm");
  if (const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN"); update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, to_ppm(found));
  }
  return difference(found, from_ppm(read_file(file)));
}

}  // namespace headlight::test
