#include "app/views/head/head_header.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/cells/stage_text.h"
#include "app/quantities/shown_map.h"
#include "app/views/head/grouped_head.h"
#include "app/widgets/brush.h"
#include "app/widgets/gain_control.h"
#include "app/widgets/ink.h"
#include "app/widgets/math_text.h"
#include "app/widgets/row_names.h"
#include "app/widgets/segmented.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kGainGap = 24.0F;
constexpr float kToolGap = 12.0F;
constexpr float kShownWidth = 92.0F;
constexpr Stage kMapStages[] = {Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights};
constexpr std::size_t kWeightsLabel = 3, kNormsLabel = 4;

/// The map as one formula from Q and K, with the switches of its layer.
std::string map_formula(const Frame& frame, const model::AttentionLayer* layer) {
  const model::BlockRef block = frame.state.selection.block;
  std::string scaled = "QK^T";
  if (layer && layer->config.scale.kind == model::Scale::Kind::InverseSqrtKey) scaled = "QK^T / √d_k";
  if (layer && layer->config.scale.kind == model::Scale::Kind::Value) {
    scaled = fmt::format("{:.4g} · QK^T", layer->config.scale.value);
  }
  if (shows_norms(frame.state)) {
    const bool is_mean = frame.state.selection.mean != HeadMean::None;
    return quantity(is_mean ? kNormsOfLayer : kNorms).formula({.block = block, .layer = layer});
  }
  if (frame.state.selection.mean != HeadMean::None) return fmt::format("mean over heads of softmax( {} )", scaled);
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

/// A mean is of weights, as they are or as norms.
std::vector<std::string> stage_labels(const Frame& frame) {
  std::vector<std::string> labels;
  if (frame.state.selection.mean == HeadMean::None) {
    for (const Stage stage : kMapStages) labels.emplace_back(attention::to_string(stage));
  } else {
    labels.emplace_back(attention::to_string(Stage::Weights));
  }
  labels.emplace_back(quantity(kNorms).id);
  return labels;
}

float stages_width(const Frame& frame) { return segmented_width(frame, stage_labels(frame)); }

/// "Layer 3 · head 5", "Layer 3 · mean of 8 heads", "Mean of 48 heads": what the map is of.
std::string title(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  std::uint32_t heads = 0;
  for (const auto& [block, shape] : frame.result.shapes) {
    const bool counts = selection.mean == HeadMean::Kind ? block.kind == selection.block.kind : block == selection.block;
    if (counts) heads += shape.heads;
  }
  switch (selection.mean) {
    case HeadMean::Layer:
      return fmt::format("Layer {} · mean of {} heads", selection.block.layer.value, heads);
    case HeadMean::Kind:
      return fmt::format("{} of {} heads", selection.block.kind == model::BlockKind::Cross ? "Alignment: mean" : "Mean",
                         heads);
    case HeadMean::None:
      break;
  }
  return fmt::format("Layer {} · head {}", selection.block.layer.value, selection.head);
}

/// One head, or a mean of several: a list that opens beside the title.
void choose_mean(Frame& frame) {
  HeadMean& mean = frame.state.selection.mean;
  const bool is_cross = frame.state.selection.block.kind == model::BlockKind::Cross;
  const std::string whole =
      fmt::format("Mean of all {}heads{}", is_cross ? "cross-attention " : "", is_cross ? " (alignment)" : "");
  ImGui::SameLine(0.0F, 8.0F);
  const bool is_open = ImGui::BeginCombo("##mean", "", ImGuiComboFlags_NoPreview);
  mark_last_item(frame, "head.mean");
  if (!is_open) return;
  const auto entry = [&](const std::string& label, const char* name, HeadMean value) {
    if (ImGui::Selectable(label.c_str(), mean == value)) mean = value;
    mark_last_item(frame, fmt::format("head.mean.{}", name));
  };
  entry(fmt::format("Head {}", frame.state.selection.head), "none", HeadMean::None);
  entry(fmt::format("Mean of layer {}'s heads", frame.state.selection.block.layer.value), "layer", HeadMean::Layer);
  entry(whole, "kind", HeadMean::Kind);
  ImGui::EndCombo();
}

void choose_stage(Frame& frame) {
  const std::vector<std::string> labels = stage_labels(frame);
  const std::size_t first = kNormsLabel + 1 - labels.size();  // of all labels, the first that is there
  std::size_t chosen = kWeightsLabel;
  for (std::size_t i = 0; i < std::size(kMapStages); ++i) {
    if (kMapStages[i] == shown_stage(frame.state)) chosen = i;
  }
  if (shows_norms(frame.state)) chosen = kNormsLabel;
  chosen -= first;
  place_right(segmented_width(frame, labels));
  if (draw_segmented(frame, first == 0 ? "head.stage" : "head.mean_stage", labels, chosen)) {
    ViewChoices& view = frame.state.view;
    const std::size_t now = chosen + first;
    view.weighs_values = now == kNormsLabel;
    view.heatmap_stage = kMapStages[std::min(now, kWeightsLabel)];
  }
}

/// What the numbers of a grouped map are, added to what it is of; in few words where there is no room for all.
std::string with_grouping(const Frame& frame, const std::string& about) {
  std::string whole = about + " · " + grouping_text(frame);
  if (ImGui::CalcTextSize(whole.c_str()).x <= ImGui::GetContentRegionAvail().x) return whole;
  const ViewChoices& view = frame.state.view;
  std::string text = about;
  if (view.groups_words) text += " · words";
  if (view.special_tokens != SpecialTokens::Shown) text += " · no special tokens";
  return view.special_tokens == SpecialTokens::Renormalized ? text + ", renormalised" : text;
}

/// Kind and size of the map and its formula, on one line where there is room. While the brush is on, its hint takes their
/// place, so that the map stays where it is.
void draw_subtitle(Frame& frame, const std::string& about, const std::string& formula, float tools_width) {
  constexpr float kGap = 12.0F;
  const shell::FontSet& fonts = frame.ui.fonts();
  const bool paints = is_painting(frame);
  const float room = ImGui::GetContentRegionAvail().x;
  const float formula_width = measure_math(fonts, fonts.body, formula).x;
  const bool is_one_line = ImGui::CalcTextSize(about.c_str()).x + kGap + formula_width <= room;
  if (paints) {
    draw_brush_hint(frame, is_one_line ? room - tools_width - 3.0F * kGap : room);
  } else {
    const Ink ink(fonts.body, frame.ui.theme().text_dim);
    ImGui::TextUnformatted(about.c_str());
  }
  if (is_one_line) ImGui::SameLine(0.0F, kGap);
  const bool has_formula = !paints || !is_one_line;
  if (has_formula) {
    draw_math(ImGui::GetWindowDrawList(), fonts, fonts.body, to_glm(ImGui::GetCursorScreenPos()), frame.ui.theme().output,
              formula);
  }
  ImGui::Dummy(ImVec2(has_formula ? formula_width : 1.0F, ImGui::GetFrameHeight()));
}

std::vector<std::string> row_labels() { return {"word written", "word read"}; }
std::vector<std::string> range_labels() { return {"absolute", "per row"}; }

/// What is beside the map's formula: what names the rows, where each writes a token; the brush; and what the top of the
/// colour bar means.
struct Tools {
  bool rows = false, brush = false, range = false, shown = false;

  float width(const Frame& frame) const {
    float sum = 0.0F;
    const auto add = [&](float width) { sum += width + (sum > 0.0F ? kToolGap : 0.0F); };
    if (rows) add(segmented_width(frame, row_labels()));
    if (brush) add(brush_toggle_width(frame));
    if (range) add(segmented_width(frame, range_labels()));
    if (shown) add(kShownWidth);
    return sum;
  }
};

/// A mean has no mask of its own, and scores always have the whole map's range.
Tools tools_of(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  // Words are of the run itself.
  const bool is_difference = frame.shows_difference() && !is_grouped(frame);
  return {.rows = rows_write_tokens(frame, selection.block.kind) && !is_grouped(frame),
          .brush = selection.mean == HeadMean::None && !is_grouped(frame),
          .range = shown_stage(frame.state) == Stage::Weights && !shows_norms(frame.state) && !is_difference,
          .shown = can_group(frame)};
}

void choose_row_names(Frame& frame) {
  auto chosen = static_cast<std::size_t>(frame.state.view.row_names);
  if (draw_segmented(frame, "head.rows", row_labels(), chosen)) frame.state.view.row_names = static_cast<RowNames>(chosen);
}

void choose_range(Frame& frame) {
  auto chosen = static_cast<std::size_t>(frame.state.view.color_range);
  if (draw_segmented(frame, "head.range", range_labels(), chosen))
    frame.state.view.color_range = static_cast<ColorRange>(chosen);
}

/// Words or tokens, special tokens, and bars: a list that opens.
void choose_shown(Frame& frame) {
  ViewChoices& view = frame.state.view;
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text);
  ImGui::SetNextItemWidth(kShownWidth);
  const bool is_open = ImGui::BeginCombo("##shown", view.groups_words ? "words" : "tokens");
  mark_last_item(frame, "head.shown");
  if (!is_open) return;
  const auto toggle = [&](const char* label, const char* name, bool& value) {
    if (ImGui::Selectable(label, value)) value = !value;
    mark_last_item(frame, name);
  };
  toggle("Words instead of tokens", "head.shown.words", view.groups_words);
  toggle("Bars of attention given and received", "head.shown.bars", view.shows_marginals);
  ImGui::Separator();
  const auto choose = [&](const char* label, const char* name, SpecialTokens value) {
    if (ImGui::Selectable(label, view.special_tokens == value)) view.special_tokens = value;
    mark_last_item(frame, name);
  };
  choose("All tokens", "head.shown.shown", SpecialTokens::Shown);
  choose("Without special tokens", "head.shown.hidden", SpecialTokens::Hidden);
  choose("Without special tokens, renormalised", "head.shown.renormalized", SpecialTokens::Renormalized);
  ImGui::EndCombo();
}

void draw_tools(Frame& frame, const Tools& tools) {
  if (!tools.rows && !tools.brush && !tools.range && !tools.shown) return;
  place_right(tools.width(frame));
  bool is_first = true;
  const auto next = [&] {
    if (!is_first) ImGui::SameLine(0.0F, kToolGap);
    is_first = false;
  };
  if (tools.rows) {
    next();
    choose_row_names(frame);
  }
  if (tools.brush) {
    next();
    draw_brush_toggle(frame);
  }
  if (tools.range) {
    next();
    choose_range(frame);
  }
  if (tools.shown) {
    next();
    choose_shown(frame);
  }
}

}  // namespace

void draw_head_header(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const shell::FontSet& fonts = frame.ui.fonts();
  const shell::Theme& theme = frame.ui.theme();
  {
    const Ink ink(fonts.title, theme.text);
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(title(frame).c_str());
  }
  mark_last_item(frame, "head.title");
  choose_mean(frame);
  const inference::BlockShape& shape = frame.result.shapes.at(selection.block);
  const model::AttentionLayer* layer = frame.result.network ? &frame.result.network->layer(selection.block) : nullptr;
  // Without an output projection there is nothing that a head could be kept out of.
  const bool has_gain = layer && layer->weights && layer->weights->output && selection.mean == HeadMean::None;
  const float title_end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  const bool has_room_for_gain =
      title_end + kGainGap + gain_control_width(frame) + stages_width(frame) + kGainGap <= ImGui::GetContentRegionMax().x;
  if (has_gain && has_room_for_gain) {
    ImGui::SameLine(0.0F, kGainGap);
    draw_gain_control(frame);
  }
  choose_stage(frame);

  std::string formula = map_formula(frame, layer);
  if (frame.shows_difference() && !is_grouped(frame)) formula += fmt::format(", {}", kDifferenceCaption);
  std::string about = fmt::format("{} · {} × {}", kind_name(frame, selection.block.kind), shape.queries, shape.keys);
  if (shape.batch > 1) about += fmt::format(" · line {} of {}", selection.batch + 1, shape.batch);
  if (is_grouped(frame)) about = with_grouping(frame, about);
  const Tools tools = tools_of(frame);
  draw_subtitle(frame, about, formula, tools.width(frame));
  draw_tools(frame, tools);
  if (has_gain && !has_room_for_gain) draw_gain_control(frame);
}

}  // namespace headlight::app
