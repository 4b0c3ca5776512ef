#include "app/views/model/film_strip.h"

#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kMinRoomForMap = 560.0F;  // height of a view whose strip has a map
constexpr float kMapEdge = 132.0F;
constexpr float kLabel = 52.0F;
constexpr std::uint32_t kPlace = 0x7D;

const inference::BlockShape& shape_on_show(const Frame& frame) {
  return frame.result.shapes.at(frame.state.selection.block);
}

/// Draws a slider from 0 to count − 1 after its label, with the number in words.
bool draw_slider(Frame& frame, const char* name, const char* label, std::uint32_t& value, std::uint32_t count,
                 const std::string& text, float width, const char* explanation) {
  ImGui::AlignTextToFramePadding();
  const float left = ImGui::GetCursorPosX();
  write_dim(frame, label);
  ImGui::SameLine(left + kLabel);
  ImGui::SetNextItemWidth(std::max(width - kLabel, 40.0F));
  auto position = static_cast<int>(value);
  // ImGui reads the text as a format.
  std::string format;
  for (const char c : text) format += c == '%' ? std::string("%%") : std::string(1, c);
  ImGui::BeginDisabled(count < 2);
  bool is_moved = ImGui::SliderInt((std::string("##") + name).c_str(), &position, 0,
                                   static_cast<int>(std::max(count, 2U)) - 1, format.c_str(), ImGuiSliderFlags_AlwaysClamp);
  ImGui::EndDisabled();
  mark_last_item(frame, name, explanation);
  is_moved = step_by_keys(frame, position, 0, static_cast<int>(std::max(count, 1U)) - 1, 1) || is_moved;
  if (is_moved) value = static_cast<std::uint32_t>(position);
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
  const std::string* known = frame.result.input ? shown_queries(frame).label(selection.batch, token) : nullptr;
  const std::string text = known != nullptr ? *known : "";
  frame.ui.ensure_glyphs(text);
  const std::string shown = token_ ? fmt::format("up to token {} of {}  \u201C{}\u201D", token, count, frame.ui.shaped(text))
                                   : fmt::format("all {} tokens", count);
  if (draw_slider(frame, "model.token", "Token", token, count, shown, width,
                  "Covers the rows after a token: the maps as they were when the text ended there (comma, full stop).")) {
    token_ = token;
    follow_text(frame);
  }
}

void FilmStrip::draw(Frame& frame, float height) {
  Selection& selection = frame.state.selection;
  const glm::vec2 start = cursor_position();
  float left = 0.0F;
  if (height >= kMapEdge) {
    const inference::BlockShape& shape = shape_on_show(frame);
    const float aspect = static_cast<float>(shape.queries) / static_cast<float>(std::max(shape.keys, 1U));
    const glm::vec2 size = glm::floor(kMapEdge * glm::vec2(std::min(1.0F, 1.0F / aspect), std::clamp(aspect, 0.1F, 1.0F)));
    const chart::Rect box{.origin = glm::round(start), .size = size};
    TileQuery query = thumbnail_request(frame, selection.block, selection.head, kMapEdge);
    query.sampled_rows = 0;  // one map is exact at any length
    draw_thumbnail(frame, query, box, kPlace);
    cover(frame, selection.block, box);
    frame.mark("model.film", box);
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
  const auto place = [&](float index) {
    ImGui::SetCursorPos(is_one_line ? ImVec2(first.x + index * (width + kGap), first.y)
                                    : ImVec2(first.x, first.y + index * line));
  };
  const std::vector<model::BlockRef> layers = blocks_of_kind(frame.result.shapes, selection.block.kind);
  auto layer = static_cast<std::uint32_t>(std::ranges::find(layers, selection.block) - layers.begin());
  std::uint32_t head = selection.head;
  place(0.0F);
  bool is_moved = draw_slider(frame, "model.layer", "Layer", layer, static_cast<std::uint32_t>(layers.size()),
                              fmt::format("layer {}", selection.block.layer.value), width,
                              "Goes through the layers, with the same head.");
  place(1.0F);
  is_moved = draw_slider(frame, "model.head", "Head", head, shape_on_show(frame).heads, fmt::format("head {}", head), width,
                         "Goes through the heads of the layer.") ||
             is_moved;
  place(2.0F);
  draw_token_slider(frame, width);
  if (is_moved) {
    select_head(selection, {layers[layer], head});
    clamp_selection(frame.state, frame.result.shapes);
  }
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
