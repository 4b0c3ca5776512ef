#include "app/views/model/film_strip.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/map_axes.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kMinRoomForMap = 560.0F;  // height of a view whose strip has a map
constexpr float kMapEdge = 132.0F;
constexpr float kLabel = 52.0F, kWords = 132.0F, kWordsGap = 8.0F;
constexpr std::uint32_t kPlace = 0x7D;

const inference::BlockShape& shape_on_show(const Frame& frame) {
  return frame.result.shapes.at(frame.state.selection.block);
}

/// Draws a slider from 0 to count − 1 between its label and the number in words.
bool draw_slider(Frame& frame, const char* name, const char* label, std::uint32_t& value, std::uint32_t count,
                 const std::string& text, float width, const char* explanation) {
  ImGui::AlignTextToFramePadding();
  const float left = ImGui::GetCursorPosX();
  write_dim(frame, label);
  ImGui::SameLine(left + kLabel);
  ImGui::SetNextItemWidth(std::max(width - kLabel - kWords, 40.0F));
  auto position = static_cast<int>(value);
  ImGui::BeginDisabled(count < 2);
  bool is_moved = ImGui::SliderInt((std::string("##") + name).c_str(), &position, 0,
                                   static_cast<int>(std::max(count, 2U)) - 1, "", ImGuiSliderFlags_AlwaysClamp);
  ImGui::EndDisabled();
  mark_last_item(frame, name, explanation);
  is_moved = step_by_keys(frame, position, 0, static_cast<int>(std::max(count, 1U)) - 1, 1) || is_moved;
  if (is_moved) value = static_cast<std::uint32_t>(position);
  ImGui::SameLine(0.0F, kWordsGap);
  ImFont* font = frame.ui.fonts().small;
  const std::string shown = fit_text(font, text, kWords - kWordsGap);
  write_label(font, frame.ui.theme().text, shown);
  if (shown != text) explain_last_item(frame, text.c_str());
  return is_moved;
}

}  // namespace

float FilmStrip::height(float room) {
  const float line = ImGui::GetFrameHeightWithSpacing();
  return room >= kMinRoomForMap ? std::max(kMapEdge, 3.0F * line) : line;
}

void FilmStrip::follow_text(const Frame& frame) {
  if (token_ && *token_ + 1 >= shape_on_show(frame).queries) token_.reset();
}

void FilmStrip::handle_keys(Frame& frame) {
  follow_text(frame);
  if (has_popup()) return;
  const std::uint32_t last = shape_on_show(frame).queries - 1;
  if (frame.ui.is_pressed(shell::Key::Comma)) token_ = std::max(token_.value_or(last), 1U) - 1;
  if (frame.ui.is_pressed(shell::Key::Period)) token_ = std::min(token_.value_or(last) + 1, last);
  follow_text(frame);
}

void FilmStrip::draw_token_slider(Frame& frame, float width) {
  const std::uint32_t count = shape_on_show(frame).queries;
  std::uint32_t token = token_.value_or(count - 1);
  const Selection& selection = frame.state.selection;
  const auto written = written_tokens(frame);
  const std::string* known = written && token < written->size() ? &(*written)[token]
                             : frame.result.input               ? shown_queries(frame).label(selection.batch, token)
                                                                : nullptr;
  const std::string text = known != nullptr ? *known : "";
  frame.ui.ensure_glyphs(text);
  const std::string shown = token_       ? fmt::format("up to {} \u201C{}\u201D", token, frame.ui.shaped(text))
                            : count == 1 ? "the one token"
                                         : fmt::format("all {} tokens", count);
  if (draw_slider(frame, "model.token", "Token", token, count, shown, width,
                  "Covers the rows after a token: the maps as they were when the text ended there (comma, full stop).")) {
    token_ = token;
    follow_text(frame);
  }
}

void FilmStrip::draw_map(Frame& frame, const chart::Rect& box) const {
  const Selection& selection = frame.state.selection;
  TileQuery query = thumbnail_request(frame, selection.block, selection.head, std::max(box.size.x, box.size.y));
  query.sampled_rows = 0;  // one map is exact at any length
  draw_thumbnail(frame, query, box, kPlace);
  cover(frame, selection.block, box);
  frame.mark("model.film", box);
}

void FilmStrip::draw_sliders(Frame& frame, float width, const std::function<void(float index)>& place) {
  Selection& selection = frame.state.selection;
  const std::vector<model::BlockRef> layers = blocks_of_kind(frame.result.shapes, selection.block.kind);
  auto layer = static_cast<std::uint32_t>(std::ranges::find(layers, selection.block) - layers.begin());
  std::uint32_t head = selection.head;
  place(0.0F);
  bool is_moved = draw_slider(
      frame, "model.layer", "Layer", layer, static_cast<std::uint32_t>(layers.size()),
      fmt::format("{} ({} to {})", selection.block.layer.value, layers.front().layer.value, layers.back().layer.value),
      width, "Goes through the layers, with the same head.");
  place(1.0F);
  is_moved = draw_slider(frame, "model.head", "Head", head, shape_on_show(frame).heads,
                         fmt::format("{} (0 to {})", head, shape_on_show(frame).heads - 1), width,
                         "Goes through the heads of the layer.") ||
             is_moved;
  place(2.0F);
  draw_token_slider(frame, width);
  if (!is_moved) return;
  select_head(selection, {layers[layer], head});
  clamp_selection(frame.state, frame.result.shapes);
}

void FilmStrip::draw(Frame& frame, float height) {
  const glm::vec2 start = cursor_position();
  float left = 0.0F;
  if (height >= kMapEdge) {
    const inference::BlockShape& shape = shape_on_show(frame);
    const float aspect = static_cast<float>(shape.queries) / static_cast<float>(std::max(shape.keys, 1U));
    const glm::vec2 size = glm::floor(kMapEdge * glm::vec2(std::min(1.0F, 1.0F / aspect), std::clamp(aspect, 0.1F, 1.0F)));
    draw_map(frame, {.origin = glm::round(start), .size = size});
    left = kMapEdge + 18.0F;
  }
  // The tools are below each other beside the map, else beside each other.
  constexpr float kGap = 14.0F;
  const bool is_one_line = left == 0.0F;
  const float room = width_left() - left;
  const float width = is_one_line ? std::floor((room - 2.0F * kGap) / 3.0F) : room;
  const float line = ImGui::GetFrameHeightWithSpacing();
  const ImVec2 first(ImGui::GetCursorPosX() + left,
                     ImGui::GetCursorPosY() + (is_one_line ? 0.0F : std::max((height - 3.0F * line) * 0.5F, 0.0F)));
  draw_sliders(frame, width, [&](float index) {
    ImGui::SetCursorPos(is_one_line ? ImVec2(first.x + index * (width + kGap), first.y)
                                    : ImVec2(first.x, first.y + index * line));
  });
}

void FilmStrip::draw_column(Frame& frame) {
  const HeadRef selected = frame.state.selection.head_ref();
  write_strong(frame, head_name(selected));
  const glm::vec2 start = cursor_position(),
                  room = region_left() - glm::vec2(0.0F, 3.5F * ImGui::GetFrameHeightWithSpacing());
  const chart::Region cells = shown_cells(frame, selected.block);
  const std::uint32_t rows = cells.row + cells.rows, columns = cells.column + cells.columns;
  AxisTokens queries =
      axis_tokens(frame, shown_queries(frame), rows, query_range(frame), rows_write_tokens(frame) ? "reads" : "query");
  const auto written = written_tokens(frame);
  if (written) {
    queries.texts = &*written;
    queries.name = "writes";
  }
  const AxisTokens keys = axis_tokens(frame, shown_keys(frame), columns, key_range(frame), "key");
  const glm::vec2 margins = measure_axes(frame, queries, keys, room);
  const float overhang = measure_overhang(frame, queries, keys, margins, room);
  const chart::Rect area{.origin = start + margins, .size = glm::max(room - margins - glm::vec2(overhang, 0.0F), 1.0F)};
  const chart::Viewport port(area, rows, columns, 1.0F, {}, {.row = cells.row, .column = cells.column});
  const chart::Rect box = port.shown();
  // The map is at the column's top, not in the middle of its height.
  const glm::vec2 up(0.0F, area.origin.y - box.origin.y);
  const chart::Viewport placed({.origin = area.origin, .size = {area.size.x, box.size.y}}, rows, columns, 1.0F, {},
                               {.row = cells.row, .column = cells.column});
  draw_map(frame, {.origin = box.origin + up, .size = box.size});
  draw_axes(frame, placed, margins, queries, keys, {});
  ImGui::SetCursorScreenPos(to_imgui({start.x, box.end().y + up.y + 12.0F}));
  draw_sliders(frame, width_left(), [](float) {});
}

void FilmStrip::cover(Frame& frame, model::BlockRef block, const chart::Rect& box) const {
  if (!token_) return;
  const chart::Region cells = shown_cells(frame, block);
  const std::uint32_t rows = *token_ + 1 - std::min(cells.row, *token_ + 1);
  const float y = box.origin.y + std::round(box.size.y * static_cast<float>(rows) / static_cast<float>(cells.rows));
  if (y >= box.end().y) return;
  const shell::Theme& theme = frame.ui.theme();
  fill_rect({box.origin.x, y}, box.end(), theme.field);
  draw_line({box.origin.x, y}, {box.end().x, y}, theme.query, 1.5F);
}

}  // namespace headlight::app
