#include "app/exports/patch_thumbnails.h"

namespace headlight::app {
namespace {

/// Pixels of a thumbnail's edge: two for each unit of the largest that figures draw.
constexpr std::uint32_t kMostThumbnailEdge = 48;

exporting::Pixels thumbnail(const exporting::Pixels& image, const capture::PatchGrid& grid,
                            capture::PatchGrid::Place place) {
  // A patch of fewer pixels than one is its nearest pixel.
  const auto bound = [](std::uint32_t index, std::uint32_t count, std::uint32_t pixels) {
    return static_cast<std::uint32_t>(std::uint64_t{index} * pixels / count);
  };
  std::uint32_t left = bound(place.column, grid.columns, image.width), top = bound(place.row, grid.rows, image.height);
  const std::uint32_t width = std::max(bound(place.column + 1, grid.columns, image.width) - left, 1U);
  const std::uint32_t height = std::max(bound(place.row + 1, grid.rows, image.height) - top, 1U);
  const std::uint32_t edge = std::min(width, height);
  left += (width - edge) / 2;
  top += (height - edge) / 2;
  const std::uint32_t shown = std::min(edge, kMostThumbnailEdge);
  exporting::Pixels pixels{.width = shown, .height = shown, .rgba = {}};
  pixels.rgba.reserve(std::size_t{shown} * shown);
  for (std::uint32_t y = 0; y < shown; ++y) {
    for (std::uint32_t x = 0; x < shown; ++x) {
      pixels.rgba.push_back(files::mean_of(image, left + bound(x, shown, edge), left + bound(x + 1, shown, edge),
                                           top + bound(y, shown, edge), top + bound(y + 1, shown, edge)));
    }
  }
  return pixels;
}

}  // namespace

std::optional<PatchImage> patch_image_of(const capture::CaptureFile* capture, const model::ModelInput& input,
                                         const model::TokenBatch& tokens, std::uint32_t line) {
  return capture != nullptr && &tokens == &input.source ? patch_image_of(*capture, line) : std::nullopt;
}

std::vector<exporting::Pixels> patch_thumbnails(const PatchImage& image, std::span<const AxisRange> ranges) {
  std::vector<exporting::Pixels> thumbnails;
  bool has_any = false;
  for (const AxisRange& range : ranges) {
    for (std::uint32_t token = range.first; token < range.first + range.count; ++token) {
      const auto place = image.pixels ? image.grid.place(token) : std::nullopt;
      thumbnails.push_back(place ? thumbnail(*image.pixels, image.grid, *place) : exporting::Pixels{});
      has_any = has_any || place;
    }
  }
  if (!has_any) thumbnails.clear();
  return thumbnails;
}

}  // namespace headlight::app
