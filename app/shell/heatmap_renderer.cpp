#include "app/shell/heatmap_renderer.h"

#include <algorithm>
#include <cmath>

#include "app/shell/frame_tiles.h"
#include "app/shell/heatmap_pipeline.h"
#include "app/shell/imgui_vectors.h"
#include "core/error.h"

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
  if (!image.pixels.empty()) {
    if (image.pixels.size() != cells) refuse("pixels", image.pixels.size(), cells);
    return;
  }
  if (image.values.size() != cells) refuse("values", image.values.size(), cells);
  if (!image.masked.empty() && image.masked.size() != cells) refuse("masked", image.masked.size(), cells);
  if (!image.row_scale.empty() && image.row_scale.size() != image.rows)
    refuse("row_scale", image.row_scale.size(), image.rows);
  if (image.color_map.size() != 256) refuse("color_map", image.color_map.size(), 256);
}

/// Returns the upper left and lower right corner of what is visible between those of the draw list's clip rectangle.
std::pair<glm::vec2, glm::vec2> visible_part(const HeatmapImage& image, glm::vec2 low, glm::vec2 high) {
  low = glm::max(low, image.area.origin);
  high = glm::min(high, image.area.end());
  if (!image.clip) return {low, high};
  return {glm::max(low, image.clip->origin), glm::min(high, image.clip->end())};
}

void on_draw(const ImDrawList*, const ImDrawCmd* command) {
  const auto& draw = static_cast<const Pipeline::Draw&>(*static_cast<const DrawnByCallback*>(command->UserCallbackData));
  const ImVec4& clip = command->ClipRect;  // pixels by now, see draw_data.h
  draw.pipeline->record(draw, {clip.x, clip.y}, {clip.z, clip.w});
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

std::optional<chart::CellPosition> HeatmapRenderer::cell_at(const HeatmapImage& image, glm::vec2 point) {
  if (image.rows == 0 || image.columns == 0 || !image.area.contains(point)) return std::nullopt;
  if (image.clip && !image.clip->contains(point)) return std::nullopt;
  const glm::uvec2 count(image.columns, image.rows);
  const auto cell = glm::min(glm::uvec2((point - image.area.origin) / image.area.size * glm::vec2(count)), count - 1U);
  return chart::CellPosition{.row = cell.y, .column = cell.x};
}

chart::Rect HeatmapRenderer::cell_rect(const HeatmapImage& image, std::uint32_t row, std::uint32_t column) {
  const glm::vec2 size = image.area.size / glm::vec2(image.columns, image.rows);
  return {image.area.origin + glm::vec2(column, row) * size, size};
}

void HeatmapRenderer::draw(ImDrawList* list, const HeatmapImage& image) {
  check(image);
  Pipeline& pipeline = *pipeline_;
  const auto [low, high] = visible_part(image, to_glm(list->GetClipRectMin()), to_glm(list->GetClipRectMax()));
  if (high.x <= low.x || high.y <= low.y || image.rows == 0 || image.columns == 0) return;

  Pipeline::Draw& draw = pipeline.draws.emplace_back();
  draw.pipeline = &pipeline;
  const float scale = pipeline.scale;
  params::HeatmapParameters& p = draw.parameters;
  p.area_x = image.area.origin.x * scale;
  p.area_y = image.area.origin.y * scale;
  p.area_width = image.area.size.x * scale;
  p.area_height = image.area.size.y * scale;
  p.quad_x = low.x * scale;
  p.quad_y = low.y * scale;
  p.quad_width = (high.x - low.x) * scale;
  p.quad_height = (high.y - low.y) * scale;
  p.to_clip_x = 2.0F / static_cast<float>(pipeline.size.x);
  p.to_clip_y = 2.0F / static_cast<float>(pipeline.size.y);
  p.rows = image.rows;
  p.columns = image.columns;
  p.hatch = image.hatch;
  const glm::vec2 cell = cell_rect(image, 0, 0).size;
  p.grid = std::min(cell.x, cell.y) >= image.grid_from ? image.grid : 0;
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
