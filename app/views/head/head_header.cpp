#include "app/state/map_settings.h"
#include "app/views/head/head_parts.h"

#include "app/shapes/quantities/formulas.h"
#include "app/state/comparison.h"
#include "app/state/state_names.h"
#include "app/widgets/brush.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kGainGap = 24.0F, kNarrowGainGap = 12.0F;
constexpr float kNarrowPadding = 5.0F;  // of the stages' buttons
constexpr float kToolGap = 12.0F;
constexpr float kTextGap = 12.0F;   // between what the map is of and its formula
constexpr float kRightGap = 16.0F;  // at least, before what is at the right end of a line
constexpr float kShownWidth = 84.0F;
constexpr float kLeastWords = 80.0F;  // of the line below the title
constexpr std::size_t kWeightsLabel = kMapStages.size() - 1, kNormsLabel = kMapStages.size();

/// Returns the map as one formula from Q and K, with the switches of its layer.
std::string map_formula(const Frame& frame, const model::AttentionLayer* layer) {
  const Selection& selection = frame.state.selection;
  const bool is_mean = selection.mean != HeadMean::None;
  FormulaSubject subject{
      .block = selection.block, .layer = layer, .head = selection.head, .mask = &frame.state.masks[selection.block.kind]};
  if (frame.result.capture) subject.score = frame.result.capture->score(selection.block);
  if (shows_norms(frame.state)) return quantity(is_mean ? kNormsOfLayer : kNorms).formula(subject);
  if (selected_shape(frame)->only_weights) return is_mean ? "mean over heads of A" : "A, as captured";
  if (is_mean) return "mean over heads of " + formulas::map(Stage::Weights, subject);
  subject.pattern = fixed_pattern(frame.state, selection.block, selection.head);
  const Stage stage = frame.state.view.heatmap_stage;
  if (stage != Stage::Masked) return formulas::map(stage, subject);
  return fmt::format("{}, masked cells {}", formulas::map(Stage::Scaled, subject), fill_text(subject.mask->fill));
}

/// Returns the places in kMapStages that the map can show, and kNormsLabel. A mean is of weights, as they are or as norms.
std::vector<std::size_t> stage_choices(const Frame& frame) {
  const inference::BlockShape& shape = *selected_shape(frame);
  std::vector<std::size_t> choices;
  for (std::size_t i = 0; i < std::size(kMapStages); ++i) {
    const bool is_of_mean = i == kWeightsLabel || frame.state.selection.mean == HeadMean::None;
    if (is_of_mean && shape.extent(kMapStages[i].first)) choices.push_back(i);
  }
  if (shape.has_values) choices.push_back(kNormsLabel);
  return choices;
}

std::vector<std::string> stage_labels(const Frame& frame) {
  std::vector<std::string> labels;
  for (const std::size_t i : stage_choices(frame)) {
    labels.emplace_back(i == kNormsLabel ? std::string_view("adds") : kMapStages[i].second);
  }
  return labels;
}

/// Returns "Layer 3 · head 5", "Layer 3 · mean of 8 heads", "Mean of 48 heads": what the map is of.
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

/// Draws the choice of one head, or of a mean of several: a list that opens beside the title.
void choose_mean(Frame& frame) {
  HeadMean& mean = frame.state.selection.mean;
  const bool is_cross = frame.state.selection.block.kind == model::BlockKind::Cross;
  const std::string whole =
      fmt::format("Mean of all {}heads{}", is_cross ? "cross-attention " : "", is_cross ? " (alignment)" : "");
  ImGui::SameLine(0.0F, 8.0F);
  OpenList list(frame, "head.mean", "", nullptr, ImGuiComboFlags_NoPreview);
  if (!list) return;
  const auto entry = [&](const std::string& label, const char* name, HeadMean value) {
    if (list.entry(label.c_str(), name, mean == value)) mean = value;
  };
  entry(fmt::format("Head {}", frame.state.selection.head), "none", HeadMean::None);
  entry(fmt::format("Mean of layer {}'s heads", frame.state.selection.block.layer.value), "layer", HeadMean::Layer);
  entry(whole, "kind", HeadMean::Kind);
}

void choose_stage(Frame& frame, float padding) {
  const std::vector<std::string> labels = stage_labels(frame);
  const std::vector<std::size_t> choices = stage_choices(frame);
  if (choices.size() < 2) return;
  std::size_t shown = kWeightsLabel;
  for (std::size_t i = 0; i < std::size(kMapStages); ++i) {
    if (kMapStages[i].first == shown_stage(frame.state)) shown = i;
  }
  if (shows_norms(frame.state)) shown = kNormsLabel;
  auto chosen = static_cast<std::size_t>(std::ranges::find(choices, shown) - choices.begin());
  continue_line_at_right(segmented_width(frame, labels, padding), kNarrowGainGap);
  if (draw_segmented(frame, choices.front() == 0 ? "head.stage" : "head.mean_stage", labels, chosen, padding)) {
    ViewChoices& view = frame.state.view;
    const std::size_t now = choices[chosen];
    view.weighs_values = now == kNormsLabel;
    view.heatmap_stage = kMapStages[std::min(now, kWeightsLabel)].first;
  }
}

/// Returns the description of the map, in parts.
HeadAbout about_map(const Frame& frame, const inference::BlockShape& shape) {
  const Selection& selection = frame.state.selection;
  const chart::Region cells = shown_cells(frame, selection.block);
  HeadAbout about{.kind = kind_name(frame.result, selection.block.kind),
                  .sizes = fmt::format("{} × {}", cells.rows, cells.columns)};
  if (shape.batch > 1) about.line = fmt::format("line {} of {}", selection.batch + 1, shape.batch);
  if (!is_grouped(frame)) return about;
  about.grouping = grouping_text(frame);
  if (frame.state[kMapView.groups_words]) about.brief_grouping = "words";
  if (frame.state[kMapView.special_tokens] == SpecialTokens::Shown) return about;
  if (frame.state[kMapView.groups_words]) about.brief_grouping += " · ";
  about.brief_grouping += "no special tokens";
  if (frame.state[kMapView.special_tokens] == SpecialTokens::Renormalized) about.brief_grouping += ", renormalised";
  return about;
}

/// Draws the choices of words or tokens, special tokens, and bars: a list that opens. `lists_rows`: it has the rows' names
/// too.
void choose_shown(Frame& frame, bool lists_rows) {
  const TextStyleScope ink(frame, frame.ui.theme().text);
  ImGui::SetNextItemWidth(kShownWidth);
  OpenList list(frame, "head.shown", frame.state[kMapView.groups_words] ? "words" : "tokens");
  if (!list) return;
  if (lists_rows) list.entries(kMapView.row_names, "Rows: ");
  if (lists_rows && can_group(frame)) ImGui::Separator();
  if (!can_group(frame)) return;
  list.entries(kMapView.groups_words);
  list.entries(kMapView.shows_marginals);
  ImGui::Separator();
  list.entries(kMapView.special_tokens);
}

/// The tools beside the map's formula: the rows' names, where each row writes a token; the brush; the list of what is shown;
/// the head's gain, where there is no room for it beside the title; and the speed of new rows, once the model has written.
struct Tools {
  bool rows = false, brush = false, shown = false, gain = false, speed = false;
  bool lists_rows = false;  ///< the choice of the rows' names is in the list of what is shown

  bool has_any() const { return rows || brush || shown || gain || speed; }
  float width(const Frame& frame) const;
};

/// The tools from left to right.
struct Tool {
  bool Tools::*is_there;
  float (*width)(const Frame& frame);
  void (*draw)(Frame& frame, const Tools& tools);
};
constexpr std::array kTools = {
    Tool{&Tools::rows, [](const Frame& frame) { return segmented_width(frame, option_labels(kMapView.row_names)); },
         [](Frame& frame, const Tools&) { choose(frame, kMapView.row_names); }},
    Tool{&Tools::brush, [](const Frame& frame) { return brush_toggle_width(frame); },
         [](Frame& frame, const Tools&) { draw_brush_toggle(frame); }},
    Tool{&Tools::shown, [](const Frame&) { return kShownWidth; },
         [](Frame& frame, const Tools& tools) { choose_shown(frame, tools.lists_rows); }},
    Tool{&Tools::gain, [](const Frame& frame) { return gain_control_width(frame); },
         [](Frame& frame, const Tools&) { draw_gain_control(frame); }},
    Tool{&Tools::speed, [](const Frame&) { return kMotionSpeedWidth; },
         [](Frame& frame, const Tools&) {
           const TextStyleScope ink(frame, frame.ui.theme().text);
           choose_motion_speed(frame, "head.speed", kNewRowSpeed, true);
         }}};

float Tools::width(const Frame& frame) const {
  float sum = -kToolGap;
  for (const Tool& tool : kTools) sum += this->*tool.is_there ? kToolGap + tool.width(frame) : 0.0F;
  return std::max(sum, 0.0F);
}

void draw_tools(Frame& frame, const Tools& tools) {
  if (!tools.has_any()) return;
  continue_line_at_right(tools.width(frame), kNarrowGainGap);
  bool is_first = true;
  for (const Tool& tool : kTools) {
    if (!(tools.*tool.is_there)) continue;
    if (!std::exchange(is_first, false)) ImGui::SameLine(0.0F, kToolGap);
    tool.draw(frame, tools);
  }
}

/// Returns the tools of the selected map; a mean has no mask of its own.
Tools tools_of(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  return {.rows = rows_write_tokens(frame) && !is_grouped(frame),
          .brush = selection.mean == HeadMean::None && !is_grouped(frame) && !frame.result.capture,
          .shown = can_group(frame),
          .speed = frame.generation && frame.generation->count() > 0 && !is_grouped(frame)};
}

/// The header's second line: as much of it as there is room for.
struct Subtitle {
  std::string about, whole;  ///< as there is room for it, and whole
  std::string formula;
  bool has_formula = true;
  Tools tools;
};

/// Returns the width of the line's words: tools that would leave them too little are on a line of their own.
float width_beside(const Frame& frame, const Tools& tools) {
  const float whole = width_left(), beside = whole - (tools.has_any() ? tools.width(frame) + kRightGap : 0.0F);
  return beside < kLeastWords ? whole : beside;
}

/// Fits the line where there is too little room for all: the choice of the rows' names goes into a list, then the sizes are
/// left out, then the formula goes into a tooltip, then more of the text is cut (fit_about()).
Subtitle fit_subtitle(const Frame& frame, const HeadAbout& about, std::string formula, const Tools& tools) {
  const shell::FontSet& fonts = frame.ui.fonts();
  Subtitle line{.about = about.text(), .whole = about.text(), .formula = std::move(formula), .tools = tools};
  const float formula_width = kTextGap + measure_math(fonts, fonts.body, line.formula).x;
  const auto width_of = [&](std::string_view text) { return text_width(fonts.body, std::string(text)); };
  const auto room = [&] { return width_beside(frame, line.tools); };
  if (width_of(line.whole) + formula_width <= room()) return line;
  if (line.tools.rows) {
    line.tools.rows = false;
    line.tools.shown = line.tools.lists_rows = true;
    if (width_of(line.whole) + formula_width <= room()) return line;
  }
  HeadAbout without_sizes = about;
  without_sizes.sizes.clear();
  line.about = without_sizes.text() + " …";
  if (width_of(line.about) + formula_width <= room()) return line;
  line.has_formula = false;
  line.about = fit_about(about, room(), width_of);
  return line;
}

/// Draws kind and size of the map and its formula. While the brush is on, its hint takes their place, so that the map stays
/// where it is.
void draw_subtitle(Frame& frame, const Subtitle& line) {
  const shell::FontSet& fonts = frame.ui.fonts();
  const float room = width_beside(frame, line.tools);
  if (is_painting(frame)) {
    draw_brush_hint(frame, room);
  } else {
    write_text(fonts.body, frame.ui.theme().text_dim, line.about);
    frame.mark("head.about", last_item_rect());
    const bool is_whole = line.has_formula && line.about == line.whole;
    if (!is_whole) explain_last_item(frame, fmt::format("{}: {}", line.whole, line.formula).c_str());
  }
  const bool has_formula = line.has_formula && !is_painting(frame);
  float width = 1.0F;
  ImGui::SameLine(0.0F, has_formula ? kTextGap : 0.0F);
  if (has_formula) {
    width = draw_math(fonts, fonts.body, cursor_position(), frame.ui.theme().output, line.formula);
  }
  ImGui::Dummy(ImVec2(width, ImGui::GetFrameHeight()));
}

}  // namespace

void draw_head_header(Frame& frame) {
  const Selection& selection = frame.state.selection;
  draw_view_title(frame, title(frame));
  mark_last_item(frame, "head.title");
  choose_mean(frame);
  const inference::BlockShape& shape = *selected_shape(frame);
  const model::AttentionLayer* layer = frame.result.network ? &frame.result.network->layer(selection.block) : nullptr;
  // A head without an output projection has nothing that it could be kept out of.
  const bool has_gain = layer && layer->weights && layer->weights->output && selection.mean == HeadMean::None;
  const float title_end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  // The stages are narrower where that leaves room for the gain.
  const std::vector<std::string> labels = stage_labels(frame);
  const auto fits = [&](float padding, float gap) {
    const float gain = has_gain ? gap + gain_control_width(frame) : 0.0F;
    return title_end + gain + gap + segmented_width(frame, labels, padding) <= ImGui::GetContentRegionMax().x;
  };
  const bool is_wide = fits(kSegmentPadding, kGainGap);
  const bool has_gain_above = has_gain && (is_wide || fits(kNarrowPadding, kNarrowGainGap));
  if (has_gain_above) {
    ImGui::SameLine(0.0F, is_wide ? kGainGap : kNarrowGainGap);
    draw_gain_control(frame);
  }
  choose_stage(frame, has_gain_above && !is_wide ? kNarrowPadding : kSegmentPadding);

  std::string formula = map_formula(frame, layer);
  if (head_map_shows_difference(frame) && !is_grouped(frame))
    formula += fmt::format(", {}", difference_caption(frame.state));
  Tools tools = tools_of(frame);
  tools.gain = has_gain && !has_gain_above;
  const Subtitle line = fit_subtitle(frame, about_map(frame, shape), std::move(formula), tools);
  draw_subtitle(frame, line);
  draw_tools(frame, line.tools);
  place_sentence(frame);
}

std::string HeadAbout::text() const {
  std::string all = kind;
  for (const std::string* part : {&sizes, &line, &grouping}) {
    if (!part->empty()) all += fmt::format(" · {}", *part);
  }
  return all;
}

std::string fit_about(const HeadAbout& about, float room, const chart::MeasureText& measure) {
  std::string whole = about.text();
  if (measure(whole) <= room) return whole;
  HeadAbout left = about;
  left.grouping = about.brief_grouping;
  if (std::string brief = left.text(); measure(brief) <= room) return brief;
  for (std::string* part : std::array{&left.sizes, &left.grouping, &left.line}) {
    if (part->empty()) continue;
    part->clear();
    std::string text = left.text() + " …";
    if (measure(text) <= room) return text;
  }
  return chart::shorten(about.kind, room, measure);
}

}  // namespace headlight::app
