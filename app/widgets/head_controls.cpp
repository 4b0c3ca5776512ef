#include "app/widgets/head_controls.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/dropout_settings.h"
#include "app/widgets/cells/shown_mask.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {

HeadSubject selected_subject(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  HeadSubject subject{.block = selection.block, .layer = nullptr, .geometry = {}};
  subject.geometry.shape = frame.result.shapes.at(selection.block);
  subject.geometry.head = selection.head;
  subject.geometry.is_self = selection.block.kind != model::BlockKind::Cross;
  const bool is_first = selection.block.layer.value == 0 && selection.block.kind != model::BlockKind::Cross;
  if (is_first && frame.result.network && frame.result.input) {
    const bool is_encoder = selection.block.kind == model::BlockKind::EncoderSelf;
    const model::TokenBatch& tokens = shown_queries(frame);
    const auto& embedding = is_encoder ? frame.result.network->source_embedding : frame.result.network->target_embedding;
    if (tokens.vectors.is_empty() && !tokens.ids.empty()) subject.embedding = embedding.get();
    subject.tokens = &tokens;
  }
  if (frame.result.network) {
    subject.layer = &frame.result.network->layer(selection.block);
    subject.geometry.merge = subject.layer->config.merge;
    const std::optional<model::AttentionWeights>& weights = subject.layer->weights;
    subject.geometry.has_weights = weights.has_value();
    subject.geometry.is_rotated = subject.layer->config.rotary || (weights && (weights->query_norm || weights->key_norm));
  }
  return subject;
}

CellQuestion question_about(const Frame& frame, const HeadSubject& subject, attention::Stage stage, attention::Cell cell) {
  const Selection& selection = frame.state.selection;
  const ShownMask shown(frame);
  const attention::MaskSpec& mask = shown.spec();
  CellQuestion question{.geometry = subject.geometry,
                        .layer = subject.layer,
                        .fill = mask.fill,
                        .stage = stage,
                        .row = cell.query,
                        .column = cell.key};
  const auto pattern = fixed_pattern(frame.state, selection.block, selection.head);
  question.is_uniform = pattern == attention::FixedPattern::Uniform;
  if (!attention::is_map(stage)) return question;
  question.first_key = key_range(frame).begin;
  if (frame.result.capture) {
    const capture::CapturedScore* score = frame.result.capture->score(selection.block);
    question.has_captured_bias = score != nullptr && score->bias;
    question.has_sink = score != nullptr && score->sinks;
  }
  question.mask_reason = mask_reason(
      mask, {.map = shown.map(), .batch = selection.batch, .cell = cell, .keys = key_range(frame), .pattern = pattern});
  if (const auto dropout = weight_dropout(frame.state.settings, selection.block)) {
    question.dropout_factor = dropout->factor_of(selection.batch, selection.head, cell.query, cell.key);
  }
  if (pattern && pattern->weights.has_row(cell.query)) {
    question.painted_weight = double{pattern->weights.state(cell).value_or(0.0F)};
  } else if (!question.is_uniform) {
    question.painted_bias = double{mask.bias(selection.block.layer.value, selection.batch, selection.head, cell)};
  }
  if (mask.score_expression) {
    question.score_expression = mask.score_expression.text();
    question.expressed = [shown, cell](double score) {
      const attention::MaskSpec& spec = shown.spec();
      return spec.score_expression.score(shown.map(), cell.query, cell.key, score, spec.sliders);
    };
  }
  return question;
}

std::string token_name(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t index) {
  return tokens.name(frame.state.selection.batch, index);
}

namespace {

constexpr float kFieldWidth = 96.0F;
constexpr float kLargestGain = 2.0F;
constexpr float kMinGain = -1.0F;

const char* label_of(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "Encoder";
    case model::BlockKind::DecoderSelf:
      return "Decoder";
    case model::BlockKind::Cross:
      return "Cross";
  }
  return "";
}

constexpr float kHeadControlGap = 14.0F;

/// Draws "Layer ‹ 3 ›": returns the choice among 0 … count − 1. `number`: what the present one is called.
std::uint32_t draw_stepper(Frame& frame, const char* name, const char* label, std::uint32_t value, std::uint32_t count,
                           std::uint32_t number) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(label);
  ImGui::SameLine(0.0F, 6.0F);
  const bool goes_back = draw_arrow_button(frame, fmt::format("control.{}.previous", name), ImGuiDir_Left,
                                           fmt::format("The {} before", name).c_str(), value > 0);
  ImGui::SameLine(0.0F, 4.0F);
  ImGui::Text("%*u", count > 10 ? 2 : 1, number);
  ImGui::SameLine(0.0F, 4.0F);
  const bool goes_on = draw_arrow_button(frame, fmt::format("control.{}.next", name), ImGuiDir_Right,
                                         fmt::format("The next {}", name).c_str(), value + 1 < count);
  return goes_back ? value - 1 : goes_on ? value + 1 : value;
}

}  // namespace

void choose_kind(Frame& frame, std::string_view name) {
  std::vector<model::BlockKind> kinds;
  std::vector<std::string> labels;
  for (const auto& [block, shape] : frame.result.shapes) {
    if (!kinds.empty() && kinds.back() == block.kind) continue;
    kinds.push_back(block.kind);
    labels.emplace_back(label_of(block.kind));
  }
  if (kinds.size() < 2) return;
  auto chosen = static_cast<std::size_t>(std::ranges::find(kinds, frame.state.selection.block.kind) - kinds.begin());
  if (!draw_segmented(frame, std::string(name).c_str(), labels, chosen)) return;
  frame.state.selection.block.kind = kinds[chosen];
  clamp_selection(frame.state, frame.result.shapes);
}

float gain_control_width(const Frame& frame) {
  // The button is as wide as with the longer label, so that nothing moves.
  const float button = text_width(frame.ui.fonts().small, "Knock out") + 2.0F * ImGui::GetStyle().FramePadding.x;
  return kFieldWidth + ImGui::GetStyle().ItemSpacing.x + button;
}

void draw_gain_control(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const float gain = head_gain(frame.state, selection.block, selection.head);
  const TextStyleScope ink(frame, gain == 1.0F ? frame.ui.theme().text : frame.ui.theme().warning);
  float edited = gain;
  ImGui::SetNextItemWidth(kFieldWidth);
  // The format rounds to hundredths, so that 0 and 1 are reached exactly.
  ImGui::DragFloat("##gain", &edited, 0.01F, kMinGain, kLargestGain, "gain \u00D7 %.2f", ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame, "head.gain");
  step_by_keys(frame, edited, kMinGain, kLargestGain, 0.05F);
  if (edited != gain && std::isfinite(edited)) set_head_gain(frame.state, selection.block, selection.head, edited);
  ImGui::SameLine();
  const float button = gain_control_width(frame) - kFieldWidth - ImGui::GetStyle().ItemSpacing.x;
  const char* help = gain == 1.0F ? nullptr : "Brings the head back with a gain of 1 (K).";
  if (draw_button(frame, "head.knock_out", gain == 1.0F ? "Knock out" : "Restore", help, button)) {
    set_head_gain(frame.state, selection.block, selection.head, gain == 1.0F ? 0.0F : 1.0F);
  }
}

void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const chart::Rect& box) {
  const float gain = head_gain(frame.state, block, head);
  const std::optional<attention::ReplacementPattern> pattern = fixed_pattern(frame.state, block, head);
  const shell::Theme& theme = frame.ui.theme();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 low = box.origin, high = box.end();
  if (pattern) {
    const std::string name(attention::to_string(pattern->kind));
    ImFont* font = frame.ui.fonts().small;
    list->AddRectFilled(low, {low.x + text_width(font, name) + 6.0F, low.y + font_size(font) + 2.0F}, theme.popup, 2.0F);
    put_text(font, {low.x + 3.0F, low.y + 1.0F}, theme.warning, name);
  }
  if (gain == 1.0F) return;
  if (gain == 0.0F) {
    list->AddRectFilled(low, high, shell::with_alpha(theme.panel, 150));
    list->AddLine(low, high, theme.warning, 2.0F);
    list->AddLine({low.x, high.y}, {high.x, low.y}, theme.warning, 2.0F);
    return;
  }
  ImFont* font = frame.ui.fonts().small;
  const std::string text = fmt::format("×{:.3g}", gain);
  const float width = text_width(font, text) + 6.0F;
  list->AddRectFilled({high.x - width, high.y - font_size(font) - 2.0F}, high, theme.popup, 2.0F);
  put_text(font, {high.x - width + 3.0F, high.y - font_size(font) - 1.0F}, theme.warning, text);
}

void choose_metric(Frame& frame, const std::string& name, const char* explanation, evaluation::HeadMetric& chosen) {
  ImGui::SetNextItemWidth(150.0F);
  const std::string shown(evaluation::metric_name(chosen));
  OpenList list(frame, name, shown.c_str(), explanation);
  if (!list) return;
  const std::vector<std::string> names = evaluation::metric_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto metric = static_cast<evaluation::HeadMetric>(i);
    if (list.entry(names[i].c_str(), names[i], metric == chosen, text_of(metric).help)) chosen = metric;
  }
}

void draw_head_controls(Frame& frame) {
  choose_kind(frame, "control.kind");
  Selection& selection = frame.state.selection;
  const inference::BlockShape* shape = selected_shape(frame);
  if (!shape) return;
  const std::vector<model::BlockRef> layers = blocks_of_kind(frame.result.shapes, selection.block.kind);
  const float begin = ImGui::GetCursorPosX();
  const auto at = static_cast<std::uint32_t>(std::ranges::find(layers, selection.block) - layers.begin());
  const model::BlockRef block = layers[draw_stepper(frame, "layer", "Layer", at, static_cast<std::uint32_t>(layers.size()),
                                                    selection.block.layer.value)];
  ImGui::SameLine(0.0F, kHeadControlGap);
  const std::uint32_t head = draw_stepper(frame, "head", "Head", selection.head, shape->heads, selection.head);
  if (block != selection.block || head != selection.head) {
    select_head(selection, {block, head});
    clamp_selection(frame.state, frame.result.shapes);
  }
  if (shape->d_output == 0) return;  // without an output projection a gain would do nothing
  continue_line(gain_control_width(frame), kHeadControlGap);
  if (ImGui::GetCursorPosX() < begin) ImGui::SetCursorPosX(begin);
  draw_gain_control(frame);
}

}  // namespace headlight::app
