#include "app/views/lines/lines_drawing.h"

#include "app/engine/token_words.h"
#include "app/figures/shaded_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kWeightGap = 6.0F;
constexpr float kDeepestShade = 140.0F;  // of 255: the text stays readable

shell::Color color_of_head(const shell::Theme& theme, std::uint32_t head) {
  return shell::mark_on(theme.background, chart::pack(chart::head_color(head)), theme.text);
}

float number_width(const Frame& frame, bool has_sign = false) {
  return std::ceil(text_width(frame.ui.fonts().mono_small, has_sign ? "+0.000" : "0.000"));
}

/// The labels of one side, and what is printed beyond them.
class SidePainter {
 public:
  SidePainter(Frame& frame, const DrawnLines& drawn, MapSide side)
      : frame_(frame),
        drawn_(drawn),
        side_(side),
        tokens_(side == MapSide::Query ? drawn.sides.queries : drawn.sides.keys),
        theme_(frame.ui.theme()),
        list_(ImGui::GetWindowDrawList()) {
    const bool is_other_end = drawn.token && drawn.token->side != side;
    if (!is_other_end) return;
    weights_ = lines_by_end(drawn.set.lines, *drawn.token, static_cast<std::uint32_t>(tokens_.labels.size()),
                            std::max<std::size_t>(drawn.printed, 1));
  }

  void draw() const {
    const TokenSpan visible = drawn_.layout.visible(side_);
    for (std::uint32_t token = visible.begin; token < visible.end; ++token) {
      chart::Rect label = drawn_.layout.label(side_, token);
      label.origin += drawn_.origin;
      draw_label(token, label);
      if (drawn_.printed > 0 && token < weights_.size() && !weights_[token].empty()) draw_weights(token, label);
    }
  }

 private:
  const char* name() const { return side_ == MapSide::Query ? "query" : "key"; }

  void draw_label(std::uint32_t token, const chart::Rect& rect) const {
    const LockedToken self{.side = side_, .token = token};
    const shell::Color role = side_ == MapSide::Query ? theme_.query : theme_.key;
    const bool is_told =
        drawn_.told && !drawn_.token && (side_ == MapSide::Query ? drawn_.told->query : drawn_.told->key) == token;
    if (drawn_.token == self || drawn_.hovered == self || is_told) {
      fill_rect(rect, side_ == MapSide::Query ? theme_.query_fill : theme_.key_fill, 4.0F);
    } else if (token < weights_.size() && !weights_[token].empty()) {
      const float weight = weights_[token].front().weight, strongest = std::min(std::abs(weight), 1.0F);
      const shell::Color color = drawn_.is_difference ? line_color(frame_, 0, weight) : role;
      fill_rect(rect, shell::with_alpha(color, static_cast<std::uint32_t>(kDeepestShade * strongest)), 4.0F);
    }
    if (drawn_.locked == self) outline_rect(rect, theme_.accent, 4.0F, 1.5F);
    ImFont* font = frame_.ui.fonts().small;
    constexpr float kLabelPadding = 8.0F;
    const std::string text = fit_text(font, tokens_.labels[token], rect.size.x - 2.0F * kLabelPadding);
    const float x =
        side_ == MapSide::Query ? rect.end().x - kLabelPadding - text_width(font, text) : rect.origin.x + kLabelPadding;
    put_text(font, {std::round(x), std::round(rect.center().y - font_size(font) * 0.5F)},
             tokens_.real.holds(token) ? theme_.text : theme_.text_dim, text);
    frame_.mark(fmt::format("lines.{}.{}", name(), token), rect);
  }

  /// Draws the weights from the label outwards, the largest first, each after a square in its head's colour.
  void draw_weights(std::uint32_t token, const chart::Rect& label) const {
    ImFont* font = frame_.ui.fonts().mono_small;
    constexpr float kSquare = 6.0F;
    const float step = kSquare + 3.0F + number_width(frame_, drawn_.is_difference) + kWeightGap;
    const float outwards = side_ == MapSide::Query ? -step : step;
    float x = drawn_.origin.x + drawn_.layout.number_x(side_) + (side_ == MapSide::Query ? -step : 0.0F);
    const float y = label.center().y;
    const float first_x = x;
    for (const WeightLine& line : weights_[token]) {
      fill_rect({x, y - kSquare * 0.5F}, {x + kSquare, y + kSquare * 0.5F}, color_of_head(theme_, line.head), 1.0F);
      put_text(font, {x + kSquare + 3.0F, std::round(y - font_size(font) * 0.5F)}, theme_.text,
               shade_text(line.weight, drawn_.is_difference));
      x += outwards;
    }
    const float low = std::min(first_x, x - outwards);
    frame_.mark(
        fmt::format("lines.weights.{}.{}", name(), token),
        {.origin = {low, label.origin.y}, .size = {step * static_cast<float>(weights_[token].size()), label.size.y}});
  }

  Frame& frame_;
  const DrawnLines& drawn_;
  MapSide side_;
  const LineSide& tokens_;
  const shell::Theme& theme_;
  ImDrawList* list_;
  std::vector<std::vector<WeightLine>> weights_;
};

LineSide side_of(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real) {
  const std::uint32_t batch = frame.state.selection.batch;
  const bool is_source = &tokens == &frame.result.input->source;
  LineSide side{.labels = {}, .real = real, .sentences = sentences_of(frame.result.prompt.get(), tokens, is_source, batch)};
  if (batch < tokens.texts.size()) side.labels = telling_names(tokens, batch);
  for (auto i = static_cast<std::uint32_t>(side.labels.size()); i < count; ++i) side.labels.push_back(fmt::format("{}", i));
  side.labels.resize(count);
  return side;
}

void measure(const Frame& frame, LineSide& side) {
  for (const std::string& label : side.labels) side.width = std::max(side.width, text_width(frame.ui.fonts().small, label));
}

}  // namespace

shell::Color line_color(const Frame& frame, std::uint32_t head, float weight) {
  const shell::Color color =
      frame.shows_difference() ? chart::pack(exporting::sign_color(weight)) : color_of_head(frame.ui.theme(), head);
  return shell::with_alpha(color, static_cast<std::uint32_t>(std::lround(exporting::line_opacity(weight) * 255.0F)));
}

float printed_width(const Frame& frame, std::size_t count) {
  constexpr float kSquareRoom = 9.0F;
  return static_cast<float>(count) * (number_width(frame, frame.shows_difference()) + kWeightGap + kSquareRoom);
}

void draw_lines(Frame& frame, const DrawnLines& drawn) {
  const LineLayout& layout = drawn.layout;
  const auto draw = [&](const WeightLine& line, float weight, float thickness) {
    const glm::vec2 from = drawn.origin + glm::vec2(layout.query_x(), layout.y_of(line.query));
    const glm::vec2 to = drawn.origin + glm::vec2(layout.key_x(), layout.y_of(line.key));
    const shell::Color color = line_color(frame, line.head, weight);
    draw_line(from, to, color, thickness);
  };
  for (const WeightLine& line : drawn.set.lines) {
    if (layout.is_visible(line)) draw(line, line.weight, kLineThickness);
  }
  if (drawn.pointed != nullptr) draw(*drawn.pointed, std::copysign(1.0F, drawn.pointed->weight), 1.5F * kLineThickness);
  SidePainter(frame, drawn, MapSide::Query).draw();
  SidePainter(frame, drawn, MapSide::Key).draw();
}

LineSides line_sides(Frame& frame) {
  const inference::BlockShape& shape = *selected_shape(frame);
  LineSides sides{.queries = side_of(frame, shown_queries(frame), shape.queries, query_range(frame)),
                  .keys = side_of(frame, shown_keys(frame), shape.keys, key_range(frame))};
  sides.queries.name = rows_write_tokens(frame) ? "reads" : "query";
  sides.keys.name = "key";
  if (std::optional<std::vector<std::string>> written = written_tokens(frame)) {
    written->resize(shape.queries);
    sides.queries.labels = std::move(*written);
    sides.queries.name = "writes";
  }
  measure(frame, sides.queries);
  measure(frame, sides.keys);
  return sides;
}

}  // namespace headlight::app
