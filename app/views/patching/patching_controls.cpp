#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/views/patching/patching_parts.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/prediction_bars.h"

namespace headlight::app {

namespace {

/// Returns the token that a run finds likelier than another one does by the most.
std::uint32_t gained_token(const std::vector<inference::Candidate>& run, const std::vector<inference::Candidate>& other) {
  const auto gain = [&](const inference::Candidate& candidate) {
    const auto there = std::ranges::find(other, candidate.id, &inference::Candidate::id);
    return candidate.probability - (there == other.end() ? 0.0 : there->probability);
  };
  return std::ranges::max_element(run, {}, gain)->id;
}

/// Draws a button that chooses two tokens of which the runs think differently: those that either finds likeliest, or where
/// that is the same one those whose probability differs most. Returns whether the shared one is what is measured.
bool offer_both_predictions(Frame& frame, const ChosenLogit& logit) {
  const auto token = frame.result.in_baseline(logit.position.batch, logit.position.token);
  if (!token) return false;
  const Prediction* baseline = frame.ask(PredictionQuery{.batch = logit.position.batch,
                                                         .token = *token,
                                                         .layer = predicting_layers(*frame.result.network),
                                                         .is_of_baseline = true});
  if (!baseline || baseline->candidates.empty()) return false;
  const std::vector<inference::Candidate>&now = logit.prediction->candidates, &then = baseline->candidates;
  const std::uint32_t likeliest = now.front().id;
  const bool is_shared = then.front().id == likeliest;
  const std::uint32_t theirs = is_shared ? gained_token(then, now) : then.front().id;
  const std::uint32_t ours = is_shared ? gained_token(now, then) : likeliest;
  const bool is_chosen = logit.token == theirs && logit.other == ours;
  if (theirs == ours || is_chosen) return false;
  const std::string label = fmt::format("\u201C{}\u201D minus \u201C{}\u201D###both", candidate_label(frame.result, theirs),
                                        candidate_label(frame.result, ours));
  frame.ui.ensure_glyphs(label);
  continue_line(button_width(label.c_str()), kControlGap);
  if (draw_button(frame, "patching.both", label.c_str(),
                  "What the other run finds likeliest, or likelier by the most, minus what the present one does.")) {
    frame.state.set(kLogitsView.token, theirs);
    frame.state.set(kLogitsView.other, ours);
  }
  return is_shared && logit.token == likeliest && !logit.other;
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
  const bool is_shared = offer_both_predictions(frame, logit);
  choose_kind(frame, "patching.kind");
  if (!is_shared) return;
  write_note(frame,
             fmt::format("Both runs find \u201C{}\u201D likeliest: choose a token, or two, of which they think differently.",
                         candidate_label(frame.result, logit.token)),
             frame.ui.theme().warning, "patching.shared");
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
