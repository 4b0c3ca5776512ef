#include "panels/head_header.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "panels/ink.h"
#include "panels/math_text.h"
#include "panels/segmented.h"
#include "panels/stage_text.h"

namespace headlight::app {
namespace {

using attention::Stage;

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

void choose_stage(Frame& frame) {
  std::vector<std::string> labels;
  std::size_t chosen = std::size(kMapStages) - 1;
  for (std::size_t i = 0; i < std::size(kMapStages); ++i) {
    labels.emplace_back(attention::to_string(kMapStages[i]));
    if (kMapStages[i] == frame.state.view.heatmap_stage) chosen = i;
  }
  const float width = segmented_width(frame, labels);
  ImGui::SameLine(std::max(ImGui::GetContentRegionMax().x - width, 0.0F));
  if (draw_segmented(frame, "head.stage", labels, chosen)) frame.state.view.heatmap_stage = kMapStages[chosen];
}

/// What the top of the colour bar means; scores always have the whole map's range.
void choose_range(Frame& frame) {
  if (frame.state.view.heatmap_stage != Stage::Weights) return;
  const std::vector<std::string> labels = {"absolute", "per row"};
  ImGui::SameLine(std::max(ImGui::GetContentRegionMax().x - segmented_width(frame, labels), 0.0F));
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
  choose_stage(frame);

  const inference::BlockShape& shape = frame.result.shapes.at(selection.block);
  const model::AttentionLayer* layer = frame.result.network ? &frame.result.network->layer(selection.block) : nullptr;
  const std::string formula = map_formula(frame, layer);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::string about = fmt::format("{} · {} × {}", kind_text(selection.block.kind), shape.queries, shape.keys);
  if (shape.batch > 1) about += fmt::format(" · line {} of {}", selection.batch + 1, shape.batch);
  about += "   ";
  list->AddText(fonts.body, font_size(fonts.body), at, theme.text_dim, about.c_str());
  const float width = ImGui::CalcTextSize(about.c_str()).x;
  draw_math(list, fonts, fonts.body, ImVec2(at.x + width, at.y), theme.output, formula);
  ImGui::Dummy(ImVec2(width + measure_math(fonts, fonts.body, formula).x, ImGui::GetFrameHeight()));
  choose_range(frame);
}

}  // namespace headlight::app
