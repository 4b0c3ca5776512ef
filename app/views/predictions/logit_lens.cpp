#include "app/views/predictions/logit_lens.h"

#include "app/cells/provenance.h"
#include "app/exports/shown_predictions.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/text.h"

namespace headlight::app {
namespace {

constexpr float kRowHeight = 26.0F;
constexpr float kLabelRoom = 66.0F;
constexpr float kGap = 2.0F;
constexpr std::size_t kCells = kFigureReadings;

shell::Color color_of(std::span<const std::uint32_t> colors, double probability) {
  const auto index = static_cast<std::size_t>(std::clamp(probability, 0.0, 1.0) * static_cast<double>(colors.size() - 1));
  return colors[index] | 0xFF000000U;
}

/// `reading`: of which position, after how many layers.
void draw_cell(Frame& frame, const inference::Candidate& candidate, const PredictionQuery& reading, const view::Rect& box) {
  const shell::Color ground = color_of(weight_colors(frame.state), candidate.probability);
  fill_rect(box, ground, 3.0F);
  ImFont* font = frame.ui.fonts().small;
  const std::string label = candidate_label(frame.result, candidate.id);
  frame.ui.ensure_glyphs(label);
  const std::string percent = fmt::format("{:.0f} %", candidate.probability * 100.0);
  const float percent_width = text_width(font, percent);
  constexpr float kEdge = 7.0F;
  const bool has_room = box.size.x > percent_width + 46.0F;
  const std::string text = fit_text(font, label, box.size.x - 2.0F * kEdge - (has_room ? percent_width + 6.0F : 0.0F));
  const float y = box.origin.y + std::round((box.size.y - font_size(font)) * 0.5F);
  const shell::Color ink = readable_on(ground);
  put_text(font, {box.origin.x + kEdge, y}, ink, text);
  if (has_room) {
    put_text(font, {box.end().x - kEdge - percent_width, y}, ink, percent);
  }
  if (ImGui::IsMouseHoveringRect(box.origin, box.end()) && ImGui::IsWindowHovered()) {
    outline_rect(box, frame.ui.theme().crosshair, 3.0F, 1.5F);
    draw_candidate_tooltip(frame, candidate, box, nullptr);
    frame.transient.pointed_number =
        NumberRef{.of = std::string(kLensProbability),
                  .block = frame.state.selection.block,
                  .batch = reading.batch,
                  .row = reading.token,
                  .column = candidate.id,
                  .value = candidate.probability,
                  .notes = {{"token", fmt::format("\u201C{}\u201D", label)},
                            {"read after", reading.layer == 0 ? "no layer: the token's vector"
                                                              : fmt::format("layer {}", reading.layer - 1)}}};
  }
}

}  // namespace

void draw_logit_lens(Frame& frame, const PredictionPosition& position) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const std::uint32_t layers = predicting_layers(*frame.result.network);
  ImGui::BeginChild("lens");
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float cell = (width - kLabelRoom - kGap * static_cast<float>(kCells - 1)) / static_cast<float>(kCells);
  const float first_y = ImGui::GetScrollY() - kRowHeight;
  const float last_y = ImGui::GetScrollY() + ImGui::GetWindowHeight();
  for (std::uint32_t row = 0; row <= layers; ++row) {
    const float top = static_cast<float>(row) * kRowHeight;
    if (top < first_y || top > last_y) continue;
    const std::uint32_t layer = layers - row;
    const float y = origin.y + top;
    put_text(font, {origin.x, y + std::round((kRowHeight - kGap - font_size(font)) * 0.5F)}, theme.text_dim,
             layer_label(layer, layers));
    frame.mark(fmt::format("lens.{}", layer), {.origin = {origin.x, y}, .size = {width, kRowHeight - kGap}});
    // The bars beside it need the logits of the output.
    const PredictionQuery reading{
        .batch = position.batch, .token = position.token, .layer = layer, .keeps_logits = layer == layers};
    const Prediction* prediction = frame.ask(reading);
    for (std::size_t i = 0; i < kCells; ++i) {
      const view::Rect box{.origin = {origin.x + kLabelRoom + static_cast<float>(i) * (cell + kGap), y},
                           .size = {cell, kRowHeight - kGap}};
      if (prediction && i < prediction->candidates.size()) {
        draw_cell(frame, prediction->candidates[i], reading, box);
      } else {
        fill_rect(box, theme.missing, 3.0F);
      }
    }
  }
  ImGui::Dummy({1.0F, static_cast<float>(layers + 1) * kRowHeight});
  ImGui::EndChild();
}

}  // namespace headlight::app
