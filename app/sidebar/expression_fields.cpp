#include "app/sidebar/expression_fields.h"

#include <variant>

#include "app/widgets/controls.h"
#include "attention/expression_presets.h"

namespace headlight::app {
namespace {

using attention::Expression;
using attention::ExpressionPreset;
using attention::ExpressionUse;
using attention::MaskSpec;

/// One of the two fields.
struct Field {
  ExpressionUse use;
  const char* name;   ///< "mask.expression"
  const char* label;  ///< of the presets
  const char* hint;
  const char* explanation;
};
constexpr std::array kFields{
    Field{ExpressionUse::Mask, "expression", "Mask formula", "k <= q && q - k < 64",
          "Which key k a query q sees, in GLSL, beside the switches above: q, k, head, layer, n_heads, n_layers, n_q, n_k, "
          "the tokens' id_q, id_k, type_q, type_k, segment_q, segment_k, and slider(name, from, to)."},
    Field{ExpressionUse::Score, "score", "Score formula", "score - 0.1 * float(q - k)",
          "What becomes of each scaled score before the mask, in GLSL: score, and all names of the mask's formula."}};

Expression& expression_of(MaskSpec& mask, ExpressionUse use) {
  return use == ExpressionUse::Mask ? mask.mask_expression : mask.score_expression;
}

/// A text that was typed or chosen: the state takes it if it can be accepted.
void take(Frame& frame, MaskSpec& mask, ExpressionUse use, const std::string& text, ExpressionDraft& draft) {
  auto parsed = attention::parse_expression(text, use);
  if (auto* error = std::get_if<attention::ExpressionError>(&parsed)) {
    draft = {.is_open = true,
             .text = text,
             .error = std::move(*error),
             .kind = frame.state.selection.block.kind,
             .accepted = expression_of(mask, use).text()};
    return;
  }
  draft = {};
  set_expression(mask, use, std::get<Expression>(std::move(parsed)));
}

/// "none", the presets, and "typed" for any other text.
void draw_presets(Frame& frame, Form& form, const Field& field, MaskSpec& mask, ExpressionDraft& draft) {
  std::vector<const ExpressionPreset*> presets;
  std::vector<const char*> names{"none"};
  for (const ExpressionPreset& preset : attention::expression_presets()) {
    if (preset.use != field.use) continue;
    presets.push_back(&preset);
    names.push_back(preset.name.data());  // a literal
  }
  const std::string& text = draft.is_open ? draft.text : expression_of(mask, field.use).text();
  const auto shown = std::ranges::find(presets, text, &ExpressionPreset::text);
  int choice = text.empty() ? 0 : static_cast<int>(shown - presets.begin()) + 1;
  if (shown == presets.end() && !text.empty()) names.push_back("typed");
  const std::string name = std::string(field.name) + ".preset";
  if (form.choose(name.c_str(), field.label, names, choice, field.explanation) &&
      choice <= static_cast<int>(presets.size())) {
    const ExpressionPreset* chosen = choice == 0 ? nullptr : presets[static_cast<std::size_t>(choice) - 1];
    take(frame, mask, field.use, chosen == nullptr ? std::string() : std::string(chosen->text), draft);
    if (chosen != nullptr && chosen->needs_later_keys) mask.rule.causal = false;
  }
}

void draw_text(Frame& frame, const Field& field, MaskSpec& mask, ExpressionDraft& draft) {
  constexpr float kMostLines = 6.0F;
  constexpr std::uint32_t kMarkAlpha = 120;
  std::string text = draft.is_open ? draft.text : expression_of(mask, field.use).text();
  std::vector<shell::TextMark> marks;
  if (draft.is_open && !text.empty()) {
    const std::size_t at = std::min<std::size_t>(draft.error.column - 1, text.size() - 1);
    marks.push_back({.begin = at, .end = at + 1, .color = shell::with_alpha(frame.ui.theme().warning, kMarkAlpha)});
  }
  const shell::TextFieldOptions options{.height = shell::text_field_height(1.0F),
                                        .most_height = shell::text_field_height(kMostLines),
                                        .hint = field.hint,
                                        .limit = Expression::kLongest + 1,
                                        .marks = marks};
  const bool is_edited = [&] {
    const Ink ink(frame.ui.fonts().mono, frame.ui.theme().text);
    return frame.ui.text_field(fmt::format("##{}", field.name).c_str(), text, options);
  }();
  mark_last_item(frame, "mask." + std::string(field.name), field.explanation);
  if (is_edited) take(frame, mask, field.use, text, draft);
}

void draw_sliders(Frame& frame, Form& form, MaskSpec& mask, ExpressionUse use) {
  for (const attention::Slider& slider : expression_of(mask, use).sliders()) {
    ImGui::PushID(slider.name.c_str());
    const float width = form.label(slider.name.c_str(), nullptr);
    float value = attention::value_of(slider, mask.sliders);
    const float before = value;
    ImGui::SetNextItemWidth(width);
    ImGui::SliderFloat("##value", &value, slider.from, slider.to, "%.4g", ImGuiSliderFlags_AlwaysClamp);
    mark_last_item(frame, "mask.slider." + slider.name, "A number of the formula; Ctrl and a click types it.");
    step_by_keys(frame, value, slider.from, slider.to, 0.01F * (slider.to - slider.from));
    if (value != before) mask.sliders[slider.name] = value;
    ImGui::PopID();
  }
}

}  // namespace

void draw_expression_fields(Frame& frame, Form& form, ExpressionDrafts& drafts) {
  MaskSpec& mask = selected_mask(frame.state);
  drafts.are_shown = drafts.are_shown || mask.has_expressions();
  if (!drafts.are_shown) return;
  for (const Field& field : kFields) {
    ExpressionDraft& draft = field.use == ExpressionUse::Mask ? drafts.mask : drafts.score;
    const bool is_outdated =
        draft.kind != frame.state.selection.block.kind || draft.accepted != expression_of(mask, field.use).text();
    if (draft.is_open && is_outdated) draft = {};
    draw_presets(frame, form, field, mask, draft);
    draw_text(frame, field, mask, draft);
    if (draft.is_open) form.warning(to_string(draft.error));
    draw_sliders(frame, form, mask, field.use);
  }
}

}  // namespace headlight::app
