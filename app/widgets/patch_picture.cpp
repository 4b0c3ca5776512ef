#include "app/widgets/patch_picture.h"

#include "app/widgets/shown_tile.h"
#include "app/widgets/text.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kPictureKeys = 0x5049'4354'0000;  // no tile's
constexpr std::uint64_t kPicturePlaces = 8;

}  // namespace

capture::PatchImages patch_images(const Frame& frame, MapSide side) {
  if (!frame.result.capture || !frame.result.input) return {};
  const model::BlockKind kind = frame.state.selection.block.kind;
  const model::ModelInput& input = *frame.result.input;
  const bool is_source = &(side == MapSide::Query ? input.queries(kind) : input.keys(kind)) == &input.source;
  return frame.result.capture->images(is_source, frame.state.selection.batch);
}

std::uint64_t picture_revision(const Frame& frame) { return frame.result.run << 20U | frame.state.selection.batch; }

void draw_picture(const Frame& frame, const exporting::Pixels* pixels, PicturePlace place, std::uint64_t revision,
                  const chart::Rect& area, const std::optional<chart::Rect>& clip, std::size_t index) {
  if (pixels == nullptr) {
    const chart::Rect shown = clip.value_or(area);
    fill_rect(shown, frame.ui.theme().field);
    return;
  }
  shell::HeatmapImage image;
  shell::use_theme(image, frame.ui.theme());
  image.key = kPictureKeys + index * kPicturePlaces + static_cast<std::uint64_t>(place);
  image.revision = revision;
  image.rows = pixels->height;
  image.columns = pixels->width;
  image.pixels = pixels->rgba;
  image.grid = 0;
  image.area = area;
  image.clip = clip;
  draw_heatmap(frame, image);
}

void draw_patch(const Frame& frame, const capture::PatchImages& images, PicturePlace place,
                capture::PatchImages::Found patch, const chart::Rect& to) {
  const capture::PatchImage& image = images.images[patch.image];
  // The whole image, so large that this patch of it covers the rectangle.
  const glm::vec2 grid(image.grid.columns, image.grid.rows);
  glm::vec2 size = to.size * grid;
  if (image.pixels) {
    const glm::vec2 pixels = glm::vec2(image.pixels->width, image.pixels->height) / grid;
    const float scale = std::max(to.size.x / pixels.x, to.size.y / pixels.y);
    size = pixels * scale * grid;
  }
  const glm::vec2 of_patch = size / grid;
  const glm::vec2 corner = glm::vec2(patch.place.column, patch.place.row) * of_patch + (of_patch - to.size) * 0.5F;
  draw_picture(frame, image.pixels.get(), place, picture_revision(frame), {.origin = to.origin - corner, .size = size}, to,
               patch.image);
}

std::string text_with_patch(const Frame& frame, MapSide side, std::uint32_t token, const std::string& text) {
  const capture::PatchImages images = patch_images(frame, side);
  const std::optional<capture::PatchImages::Found> found = images.find(token);
  if (!found) return text;
  return text == images.short_name(*found) ? images.name(token) : fmt::format("{} ({})", text, images.name(token));
}

}  // namespace headlight::app
