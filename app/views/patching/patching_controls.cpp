#include "app/data/prompts/prompt_room.h"
#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/views/patching/patching_parts.h"
#include "app/widgets/controls.h"
#include "app/widgets/examples.h"
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
  constexpr float kLeastTokens = 300.0F;  // two lists, narrow
  const std::vector<std::string> maps = {"residual stream", "attention", "MLP", "heads", "paths", "weights"};
  choose_segment(frame, "patching.map", maps, choices.map);
  choose_next_segment(frame, "patching.measure", {"logit", "probability", "loss"}, choices.measure);
  choose_part_of_heads(frame);
  choose_next_segment(frame, "patching.into",
                      has_second_text(frame.state)
                          ? std::vector<std::string>{"second text into first", "first text into second"}
                          : std::vector<std::string>{"baseline into present", "present into baseline"},
                      choices.into_baseline);
  continue_line(kLeastTokens, kControlGap);
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

void draw_keep_button(Frame& frame, const char* label = "Keep as baseline and edit",
                      const char* explanation = "Keeps this run to compare with, and puts the caret into the text.") {
  if (!draw_button(frame, "patching.keep_baseline", label, explanation)) return;
  frame.start_command("compare.freeze");
  frame.transient.text_focus = TextFocus::AtEnd;
}

/// Shows two texts of the bundled model, as one step of the history, which measures the words that they decide between.
void draw_example_button(Frame& frame, const ExamplePair& pair) {
  const std::string label = fmt::format("Try it: \u201C{}\u201D against \u201C{}\u201D###try",
                                        std::string_view(pair.answer).substr(1), std::string_view(pair.wrong).substr(1));
  const std::string about =
      fmt::format("\u201C{}\u201D, and as the second text \u201C{}\u201D. Undo brings yours back.", pair.text, pair.other);
  if (!draw_first_button(frame, "patching.example", label.c_str(), about.c_str())) return;
  const SetPrompt prompt{.text = pair.text, .corrupted = pair.other, .answer = pair.answer, .wrong = pair.wrong};
  const FittedPrompt fitted = fit_prompt(prompt, *frame.result.model, true);
  frame.prompts->show({.prompt = prompt, .answer = fitted.answer, .wrong = fitted.wrong});
  frame.ui.request_redraw(2);
}

}  // namespace

bool draw_patching_start(Frame& frame) {
  const EngineResult& result = frame.result;
  const SharedValue<BaselineRun>& baseline = frame.state.compare.baseline;
  if (!baseline) {
    draw_empty_note(frame, "patching.no_baseline", "Patching needs two texts",
                    "Open a second text (Ctrl+T) and change a word in it. Activations of one run are put into the other, "
                    "place by place: "
                    "where the patch flips the prediction, the model keeps the difference.");
    const ExamplePair* pair = frame.prompts ? example_pair(frame.state) : nullptr;
    if (pair) draw_example_button(frame, *pair);
    constexpr const char* kOpen = "Open a second text";
    constexpr const char* kAbout = "A second text below the first (Ctrl+T): change a word in it.";
    if (pair) ImGui::SameLine();
    if (pair ? draw_button(frame, "patching.second_text", kOpen, kAbout)
             : draw_first_button(frame, "patching.second_text", kOpen, kAbout))
      frame.start_command("compare.second_text");
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
    draw_empty_note(frame, "patching.capture", "The baseline is a capture",
                    "It has no network whose activations could be put into this run. Keep a run of this model as baseline "
                    "(Ctrl+D), then "
                    "change a word of its text.");
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
