#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/views/patching/patching_parts.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/prediction_bars.h"

namespace headlight::app {

namespace {

/// Draws a button that chooses the tokens that either run finds likeliest, where these are two.
void offer_both_predictions(Frame& frame, const ChosenLogit& logit) {
  const auto token = frame.result.in_baseline(logit.position.batch, logit.position.token);
  if (!token) return;
  const Prediction* baseline = frame.ask(PredictionQuery{.batch = logit.position.batch,
                                                         .token = *token,
                                                         .layer = predicting_layers(*frame.result.network),
                                                         .is_of_baseline = true});
  if (!baseline || baseline->candidates.empty()) return;
  const std::uint32_t theirs = baseline->candidates.front().id, ours = logit.prediction->candidates.front().id;
  const bool is_chosen = logit.token == theirs && logit.other == ours;
  if (theirs == ours || is_chosen) return;
  const std::string label = fmt::format("\u201C{}\u201D minus \u201C{}\u201D###both", candidate_label(frame.result, theirs),
                                        candidate_label(frame.result, ours));
  frame.ui.ensure_glyphs(label);
  continue_line(button_width(label.c_str()), kControlGap);
  if (draw_button(frame, "patching.both", label.c_str(),
                  "What the other run finds likeliest, minus what the present one does.")) {
    frame.state.set(kLogitsView.token, theirs);
    frame.state.set(kLogitsView.other, ours);
  }
}

/// Draws the choices of what is put of heads, and whether at all tokens or at the chosen one.
void choose_part_of_heads(Frame& frame) {
  PatchingChoices& choices = frame.state.patching;
  if (choices.map == PatchMap::Heads) {
    choose_next_segment(frame, "patching.part", {"queries", "keys", "values", "pattern", "outputs"}, choices.part);
  }
  if (!is_of_heads(choices.map) || !choices.token) return;
  const model::BlockKind kind = frame.state.selection.block.kind;
  const model::TokenBatch& tokens = patched_tokens(patched_site(choices), kind, *frame.result.input);
  if (*choices.token >= tokens.length) return;
  const std::string token = tokens.name(frame.state.selection.batch, *choices.token);
  frame.ui.ensure_glyphs(token);
  choose_next_segment(frame, "patching.at", {"at all tokens", fmt::format("at \u201C{}\u201D", token)}, choices.at_token);
}

}  // namespace

void draw_patching_controls(Frame& frame, const ChosenLogit& logit) {
  PatchingChoices& choices = frame.state.patching;
  const std::vector<std::string> maps = {"residual stream", "attention", "MLP", "heads", "paths", "weights"};
  choose_segment(frame, "patching.map", maps, choices.map);
  choose_next_segment(frame, "patching.into",
                      has_second_text(frame.state)
                          ? std::vector<std::string>{"second text into first", "first text into second"}
                          : std::vector<std::string>{"baseline into present", "present into baseline"},
                      choices.into_baseline);
  choose_next_segment(frame, "patching.measure", {"logit", "probability", "loss"}, choices.measure);
  choose_part_of_heads(frame);
  choose_tokens(frame, logit, "patching");
  offer_both_predictions(frame, logit);
  choose_kind(frame, "patching.kind");
}

namespace {

void draw_edit_button(Frame& frame) {
  if (!draw_button(frame, "patching.edit", "Edit the text", "Puts the caret into the text: change a word.")) return;
  frame.transient.text_focus = TextFocus::AtEnd;
  frame.ui.request_redraw(2);
}

void draw_keep_button(Frame& frame, const char* label = "Keep as baseline and edit the text",
                      const char* explanation = "Keeps this run to compare with, and puts the caret into the text.") {
  if (!draw_button(frame, "patching.keep_baseline", label, explanation)) return;
  frame.start_command("compare.freeze");
  frame.transient.text_focus = TextFocus::AtEnd;
}

}  // namespace

bool draw_patching_start(Frame& frame) {
  const EngineResult& result = frame.result;
  const SharedValue<BaselineRun>& baseline = frame.state.compare.baseline;
  if (!baseline) {
    draw_empty_note(
        frame, "patching.no_baseline", "Patching needs two texts",
        "Open a second text (Ctrl+T) and change a word in it. Activations of one run are put into the other, place "
        "by place: where that carries the prediction over is where the difference is.");
    go_below_note();
    if (draw_button(frame, "patching.second_text", "Open a second text",
                    "A second text below the first, to compare it with.")) {
      frame.start_command("compare.second_text");
    }
    ImGui::SameLine();
    draw_keep_button(frame);
    return false;
  }
  if (baseline->inputs == run_inputs(frame.state) && has_second_text(frame.state)) {
    draw_empty_note(frame, "patching.edit_second", "Now change a word of the second text",
                    "Both texts are the same. They may have different numbers of tokens.");
    return false;
  }
  if (baseline->inputs == run_inputs(frame.state)) {
    draw_empty_note(
        frame, "patching.edit_first", "Now change the text",
        "The baseline is this very one. Change a word; a mask or a head that is changed gives another run, too.");
    go_below_note();
    draw_edit_button(frame);
    return false;
  }
  if (is_capture(baseline->inputs.source)) {
    draw_empty_note(
        frame, "patching.capture", "The baseline is a capture",
        "It holds attention alone, no activations that could be put into this run. Keep a run of this model as baseline "
        "(Ctrl+D), then change a word of its text.");
    go_below_note();
    draw_keep_button(frame);
    return false;
  }
  if (result.baseline_error.empty()) return true;
  const bool has_target = result.input && result.input->target;
  const std::string text = fmt::format(
      "They can't be compared: {}. {}", result.baseline_error,
      has_target ? "What the model translates itself isn't part of the baseline: write the target yourself, in both runs."
                 : "");
  frame.ui.ensure_glyphs(text);
  draw_empty_note(frame, "patching.refused", "These two runs don't fit", text);
  go_below_note();
  draw_edit_button(frame);
  ImGui::SameLine();
  draw_keep_button(frame, "Keep this run instead", "This run becomes the baseline: then change its text.");
  return false;
}

}  // namespace headlight::app
