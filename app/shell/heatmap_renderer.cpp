#include "app/shell/heatmap_renderer.h"

#include <algorithm>
#include <cmath>

#include "app/shell/frame_hash.h"
#include "app/shell/heatmap_pipeline.h"
#include "core/error.h"
#include "imgui.h"

namespace headlight::shell {
namespace {

using Pipeline = HeatmapRenderer::Pipeline;

constexpr std::uint32_t kNoIndex = 0xFFFFFFFFU;

void check(const HeatmapImage& image) {
  const std::size_t cells = std::size_t{image.rows} * image.columns;
  const auto refuse = [&](const char* what, std::size_t size, std::size_t wanted) {
    throw Error("heatmap {} of {} x {} cells: {} has {} entries instead of {}", image.key, image.rows, image.columns, what,
                size, wanted);
  };
  if (image.values.size() != cells) refuse("values", image.values.size(), cells);
  if (!image.masked.empty() && image.masked.size() != cells) refuse("masked", image.masked.size(), cells);
  if (!image.row_scale.empty() && image.row_scale.size() != image.rows)
    refuse("row_scale", image.row_scale.size(), image.rows);
  if (image.color_map.size() != 256) refuse("color_map", image.color_map.size(), 256);
}

struct Edges {
  float left, top, right, bottom;
};

Edges visible_part(const HeatmapImage& image, const ImVec2& clip_min, const ImVec2& clip_max) {
  Edges edges{std::max(image.area.x, clip_min.x), std::max(image.area.y, clip_min.y),
              std::min(image.area.x + image.area.width, clip_max.x), std::min(image.area.y + image.area.height, clip_max.y)};
  if (image.clip) {
    edges = {std::max(edges.left, image.clip->x), std::max(edges.top, image.clip->y),
             std::min(edges.right, image.clip->x + image.clip->width),
             std::min(edges.bottom, image.clip->y + image.clip->height)};
  }
  return edges;
}

void on_draw(const ImDrawList*, const ImDrawCmd* command) {
  const auto& draw = static_cast<const Pipeline::Draw&>(*static_cast<const DrawnByCallback*>(command->UserCallbackData));
  const ImVec4& clip = command->ClipRect;  // pixels by now, see draw_data.h
  draw.pipeline->record(draw, {clip.x, clip.y, clip.z, clip.w});
}

}  // namespace

void use_theme(HeatmapImage& image, const Theme& theme) {
  image.hatch = theme.hatch;
  image.hatch_ground = theme.hatch_ground;
  image.missing = theme.missing;
  image.grid = theme.grid;
  image.crosshair = theme.crosshair;
}

HeatmapRenderer::HeatmapRenderer(std::unique_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}
HeatmapRenderer::~HeatmapRenderer() = default;
void HeatmapRenderer::replace(std::unique_ptr<Pipeline> pipeline) { pipeline_ = std::move(pipeline); }

std::optional<HeatmapRenderer::Cell> HeatmapRenderer::cell_at(const HeatmapImage& image, float x, float y) {
  if (image.rows == 0 || image.columns == 0 || !image.area.contains(x, y)) return std::nullopt;
  if (image.clip && !image.clip->contains(x, y)) return std::nullopt;
  const float column = (x - image.area.x) / image.area.width * static_cast<float>(image.columns);
  const float row = (y - image.area.y) / image.area.height * static_cast<float>(image.rows);
  return Cell{std::min(static_cast<std::uint32_t>(row), image.rows - 1),
              std::min(static_cast<std::uint32_t>(column), image.columns - 1)};
}

UiRect HeatmapRenderer::cell_rect(const HeatmapImage& image, std::uint32_t row, std::uint32_t column) {
  const float width = image.area.width / static_cast<float>(image.columns);
  const float height = image.area.height / static_cast<float>(image.rows);
  return {image.area.x + static_cast<float>(column) * width, image.area.y + static_cast<float>(row) * height, width, height};
}

void HeatmapRenderer::draw(ImDrawList* list, const HeatmapImage& image) {
  check(image);
  Pipeline& pipeline = *pipeline_;
  const Edges part = visible_part(image, list->GetClipRectMin(), list->GetClipRectMax());
  if (part.right <= part.left || part.bottom <= part.top || image.rows == 0 || image.columns == 0) return;

  Pipeline::Draw& draw = pipeline.draws.emplace_back();
  draw.pipeline = &pipeline;
  const float scale = pipeline.scale;
  params::HeatmapParameters& p = draw.parameters;
  p.area_x = image.area.x * scale;
  p.area_y = image.area.y * scale;
  p.area_width = image.area.width * scale;
  p.area_height = image.area.height * scale;
  p.quad_x = part.left * scale;
  p.quad_y = part.top * scale;
  p.quad_width = (part.right - part.left) * scale;
  p.quad_height = (part.bottom - part.top) * scale;
  p.to_clip_x = 2.0F / static_cast<float>(pipeline.size.width);
  p.to_clip_y = 2.0F / static_cast<float>(pipeline.size.height);
  p.rows = image.rows;
  p.columns = image.columns;
  p.hatch = image.hatch;
  const float cell =
      std::min(image.area.width / static_cast<float>(image.columns), image.area.height / static_cast<float>(image.rows));
  p.grid = cell >= image.grid_from ? image.grid : 0;
  p.crosshair = image.crosshair;
  p.crosshair_row = image.crosshair_row.value_or(kNoIndex);
  p.crosshair_column = image.crosshair_column.value_or(kNoIndex);
  p.pixels_per_unit = scale;
  p.rounding = image.rounding * scale;
  const CellColoring coloring =
      coloring_of(image, p.area_width / static_cast<float>(image.columns), p.area_height / static_cast<float>(image.rows));
  std::uint64_t upload = 0;
  pipeline.handles.guarded([&] {
    const Pipeline::Entry* entry = pipeline.upload(image, coloring);
    p.is_uploaded = entry != nullptr ? 1 : 0;
    p.cells_at = entry != nullptr ? entry->offset : pipeline.upload_missing(image.missing);
    upload = entry != nullptr ? entry->upload : 0;
    draw.variant = pipeline.variant_of(p, entry != nullptr && entry->has_mask);
  });
  draw.pixels = {.left = static_cast<std::int32_t>(std::floor(p.quad_x)),
                 .top = static_cast<std::int32_t>(std::floor(p.quad_y)),
                 .right = static_cast<std::int32_t>(std::ceil(p.quad_x + p.quad_width)),
                 .bottom = static_cast<std::int32_t>(std::ceil(p.quad_y + p.quad_height))};
  FrameHash hash;
  hash.add(p);
  hash.add(upload);
  if (upload == 0) hash.add(image.missing);
  draw.content = hash.value();
  list->AddCallback(&on_draw, static_cast<DrawnByCallback*>(&draw));
  list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

std::size_t HeatmapRenderer::cached_heatmaps() const { return pipeline_->entries.size(); }

std::size_t HeatmapRenderer::cached_bytes() const {
  std::size_t words = 0;
  for (const auto& [key, entry] : pipeline_->entries) words += entry.words;
  return words * sizeof(std::uint32_t);
}

std::uint64_t HeatmapRenderer::uploads() const { return pipeline_->uploads; }

}  // namespace headlight::shell
