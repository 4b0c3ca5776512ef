#include "app/exports/shaded_image.h"

#include "export/canvas.h"

namespace headlight::app {
namespace {

constexpr float kDeepestPatchShade = 0.75F;   // the image stays visible
constexpr float kMutedPart = 0.55F;           // of the image's grey; the rest is the ground
constexpr float kImageGap = 6.0F;             // between the image and the words around it
constexpr std::uint32_t kPixelsPerPatch = 8;  // of a ground without an image

/// Running text that becomes a part of the whole.
float add_words(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures, float top,
                PatchLines& placed) {
  if (tokens.empty()) return top;
  const TextLines words = lay_out_text(tokens, widths, measures);
  for (view::Rect rect : words.tokens) {
    rect.origin.y += top;
    placed.lines.tokens.push_back(rect);
  }
  return top + words.height + kImageGap;
}

/// Pixels of a thumbnail's edge: two for each unit of the largest that figures draw.
constexpr std::uint32_t kMaxThumbnailEdge = 48;

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
  const std::uint32_t shown = std::min(edge, kMaxThumbnailEdge);
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

glm::vec2 fitted_image(const PatchImage& image, glm::vec2 most) {
  const glm::vec2 shape =
      image.pixels ? glm::vec2(image.pixels->width, image.pixels->height) : glm::vec2(image.grid.columns, image.grid.rows);
  return shape * std::min(std::max(most.x, 1.0F) / shape.x, std::max(most.y, 1.0F) / shape.y);
}

PatchLines lay_out_patches(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures,
                           const PatchImage& image, glm::vec2 most) {
  const capture::PatchGrid& grid = image.grid;
  const std::size_t first = std::min<std::size_t>(grid.first, tokens.size());
  const std::size_t end = std::min<std::size_t>(first + grid.count(), tokens.size());
  PatchLines placed;
  float y = add_words(tokens.first(first), widths.first(first), measures, 0.0F, placed);
  placed.image = {.origin = {0.0F, y}, .size = fitted_image(image, most)};
  const glm::vec2 edge = placed.image.size / glm::vec2(grid.columns, grid.rows);
  for (std::size_t token = first; token < end; ++token) {
    const auto place = *grid.place(static_cast<std::uint32_t>(token));
    placed.lines.tokens.push_back({.origin = placed.image.origin + glm::vec2(place.column, place.row) * edge, .size = edge});
  }
  y = placed.image.end().y + kImageGap;
  y = add_words(tokens.subspan(end), widths.subspan(end), measures, y, placed);
  placed.lines.line_of.assign(tokens.size(), 0);
  placed.lines.first_of = {0, static_cast<std::uint32_t>(tokens.size())};
  placed.lines.height = y;
  return placed;
}

exporting::Pixels muted_image(const PatchImage& image, bool is_dark) {
  const float ground = is_dark ? 24.0F : 255.0F;
  if (!image.pixels) {
    const auto grey = static_cast<std::uint32_t>(is_dark ? 60 : 225);
    exporting::Pixels even{
        .width = image.grid.columns * kPixelsPerPatch, .height = image.grid.rows * kPixelsPerPatch, .rgba = {}};
    even.rgba.assign(std::size_t{even.width} * even.height, view::pack(view::Rgb{grey, grey, grey}));
    return even;
  }
  exporting::Pixels muted = *image.pixels;
  for (std::uint32_t& pixel : muted.rgba) {
    const view::Rgb color = view::unpack(pixel);
    const float grey = 0.299F * static_cast<float>(color.r) + 0.587F * static_cast<float>(color.g) +
                       0.114F * static_cast<float>(color.b);  // BT.601
    const auto mixed = static_cast<std::uint32_t>(std::lround(ground + (grey - ground) * kMutedPart));
    pixel = view::pack(view::Rgb{mixed, mixed, mixed});
  }
  return muted;
}

exporting::Pixels shaded_image(exporting::Pixels muted, const capture::PatchGrid& grid, std::span<const PatchShade> shades) {
  for (std::uint32_t y = 0; y < muted.height; ++y) {
    const auto row = static_cast<std::uint32_t>(std::uint64_t{y} * grid.rows / muted.height);
    for (std::uint32_t x = 0; x < muted.width; ++x) {
      const auto column = static_cast<std::uint32_t>(std::uint64_t{x} * grid.columns / muted.width);
      const std::size_t patch = std::size_t{row} * grid.columns + column;
      if (patch >= shades.size() || !(shades[patch].share > 0.0F)) continue;
      std::uint32_t& pixel = muted.rgba[std::size_t{y} * muted.width + x];
      pixel =
          view::pack(exporting::mixed(view::unpack(pixel), shades[patch].color, shades[patch].share * kDeepestPatchShade));
    }
  }
  return muted;
}

std::optional<PatchImage> patch_image_of(const capture::CaptureFile* capture, const model::ModelInput& input,
                                         const model::TokenBatch& tokens, std::uint32_t line) {
  return capture != nullptr && &tokens == &input.source ? patch_image_of(*capture, line) : std::nullopt;
}

std::vector<exporting::Pixels> patch_thumbnails(const PatchImage& image, const IndexSet& tokens) {
  std::vector<exporting::Pixels> thumbnails;
  bool has_any = false;
  for (const std::uint32_t token : tokens.indices()) {
    const auto place = image.pixels ? image.grid.place(token) : std::nullopt;
    thumbnails.push_back(place ? thumbnail(*image.pixels, image.grid, *place) : exporting::Pixels{});
    has_any = has_any || place;
  }
  if (!has_any) thumbnails.clear();
  return thumbnails;
}

}  // namespace headlight::app
