#include "app/views/patching/patching_parts.h"

#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
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

}  // namespace headlight::app
