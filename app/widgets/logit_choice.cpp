#include "app/widgets/logit_choice.h"

#include "app/widgets/controls.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

/// An id that the model has.
std::optional<std::uint32_t> known(const EngineResult& result, std::optional<std::uint32_t> id) {
  return id && *id < result.network->layers->unembedding->linear.out() ? id : std::nullopt;
}

/// A list that opens with the likeliest tokens; `none` is its first entry.
void choose(Frame& frame, const ChosenLogit& logit, const std::string& name, const std::string& none,
            std::optional<std::uint32_t>& chosen, const char* explanation) {
  const std::string shown =
      known(frame.result, chosen) ? fmt::format("\u201C{}\u201D", candidate_label(frame.result, *chosen)) : none;
  frame.ui.ensure_glyphs(shown);
  const std::string label = "##" + name;
  const bool is_open = ImGui::BeginCombo(label.c_str(), shown.c_str());
  mark_last_item(frame, name, explanation);
  if (!is_open) return;
  if (ImGui::Selectable(none.c_str(), !chosen)) chosen.reset();
  mark_last_item(frame, name + ".none", explanation);
  for (std::size_t i = 0; i < logit.prediction->candidates.size(); ++i) {
    const inference::Candidate& candidate = logit.prediction->candidates[i];
    const std::string entry = fmt::format("\u201C{}\u201D   {}###{}", candidate_label(frame.result, candidate.id),
                                          percent_text(candidate.probability), i);
    frame.ui.ensure_glyphs(entry);
    if (ImGui::Selectable(entry.c_str(), chosen == candidate.id)) chosen = candidate.id;
    mark_last_item(frame, fmt::format("{}.{}", name, i), explanation);
    if (chosen == candidate.id) frame.ui.keyboard().prefer_last();
  }
  ImGui::EndCombo();
}

}  // namespace

std::optional<ChosenLogit> chosen_logit(Frame& frame) {
  ChosenLogit logit{.position = prediction_position(frame.state, frame.result)};
  logit.prediction = frame.ask(PredictionQuery{.batch = logit.position.batch,
                                               .token = logit.position.token,
                                               .layer = predicting_layers(*frame.result.network),
                                               .keeps_logits = true});
  if (!logit.prediction || logit.prediction->candidates.empty()) return std::nullopt;
  const LogitsChoices& choices = frame.state.logits;
  logit.token = known(frame.result, choices.token).value_or(logit.prediction->candidates.front().id);
  logit.other = known(frame.result, choices.other);
  if (logit.other == logit.token) logit.other.reset();
  return logit;
}

void choose_tokens(Frame& frame, const ChosenLogit& logit, const std::string& view) {
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float minus = ImGui::CalcTextSize("minus").x + 2.0F * gap;
  const float width = std::clamp((ImGui::GetContentRegionAvail().x - minus) * 0.5F, 60.0F, 220.0F);
  const std::string likeliest =
      fmt::format("likeliest: \u201C{}\u201D", candidate_label(frame.result, logit.prediction->candidates.front().id));
  ImGui::SetNextItemWidth(width);
  choose(frame, logit, view + ".token", likeliest, frame.state.logits.token, "The token whose logit it is about.");
  ImGui::SameLine();
  write_label(frame.ui.fonts().body, frame.ui.theme().text_dim, "minus");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(width);
  choose(frame, logit, view + ".other", "nothing", frame.state.logits.other,
         "A second token: then it is about the difference of both logits, what decides between them.");
}

std::string logit_title(const Frame& frame, const ChosenLogit& logit) {
  std::string token = fmt::format("logit of \u201C{}\u201D", candidate_label(frame.result, logit.token));
  if (!logit.other) return token;
  return fmt::format("{} minus that of \u201C{}\u201D", token, candidate_label(frame.result, *logit.other));
}

}  // namespace headlight::app
