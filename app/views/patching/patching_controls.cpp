#include "app/views/patching/patching_controls.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"
#include "app/widgets/prediction_bars.h"

namespace headlight::app {
namespace {

constexpr float kGap = 12.0F;

void choose(Frame& frame, const char* name, const std::vector<std::string>& labels, std::size_t& chosen, bool is_first) {
  if (!is_first) continue_line(segmented_width(frame, labels), kGap);
  draw_segmented(frame, name, labels, chosen);
}

template <typename Choice>
void choose(Frame& frame, const char* name, const std::vector<std::string>& labels, Choice& choice, bool is_first = false) {
  auto chosen = static_cast<std::size_t>(choice);
  choose(frame, name, labels, chosen, is_first);
  choice = static_cast<Choice>(chosen);
}

/// A button that chooses the tokens that either run finds likeliest, where these are two.
void offer_both_predictions(Frame& frame, const ChosenLogit& logit) {
  const auto token = frame.result.in_reference(logit.position.batch, logit.position.token);
  if (!token) return;
  const Prediction* baseline = frame.ask(PredictionQuery{.batch = logit.position.batch,
                                                         .token = *token,
                                                         .layer = predicting_layers(*frame.result.network),
                                                         .is_of_reference = true});
  if (!baseline || baseline->candidates.empty()) return;
  const std::uint32_t theirs = baseline->candidates.front().id, ours = logit.prediction->candidates.front().id;
  const bool is_chosen = logit.token == theirs && logit.other == ours;
  if (theirs == ours || is_chosen) return;
  const std::string label = fmt::format("\u201C{}\u201D minus \u201C{}\u201D###both", candidate_label(frame.result, theirs),
                                        candidate_label(frame.result, ours));
  frame.ui.ensure_glyphs(label);
  continue_line(button_width(label.c_str()), kGap);
  if (ImGui::Button(label.c_str())) {
    frame.state.logits.token = theirs;
    frame.state.logits.other = ours;
  }
  mark_last_item(frame, "patching.both", "What the other run finds likeliest, minus what the present one does.");
}

/// Whether heads are patched at all tokens or at the chosen one.
void choose_tokens_of_heads(Frame& frame) {
  PatchingChoices& choices = frame.state.patching;
  if (!is_of_heads(choices.map) || !choices.token) return;
  const model::TokenBatch& tokens = frame.result.input->queries(frame.state.selection.block.kind);
  const std::uint32_t batch = frame.state.selection.batch;
  const bool has_text = batch < tokens.texts.size() && *choices.token < tokens.texts[batch].size();
  const std::string token = has_text ? tokens.texts[batch][*choices.token] : std::to_string(*choices.token);
  frame.ui.ensure_glyphs(token);
  choose(frame, "patching.at", {"at all tokens", fmt::format("at \u201C{}\u201D", token)}, choices.at_token);
}

}  // namespace

void draw_patching_controls(Frame& frame, const ChosenLogit& logit) {
  PatchingChoices& choices = frame.state.patching;
  choose(frame, "patching.map", {"residual stream", "attention", "MLP", "heads", "paths"}, choices.map, true);
  choose(frame, "patching.into",
         has_second_text(frame.state) ? std::vector<std::string>{"second text into first", "first text into second"}
                                      : std::vector<std::string>{"baseline into present", "present into baseline"},
         choices.into_baseline);
  choose(frame, "patching.measure", {"logit", "probability", "loss"}, choices.measure);
  choose_tokens_of_heads(frame);
  choose_tokens(frame, logit, "patching");
  offer_both_predictions(frame, logit);
  choose_kind(frame, "patching.kind");
}

}  // namespace headlight::app
