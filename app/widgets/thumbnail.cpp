#include "app/widgets/thumbnail.h"

#include "app/state/map_settings.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kPreviewEdge = 220.0F;
constexpr std::uint32_t kPreviewId = 0x9E;
constexpr float kMinDifference = 0.1F;  // that has the strongest colour: a head that hardly changed looks like that

/// Returns the largest pool of a thumbnail. llvmpipe ends a shader's loops after 65,536 iterations, which squares of 128
/// cells and more exceed; the renderer takes the largest of several cells per pixel as well. Without pooling, tiles of very
/// long texts would be too large.
std::uint32_t most_pool(std::uint32_t tokens) {
  constexpr std::uint32_t kSafePool = 64;
  constexpr std::uint32_t kMaxCells = 128;  // an edge
  std::uint32_t pool = kSafePool;
  while (tokens / pool > kMaxCells) pool *= 2;
  return pool;
}

/// Returns how many rows are sampled of each square of a large map's thumbnail: as many as a fixed amount of work allows, at
/// least one.
std::uint32_t sampled_rows(std::size_t cells, std::uint32_t pool) {
  constexpr std::size_t kSampledCells = std::size_t{1} << 20;
  std::uint32_t rows = 1;
  while (2 * rows < pool && cells / pool * (2 * rows) <= kSampledCells) rows *= 2;
  return rows;
}

}  // namespace

attention::KeyRange query_range(const Frame& frame, model::BlockKind kind) {
  if (!frame.result.input) return {0};
  const model::TokenBatch& tokens = frame.result.input->queries(kind);
  return real_tokens(tokens, frame.state.selection.batch, tokens.length);
}

attention::KeyRange key_range(const Frame& frame, model::BlockKind kind) {
  if (!frame.result.input) return {0};
  const model::TokenBatch& tokens = frame.result.input->keys(kind);
  return real_tokens(tokens, frame.state.selection.batch, tokens.length);
}

attention::KeyRange query_range(const Frame& frame) { return query_range(frame, frame.state.selection.block.kind); }

attention::KeyRange key_range(const Frame& frame) { return key_range(frame, frame.state.selection.block.kind); }

chart::Region shown_cells(const Frame& frame, model::BlockRef block) {
  const inference::BlockShape& shape = frame.result.shapes.at(block);
  chart::Region cells{.rows = shape.queries, .columns = shape.keys};
  const bool is_typed = is_playground(frame.state.source) || is_model(frame.state.source);
  if (!is_typed || !frame.result.input) return cells;
  const auto cut = [](std::uint32_t& first, std::uint32_t& count, attention::KeyRange real) {
    first = std::min(real.begin, count - 1);
    count = std::clamp(real.end, first + 1, count) - first;
  };
  cut(cells.row, cells.rows, query_range(frame, block.kind));
  if (frame.state.masks[block.kind].rule.key_padding) cut(cells.column, cells.columns, key_range(frame, block.kind));
  return cells;
}

TileQuery thumbnail_request(const Frame& frame, model::BlockRef block, std::uint32_t head, float edge) {
  const chart::Region shown = shown_cells(frame, block);
  const std::uint32_t rows = shown.rows, columns = shown.columns;
  const auto pixels = static_cast<std::uint32_t>(std::max(edge * frame.ui.scale(), 1.0F));
  TileQuery query = tile_of(frame, attention::Stage::Weights, shown);
  query.block = block;
  query.head = head;
  pool_sides(query, glm::uvec2(pixels));
  const std::uint32_t pooled_columns = std::min(query.column_pool(), most_pool(columns));
  query.pool = std::min(query.pool, most_pool(rows));
  query.pooled_columns = pooled_columns == query.pool ? 0 : pooled_columns;
  const std::size_t cells = std::size_t{rows} * columns;
  // A map of few queries isn't sampled: each of them counts.
  constexpr std::uint32_t kMinSquares = 32;
  if (cells <= kMaxThumbnailCells || rows < kMinSquares * attention::kMinSampledPool) return query;
  query.pool = std::max(query.pool, attention::kMinSampledPool);
  query.sampled_rows = sampled_rows(cells, query.pool);
  return query;
}

NumberRef number_under_pointer(const TileQuery& shown, const chart::Rect& box) {
  const glm::vec2 at = glm::clamp((pointer_position() - box.origin) / glm::max(box.size, 1.0F), 0.0F, 1.0F);
  const auto first_of = [](float part, std::uint32_t cells, std::uint32_t pool) {
    const auto cell = static_cast<std::uint32_t>(part * static_cast<float>(cells));
    return std::min(cell, std::max(cells, 1U) - 1) / pool * pool;
  };
  return {.of = std::string(quantity(shown.quantity).id),
          .block = shown.block,
          .batch = shown.batch,
          .head = shown.head,
          .row = shown.row + first_of(at.y, shown.rows, shown.pool),
          .column = shown.column + first_of(at.x, shown.columns, shown.column_pool()),
          .pool = shown.pool,
          .pooled_columns = shown.pooled_columns,
          .pooling = shown.pooling};
}

std::string sample_in_words(const TileQuery& query) {
  if (query.sampled_rows == 0) return {};
  const std::uint32_t rest = query.rows % query.pool;  // rows of the last squares
  const std::uint32_t rows = query.rows / query.pool * query.sampled_rows + std::min(rest, query.sampled_rows);
  return fmt::format("{} of {} query rows", rows, query.rows);
}

void draw_thumbnail(Frame& frame, const TileQuery& request, const chart::Rect& box, std::uint32_t place) {
  const shell::Theme& theme = frame.ui.theme();
  const bool is_difference = frame.shows_difference();
  const TileQuery query = frame.compared(request);
  ShownTile shown_tile = find_tile(frame, query);
  if (!shown_tile.tile) shown_tile = find_covering_tile(frame.result, query);
  if (!shown_tile.tile) {
    fill_rect(box, theme.missing);
    return;
  }
  shell::HeatmapImage image = heatmap_of(shown_tile, place, theme);
  const bool is_per_row = !is_difference && frame.state[kMapView.color_range] == ColorRange::PerRow;
  if (is_difference) {
    set_signed_colors(frame, image, query, shown_tile.facts->range, kMinDifference);
  } else {
    set_weight_colors(image, frame.state, shown_tile, is_per_row);
  }
  image.area = box;
  image.grid = 0;
  if (is_per_row) image.row_scale = shown_tile.facts->row_scales;
  draw_heatmap(frame, image);
  // Small weights are nearly black.
  if (theme.kind == shell::ThemeKind::HighContrast) {
    outline_rect(box.origin - 1.0F, box.end() + 1.0F, theme.border);
  }
}

HeadThumbnailEvents draw_head_thumbnail(Frame& frame, const HeadThumbnail& thumbnail) {
  const shell::Theme& theme = frame.ui.theme();
  const auto& [head, name, box, caption, place, cover] = thumbnail;
  Selection& selection = frame.state.selection;
  HeadThumbnailEvents events{.is_selected = selection.block == head.block && selection.head == head.head,
                             .shown = thumbnail_request(frame, head.block, head.head, std::max(box.size.x, box.size.y))};
  ImGui::SetCursorScreenPos(box.origin);
  events.is_clicked = click_area(name.c_str(), {box.size.x, box.size.y + caption});
  events.is_hovered = ImGui::IsItemHovered();
  if (events.is_hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Right)) {
    select_head(selection, head);
    frame.start_command("menu.head");
  }
  frame.mark(name, box);
  frame.ui.keyboard().offer_last_item();
  if (events.is_selected) frame.ui.keyboard().prefer_last();
  draw_thumbnail(frame, events.shown, box, place);
  draw_lit_cell(frame, head.block, box);
  if (cover) cover();
  draw_gain_mark(frame, head.block, head.head, box);
  if (events.is_selected) {
    outline_rect(box.origin - 2.5F, box.end() + 2.5F, theme.accent, 3.0F, 2.5F);
  } else if (events.is_hovered) {
    outline_rect(box.origin - 1.5F, box.end() + 1.5F, theme.text_dim, 3.0F);
  }
  return events;
}

void draw_lit_cell(const Frame& frame, model::BlockRef block, const chart::Rect& box) {
  const Transient& transient = frame.transient;
  const inference::BlockShape* shape = find_shape(frame.result, block);
  if (!shape || block.kind != frame.state.selection.block.kind) return;
  const bool is_on_map = transient.hovered && attention::is_map(transient.hovered_stage);
  const std::optional<std::uint32_t> query = is_on_map ? transient.hovered->query : transient.pointed.query;
  const std::optional<std::uint32_t> key = is_on_map ? transient.hovered->key : transient.pointed.key;
  const chart::Region cells = shown_cells(frame, block);
  // Both lines around a small cell are one thick bar, which hides what the map is.
  constexpr float kSmallCell = 4.0F;
  if (box.size.y < kSmallCell * static_cast<float>(cells.rows) ||
      box.size.x < kSmallCell * static_cast<float>(cells.columns))
    return;
  const shell::Color color = frame.ui.theme().crosshair;
  // A side is at least a pixel wide, and around the cells, so that their colours stay.
  const auto side = [](float from, float length, std::uint32_t at, std::uint32_t count) {
    const float cell = length / static_cast<float>(count);
    const float low = std::floor(from + static_cast<float>(at) * cell);
    return std::pair(low, std::max(std::ceil(from + static_cast<float>(at + 1) * cell), low + 2.0F));
  };
  if (query && *query - cells.row < cells.rows) {  // an earlier one wraps around
    const auto [low, high] = side(box.origin.y, box.size.y, *query - cells.row, cells.rows);
    outline_rect({box.origin.x, low}, {box.end().x, high}, color);
  }
  if (key && *key - cells.column < cells.columns) {
    const auto [low, high] = side(box.origin.x, box.size.x, *key - cells.column, cells.columns);
    outline_rect({low, box.origin.y}, {high, box.end().y}, color);
  }
}

std::optional<attention::Cell> cell_of(const std::optional<NumberRef>& pointed) {
  if (!pointed || !find_quantity(pointed->of)) return std::nullopt;
  return attention::Cell{.query = pointed->row, .key = pointed->column};
}

void draw_sample_note(Frame& frame, const char* name, const std::string& sample) {
  write_dim(frame, fmt::format("sampled: {}", sample));
  mark_last_item(
      frame, name,
      "The maps of all heads show the first rows of each square of a long text, with all keys. Colours' range and "
      "concentration are of every row, and the big map is exact.");
}

bool draw_badge(Frame& frame, const std::string& thumbnail, const chart::Rect& box, const std::string& text) {
  constexpr float kInset = 4.0F;
  constexpr const char* kWidestBadge = "prev 0.88";
  ImFont* font = frame.ui.fonts().small;
  std::string shown = text;
  // All badges of a grid have their number, or none has.
  if (text_width(font, kWidestBadge) + 2.0F * kInset > box.size.x) shown.resize(std::min(shown.find(' '), shown.size()));
  const glm::vec2 size(text_width(font, shown) + 2.0F * kInset, font_size(font) + 3.0F);
  if (shown.empty() || size.x > box.size.x || 2.5F * size.y > box.size.y) return false;
  const shell::Theme& theme = frame.ui.theme();
  const glm::vec2 low(box.origin.x, box.end().y - size.y);
  fill_rect(low, low + size, theme.popup, 2.0F);
  put_text(font, {low.x + kInset, low.y + 1.0F}, theme.text, shown);
  const chart::Rect badge{.origin = low, .size = size};
  frame.mark(thumbnail + ".badge", badge);
  return badge.contains(pointer_position());
}

void draw_thumbnail_tooltip(Frame& frame, model::BlockRef block, std::uint32_t head, const std::string& sentence) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const inference::BlockShape& shape = frame.result.shapes.at(block);
  // The tooltip is in the right pane beside the whole grid, so that the neighbours stay visible.
  chart::Rect explained = last_item_rect();
  const float grid = ImGui::GetWindowPos().x - 12.0F;
  if (grid > 0.5F * frame.ui.size().x) explained = {.origin = {grid, explained.origin.y}, .size = {1.0F, explained.size.y}};
  const Tooltip tooltip(frame, explained);
  write_text(fonts.strong, theme.text, fmt::format("Layer {} · head {}", block.layer.value, head));
  if (!sentence.empty()) {
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + kPreviewEdge);
    ImGui::TextUnformatted(sentence.c_str());
    ImGui::PopTextWrapPos();
  }
  {
    const TextStyleScope ink(fonts.small, theme.text_dim);
    ImGui::TextUnformatted(kind_name(frame.result, block.kind));
    const float aspect = static_cast<float>(shape.queries) / static_cast<float>(std::max(shape.keys, 1U));
    const glm::vec2 size = kPreviewEdge * glm::vec2(std::min(1.0F, 1.0F / aspect), std::clamp(aspect, 0.1F, 1.0F));
    const TileQuery query = thumbnail_request(frame, block, head, kPreviewEdge);
    draw_thumbnail(frame, query, {.origin = cursor_position(), .size = size}, kPreviewId);
    ImGui::Dummy(size);
    const std::string sample = sample_in_words(query);
    if (!sample.empty()) ImGui::TextUnformatted(fmt::format("sampled: {}", sample).c_str());
    const ShownTile preview = find_tile(frame, query);
    if (preview.tile) {
      const float concentration = shown_concentration(preview, query_range(frame, block.kind), ~0U);
      ImGui::TextUnformatted(fmt::format("concentration {}", chart::format_fixed(concentration, 3)).c_str());
      ImGui::TextUnformatted("mean of the rows' largest weights");
    }
  }
}

}  // namespace headlight::app
