#include "panels/head_header.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "panels/brush.h"
#include "panels/gain_control.h"
#include "panels/ink.h"
#include "panels/math_text.h"
#include "panels/segmented.h"
#include "panels/stage_text.h"
#include "panels/thumbnail.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kGainGap = 24.0F;
constexpr float kBrushGap = 12.0F;
constexpr Stage kMapStages[] = {Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights};

/// The map as one formula from Q and K, with the switches of its layer.
std::string map_formula(const Frame& frame, const model::AttentionLayer* layer) {
  const model::BlockRef block = frame.state.selection.block;
  std::string scaled = "QK^T";
  if (layer && layer->config.scale.kind == model::Scale::Kind::InverseSqrtKey) scaled = "QK^T / √d_k";
  if (layer && layer->config.scale.kind == model::Scale::Kind::Value) {
    scaled = fmt::format("{:.4g} · QK^T", layer->config.scale.value);
  }
  switch (frame.state.view.heatmap_stage) {
    case Stage::Scores:
      return "QK^T";
    case Stage::Scaled:
      return scaled;
    case Stage::Masked:
      return fmt::format("{}, masked cells {}", scaled, fill_text(frame.state.masks[block.kind].fill));
    default:
      return fmt::format("softmax( {} )", scaled);
  }
}

/// At the right end of the line that is being laid out; on a line of its own where that is too narrow.
void place_right(float width) {
  constexpr float kGap = 16.0F;
  const float at = ImGui::GetContentRegionMax().x - width;
  if (ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + kGap <= at) ImGui::SameLine(at);
}

std::vector<std::string> stage_labels() {
  std::vector<std::string> labels;
  for (const Stage stage : kMapStages) labels.emplace_back(attention::to_string(stage));
  return labels;
}

float stages_width(const Frame& frame) { return segmented_width(frame, stage_labels()); }

void choose_stage(Frame& frame) {
  const std::vector<std::string> labels = stage_labels();
  std::size_t chosen = std::size(kMapStages) - 1;
  for (std::size_t i = 0; i < std::size(kMapStages); ++i) {
    if (kMapStages[i] == frame.state.view.heatmap_stage) chosen = i;
  }
  place_right(segmented_width(frame, labels));
  if (draw_segmented(frame, "head.stage", labels, chosen)) frame.state.view.heatmap_stage = kMapStages[chosen];
}

/// Kind and size of the map and its formula, on one line where there is room. While the brush is on, its hint takes their
/// place, so that the map stays where it is.
void draw_subtitle(Frame& frame, const std::string& about, const std::string& formula, float tools_width) {
  constexpr float kGap = 12.0F;
  const shell::FontSet& fonts = frame.ui.fonts();
  const bool paints = frame.transient.paints;
  const float room = ImGui::GetContentRegionAvail().x;
  const float formula_width = measure_math(fonts, fonts.body, formula).x;
  const bool is_one_line = ImGui::CalcTextSize(about.c_str()).x + kGap + formula_width <= room;
  if (paints) {
    draw_brush_hint(frame, is_one_line ? room - tools_width - 2.0F * kGap : room);
  } else {
    const Ink ink(fonts.body, frame.ui.theme().text_dim);
    ImGui::TextUnformatted(about.c_str());
  }
  if (is_one_line) ImGui::SameLine(0.0F, kGap);
  const bool has_formula = !paints || !is_one_line;
  if (has_formula) {
    draw_math(ImGui::GetWindowDrawList(), fonts, fonts.body, ImGui::GetCursorScreenPos(), frame.ui.theme().output, formula);
  }
  ImGui::Dummy(ImVec2(has_formula ? formula_width : 1.0F, ImGui::GetFrameHeight()));
}

std::vector<std::string> range_labels() { return {"absolute", "per row"}; }

/// Scores always have the whole map's range.
bool has_range(const Frame& frame) { return frame.state.view.heatmap_stage == Stage::Weights; }

float tools_width(const Frame& frame) {
  return brush_toggle_width(frame) + (has_range(frame) ? kBrushGap + segmented_width(frame, range_labels()) : 0.0F);
}

/// The brush, and what the top of the colour bar means.
void choose_brush_and_range(Frame& frame) {
  const std::vector<std::string> labels = range_labels();
  place_right(tools_width(frame));
  draw_brush_toggle(frame);
  if (!has_range(frame)) return;
  ImGui::SameLine(0.0F, kBrushGap);
  auto chosen = static_cast<std::size_t>(frame.state.view.color_range);
  if (draw_segmented(frame, "head.range", labels, chosen)) frame.state.view.color_range = static_cast<ColorRange>(chosen);
}

}  // namespace

void draw_head_header(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const shell::FontSet& fonts = frame.ui.fonts();
  const shell::Theme& theme = frame.ui.theme();
  {
    const Ink ink(fonts.title, theme.text);
    ImGui::AlignTextToFramePadding();
    ImGui::Text("Layer %u · head %u", selection.block.layer.value, selection.head);
  }
  const inference::BlockShape& shape = frame.result.shapes.at(selection.block);
  const model::AttentionLayer* layer = frame.result.network ? &frame.result.network->layer(selection.block) : nullptr;
  // Without an output projection there is nothing that a head could be kept out of.
  const bool has_gain = layer && layer->weights && layer->weights->output;
  const float title_end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  const bool has_room_for_gain =
      title_end + kGainGap + gain_control_width(frame) + stages_width(frame) + kGainGap <= ImGui::GetContentRegionMax().x;
  if (has_gain && has_room_for_gain) {
    ImGui::SameLine(0.0F, kGainGap);
    draw_gain_control(frame);
  }
  choose_stage(frame);

  const std::string formula = map_formula(frame, layer);
  std::string about = fmt::format("{} · {} × {}", kind_name(frame, selection.block.kind), shape.queries, shape.keys);
  if (shape.batch > 1) about += fmt::format(" · line {} of {}", selection.batch + 1, shape.batch);
  draw_subtitle(frame, about, formula, tools_width(frame));
  choose_brush_and_range(frame);
  if (has_gain && !has_room_for_gain) draw_gain_control(frame);
}

}  // namespace headlight::app
