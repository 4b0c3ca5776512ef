#include "app/state/map_settings.h"
#include "app/state/model_changes.h"
#include "app/window/sidebar/panels.h"

#include <limits>
#include <variant>

#include "app/widgets/controls.h"
#include "attention/expression.h"

namespace headlight::app {
namespace {

using attention::Expression;
using attention::ExpressionPreset;
using attention::ExpressionUse;
using attention::MaskSpec;

/// One of the two expressions' fields.
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

/// Gives a typed or chosen text to the state if it can be accepted.
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

/// Draws the choice of "none", the presets, and "typed" for any other text.
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
  constexpr float kMaxLines = 6.0F;
  constexpr std::uint32_t kMarkAlpha = 120;
  std::string text = draft.is_open ? draft.text : expression_of(mask, field.use).text();
  std::vector<shell::TextMark> marks;
  if (draft.is_open && !text.empty()) {
    const std::size_t at = std::min<std::size_t>(draft.error.column - 1, text.size() - 1);
    marks.push_back({.begin = at, .end = at + 1, .color = shell::with_alpha(frame.ui.theme().warning, kMarkAlpha)});
  }
  const shell::TextFieldOptions options{.height = shell::text_field_height(1.0F),
                                        .most_height = shell::text_field_height(kMaxLines),
                                        .hint = field.hint,
                                        .limit = Expression::kLongest + 1,
                                        .marks = marks};
  const bool is_edited = [&] {
    const TextStyleScope ink(frame.ui.fonts().mono, frame.ui.theme().text);
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

constexpr std::array<const char*, 3> kFills = {"\u2212\u221E", "\u22121e9", "\u22121e10"};
constexpr float kSteepestBias = 100.0F;

const char* kind_title(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "Mask of the encoder's self-attention";
    case model::BlockKind::DecoderSelf:
      return "Mask of the decoder's self-attention";
    case model::BlockKind::Cross:
      break;
  }
  return "Mask of the cross-attention";
}

/// Draws the choices of what the brush puts, how much of it, and its shape.
void draw_brush_fields(Frame& frame, Form& form) {
  State& state = frame.state;
  form.setting(kBrush.ink, state);
  if (state[kBrush.ink] == BrushInk::Bias) {
    form.decimal("bias", "Bias", state.edit(kBrush.bias), -kSteepestBias, kSteepestBias,
                 "Added to the scaled score: +0.69 doubles a small weight, \u22120.69 halves it.");
  } else if (state[kBrush.ink] == BrushInk::Pattern) {
    form.decimal("weight", "Weight", state.edit(kBrush.weight), 0.0F, attention::kMaxPatternWeight,
                 "Of the painted cell; a row's weights are divided by their sum. Rows without paint stay as computed.");
  }
  form.setting(kBrush.shape, state);
}

std::string painted_text(const attention::MaskSpec& mask) {
  const std::size_t cells = attention::painted_count(mask.painted), biases = attention::painted_count(mask.biases);
  std::string text = cells == 0 && biases > 0 ? "" : counted(cells, "cell");
  if (cells == 0 && biases == 0) text = "nothing";
  if (biases > 0) text += (text.empty() ? "" : ", ") + counted(biases, "bias");
  return text;
}

/// Draws how many documents the text in view is made of, with a button that joins them.
void draw_documents(Frame& frame, Form& form, attention::MaskSpec& mask) {
  if (!mask.documents) return;
  const std::uint32_t item = frame.state.selection.batch;
  const auto found = mask.documents->find(item);
  const std::size_t count = found == mask.documents->end() ? 1 : found->second.size() + 1;
  if (form.value_with_button("documents", "Documents", std::to_string(count), "Join", count > 1))
    attention::set_documents(mask, item, {});
}

/// Draws what changes the whole pass, whatever mask is selected: of each group the first setting, and the others while it
/// isn't that of a new state.
void draw_pass_settings(Frame& frame, Form& form) {
  Choices& choices = frame.state.settings;
  for (const SettingGroup* group : setting_groups()) {
    if (!group->add) continue;
    const AnySetting& first = *group->settings.front();
    form.setting(first, choices, std::string(group->name));
    if (choices.value(first) == first.usual) continue;
    for (const AnySetting* other : std::span(group->settings).subspan(1))
      form.setting(*other, choices, fmt::format("{}_{}", group->name, other->text.key));
  }
}

}  // namespace

bool has_several_kinds(const EngineResult& result) {
  return std::ranges::any_of(result.blocks, [&](model::BlockRef block) { return block.kind != result.blocks.front().kind; });
}

void draw_masks_panel(Frame& frame, NumberBeingTyped& typed, ExpressionDrafts& drafts, const std::string& error) {
  Form form(frame, typed, "mask");
  if (is_capture(frame.state.source)) {
    return form.note("A capture's weights are as they were saved: masks and heads are changed in a network.");
  }
  attention::MaskSpec& mask = selected_mask(frame.state);
  if (has_several_kinds(frame.result)) form.note(kind_title(frame.state.selection.block.kind));
  if (!error.empty()) form.warning(error);

  const auto shape = frame.result.shapes.find(frame.state.selection.block);
  constexpr std::uint32_t kShortest = 4;  // a slider of one step looks half full
  std::uint32_t tokens = kShortest;
  if (shape != frame.result.shapes.end()) tokens = std::max({tokens, shape->second.queries, shape->second.keys});

  form.slider("window", "Window", mask.rule.window, std::max(tokens, mask.rule.window),
              "A query sees only keys that are less than so many tokens away.");
  form.slider(
      "prefix", "Seen by all", mask.rule.prefix, std::max(tokens, mask.rule.prefix),
      "So many first tokens are seen by every query (prefix); after them each query sees only keys up to its own position.");
  int fill = static_cast<int>(mask.fill);
  if (form.segments("fill", "Masked score", kFills, fill,
                    "What a masked score becomes. Where everything is masked, a finite fill gives a uniform row and "
                    "\u2212\u221E a row without weights.")) {
    mask.fill = static_cast<attention::MaskFill>(fill);
  }
  draw_expression_fields(frame, form, drafts);
  draw_pass_settings(frame, form);
  form.toggle("brush", "Brush", frame.transient.paints, "B",
              "While it is on, a click or a drag on the map masks cells, or shows masked ones again. Esc stops.");
  if (frame.transient.paints) draw_brush_fields(frame, form);
  form.setting(kBrush.reach, frame.state);
  draw_documents(frame, form, mask);
  if (mask.matrix) {
    form.value("Matrix", fmt::format("[{}, {}, {}, {}]", mask.matrix->batch, mask.matrix->heads, mask.matrix->queries,
                                     mask.matrix->keys));
  }
  const std::string count = painted_text(mask);
  const bool is_changed = mask != attention::MaskSpec{} || is_notebook(frame.state.source);
  if (form.value_with_button("reset", "Painted", count, "Reset mask", is_changed)) reset_masks(frame.state);
}

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
