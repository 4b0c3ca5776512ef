#include "app/figures/shaded_image.h"

#include "export/canvas.h"

namespace headlight::app {
namespace {

constexpr float kDeepestPatchShade = 0.75F;   // the image stays visible
constexpr float kMutedPart = 0.55F;           // of the image's grey; the rest is the ground
constexpr float kImageGap = 6.0F;             // between the image and the words around it
constexpr std::uint32_t kPixelsPerPatch = 8;  // of a ground without an image

/// Tokens that are words and come one after another, as running text.
class Words {
 public:
  Words(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures)
      : all_(tokens), all_widths_(widths), measures_(measures) {}

  void add(std::size_t token) {
    indices_.push_back(token);
    tokens_.push_back(all_[token]);
    widths_.push_back(all_widths_[token]);
  }
  /// Places those that were added since the last time; returns what is below them.
  float place(float top, PatchLines& placed) {
    if (tokens_.empty()) return top;
    const TextLines lines = lay_out_text(tokens_, widths_, measures_);
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      placed.lines.tokens[indices_[i]] = lines.tokens[i];
      placed.lines.tokens[indices_[i]].origin.y += top;
    }
    indices_.clear();
    tokens_.clear();
    widths_.clear();
    return top + lines.height + kImageGap;
  }

 private:
  std::span<const RunningToken> all_;
  std::span<const float> all_widths_;
  const TextMeasures& measures_;
  std::vector<std::size_t> indices_;
  std::vector<RunningToken> tokens_;
  std::vector<float> widths_;
};

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

glm::vec2 fitted_image(const capture::PatchImage& image, glm::vec2 most) {
  const glm::vec2 shape =
      image.pixels ? glm::vec2(image.pixels->width, image.pixels->height) : glm::vec2(image.grid.columns, image.grid.rows);
  return shape * std::min(std::max(most.x, 1.0F) / shape.x, std::max(most.y, 1.0F) / shape.y);
}

PatchLines lay_out_patches(std::span<const RunningToken> tokens, std::span<const float> widths, const TextMeasures& measures,
                           const capture::PatchImages& images, glm::vec2 most) {
  PatchLines placed;
  placed.lines.tokens.resize(tokens.size());
  Words words(tokens, widths, measures);
  float y = 0.0F;
  std::size_t token = 0;
  for (const capture::PatchImage& image : images.images) {
    for (; token < std::min<std::size_t>(image.grid.first, tokens.size()); ++token) words.add(token);
    y = words.place(y, placed);
    const chart::Rect rect{.origin = {0.0F, y}, .size = fitted_image(image, most)};
    placed.images.push_back(rect);
    const glm::vec2 edge = rect.size / glm::vec2(image.grid.columns, image.grid.rows);
    for (; token < std::min<std::size_t>(image.grid.end(), tokens.size()); ++token) {
      const auto place = image.grid.place(static_cast<std::uint32_t>(token));
      if (place) {
        placed.lines.tokens[token] = {.origin = rect.origin + glm::vec2(place->column, place->row) * edge, .size = edge};
      } else {
        words.add(token);
      }
    }
    y = rect.end().y + kImageGap;
  }
  for (; token < tokens.size(); ++token) words.add(token);
  y = words.place(y, placed);
  placed.lines.line_of.assign(tokens.size(), 0);
  placed.lines.first_of = {0, static_cast<std::uint32_t>(tokens.size())};
  placed.lines.height = y;
  return placed;
}

exporting::Pixels muted_image(const capture::PatchImage& image, bool is_dark) {
  const float ground = is_dark ? 24.0F : 255.0F;
  if (!image.pixels) {
    const auto grey = static_cast<std::uint32_t>(is_dark ? 60 : 225);
    exporting::Pixels even{
        .width = image.grid.columns * kPixelsPerPatch, .height = image.grid.rows * kPixelsPerPatch, .rgba = {}};
    even.rgba.assign(std::size_t{even.width} * even.height, chart::pack(chart::Rgb{grey, grey, grey}));
    return even;
  }
  exporting::Pixels muted = *image.pixels;
  for (std::uint32_t& pixel : muted.rgba) {
    const chart::Rgb color = chart::unpack(pixel);
    const float grey = 0.299F * static_cast<float>(color.r) + 0.587F * static_cast<float>(color.g) +
                       0.114F * static_cast<float>(color.b);  // BT.601
    const auto mixed = static_cast<std::uint32_t>(std::lround(ground + (grey - ground) * kMutedPart));
    pixel = chart::pack(chart::Rgb{mixed, mixed, mixed});
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
          chart::pack(exporting::mixed(chart::unpack(pixel), shades[patch].color, shades[patch].share * kDeepestPatchShade));
    }
  }
  return muted;
}

capture::PatchImages patch_images_of(const capture::CaptureFile* capture, const model::ModelInput& input,
                                     const model::TokenBatch& tokens, std::uint32_t line) {
  return capture != nullptr ? capture->images(&tokens == &input.source, line) : capture::PatchImages();
}

std::vector<exporting::Pixels> patch_thumbnails(const capture::PatchImages& images, const IndexSet& tokens) {
  std::vector<exporting::Pixels> thumbnails;
  bool has_any = false;
  for (const std::uint32_t token : tokens.indices()) {
    exporting::Pixels& shown = thumbnails.emplace_back();
    const auto found = images.find(token);
    const capture::PatchImage* image = found ? &images.images[found->image] : nullptr;
    if (image == nullptr || !image->pixels) continue;
    shown = thumbnail(*image->pixels, image->grid, found->place);
    has_any = true;
  }
  if (!has_any) thumbnails.clear();
  return thumbnails;
}

}  // namespace headlight::app
