#include "app/views/block/block_parts.h"

#include "app/engine/analyses/residual_sizes.h"
#include "app/engine/token_words.h"
#include "app/state/block_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kTitle = 17.0F, kTickRoom = 13.0F;

/// Returns the point of a layer in the chart.
glm::vec2 point_of(const chart::Rect& plot, std::size_t layer, std::size_t layers, float value, float most) {
  const float across = layers > 1 ? static_cast<float>(layer) / static_cast<float>(layers - 1) : 0.5F;
  return plot.origin + plot.size * glm::vec2(across, 1.0F - value / most);
}

void draw_curve(const chart::Rect& plot, std::span<const float> values, float most, shell::Color color) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const glm::vec2 at = point_of(plot, i, values.size(), values[i], most);
    ImGui::GetWindowDrawList()->AddCircleFilled(at, 2.0F, color);
    if (i > 0) {
      draw_line(point_of(plot, i - 1, values.size(), values[i - 1], most), at, color, 1.5F);
    }
  }
}

void show_tooltip(Frame& frame, const ResidualCurve& curve, std::size_t layer, std::uint32_t token) {
  const std::string where = layer == 0 ? std::string("token vectors") : fmt::format("after layer {}", layer - 1);
  draw_tooltip(frame, last_item_rect(),
               fmt::format("{}\nmean over tokens: {}\ntoken {}: {}", where, write_number(double{curve.mean[layer]}), token,
                           write_number(double{curve.token[layer]})));
}

}  // namespace

ResidualCurve residual_curve(std::span<const float> lengths, std::uint32_t tokens, std::uint32_t first, std::uint32_t end,
                             std::uint32_t token) {
  ResidualCurve curve;
  if (tokens == 0 || first >= end || end > tokens) return curve;
  for (std::size_t begin = 0; begin + tokens <= lengths.size(); begin += tokens) {
    double sum = 0.0;
    for (std::uint32_t i = first; i < end; ++i) sum += double{lengths[begin + i]};
    curve.mean.push_back(static_cast<float>(sum / (end - first)));
    curve.token.push_back(lengths[begin + std::min(token, tokens - 1)]);
  }
  return curve;
}

float draw_largest_link(Frame& frame, const std::string& words, glm::vec2 corner) {
  ImFont* font = frame.ui.fonts().small;
  const float width = text_width(font, words);
  ImGui::SetCursorScreenPos({corner.x - width, corner.y});
  if (click_area("largest", {width, kTitle})) frame.state.set(kBlockView.activations, true);
  mark_last_item(frame, "block.largest", "The largest number of each token\u2019s vector, by layer: massive activations.");
  put_text(font, {corner.x - width, corner.y}, frame.ui.theme().accent, words);
  return width;
}

void draw_residual_chart(Frame& frame, const chart::Rect& area, std::uint32_t token) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* small = frame.ui.fonts().small;
  const Selection& selection = frame.state.selection;
  const bool is_encoder = selection.block.kind == model::BlockKind::EncoderSelf;
  const ResidualSizesQuestion query{.kind = is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf,
                                    .batch = selection.batch};
  const Analysed* known = frame.ask(query);
  if (known && !known->error.empty()) {
    float y = area.origin.y;
    for (const std::string& line : break_lines(small, known->error, area.size.x)) {
      put_text(small, {area.origin.x, y}, theme.text_dim, line);
      y += font_size(small) + 1.0F;
    }
    return;
  }
  // The curves' names have their colours: at their ends they would lie on each other.
  const float link = draw_largest_link(frame, "largest \u2192", {area.end().x, area.origin.y}) + 8.0F;
  float x = area.origin.x;
  const auto write = [&](const std::string& words, shell::Color color) {
    const std::string shown = fit_text(small, words, area.end().x - link - x);
    put_text(small, {x, area.origin.y}, color, shown);
    x += text_width(small, shown) + 7.0F;
  };
  write("size of x:", theme.text_dim);
  write("mean", theme.text);
  const std::vector<std::string> names = telling_names(shown_queries(frame), selection.batch);
  write(token < names.size() ? names[token] : fmt::format("{}", token), theme.query);
  const chart::Rect plot{.origin = area.origin + glm::vec2(4.0F, kTitle + 4.0F),
                         .size = area.size - glm::vec2(8.0F, kTitle + kTickRoom + 8.0F)};
  fill_rect(plot.origin - 4.0F, plot.end() + 4.0F, theme.panel, 3.0F);
  frame.mark("block.sizes", plot);
  const ResidualSizes* sizes = known ? known->as<ResidualSizes>() : nullptr;
  if (!sizes) return;
  const attention::KeyRange real = query_range(frame);
  const ResidualCurve curve = residual_curve(sizes->lengths, sizes->tokens, std::min(real.begin, sizes->tokens),
                                             std::min(real.end, sizes->tokens), token);
  if (curve.mean.empty()) return;
  float most = 1e-9F;
  for (const float value : curve.mean) most = std::max(most, value);
  for (const float value : curve.token) most = std::max(most, value);
  const std::size_t count = curve.mean.size();
  const std::uint32_t layer = selection.block.layer.value;
  if (layer + 1 < count) {
    const float left = point_of(plot, layer, count, 0.0F, most).x;
    const float right = point_of(plot, layer + 1, count, 0.0F, most).x;
    fill_rect({left, plot.origin.y - 4.0F}, {right, plot.end().y + 4.0F}, theme.active);
  }
  const std::size_t each = (count - 1) / 8 + 1;  // numbers at so many layers' distance
  for (std::size_t i = 0; i < count; i += each) {
    const std::string number = fmt::format("{}", i);
    const float left = point_of(plot, i, count, 0.0F, most).x - 0.5F * text_width(small, number);
    put_text(small, {std::round(left), plot.end().y + 4.0F}, theme.text_dim, number);
    if (i == 0 && point_of(plot, each, count, 0.0F, most).x - left > text_width(small, "layer") + 24.0F)
      put_text(small, {std::round(left) + 14.0F, plot.end().y + 4.0F}, theme.text_dim, "layer");
  }
  // In the lower corner where a curve runs through the upper one.
  const std::string bound = fmt::format("\u2264 {}", write_number(double{most}));
  float highest = 0.0F;
  for (std::size_t i = 0; i < count; ++i) {
    highest = std::max({highest, curve.mean[i], curve.token[i]});
    if (point_of(plot, i, count, 0.0F, most).x > plot.origin.x + text_width(small, bound)) break;
  }
  const float down = plot.size.y - font_size(small) + 2.0F;
  put_text(small, plot.origin + glm::vec2(-2.0F, highest > 0.6F * most ? down : -2.0F), theme.text_dim, bound);
  draw_curve(plot, curve.token, most, theme.query);
  draw_curve(plot, curve.mean, most, theme.text);
  ImGui::SetCursorScreenPos(plot.origin - 4.0F);
  const bool is_clicked = click_area("residual", plot.size + 8.0F);
  mark_pointer_item(frame, "block.residual chart", "The lengths of the residual stream's vectors. A click selects a layer.");
  if (!ImGui::IsItemHovered()) return;
  const float across = (ImGui::GetIO().MousePos.x - plot.origin.x) / std::max(plot.size.x, 1.0F);
  const auto nearest = static_cast<std::size_t>(
      std::clamp(std::round(across * static_cast<float>(count - 1)), 0.0F, static_cast<float>(count - 1)));
  show_tooltip(frame, curve, nearest, token);
  if (is_clicked && nearest > 0) {
    model::BlockRef block = selection.block;
    block.layer.value = static_cast<std::uint32_t>(nearest - 1);
    if (frame.result.shapes.contains(block)) select_head(frame.state.selection, {block, frame.state.selection.head});
  }
}

}  // namespace headlight::app
