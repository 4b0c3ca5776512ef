#include "app/widgets/position_header.h"

#include "app/state/logits_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

/// Returns an id that the model has.
std::optional<std::uint32_t> known(const EngineResult& result, std::optional<std::uint32_t> id) {
  return id && *id < result.network->layers->unembedding->linear.out() ? id : std::nullopt;
}

/// Draws a list that opens with the likeliest tokens; `none` is its first entry.
void choose(Frame& frame, const ChosenLogit& logit, const std::string& name, const std::string& none,
            std::optional<std::uint32_t>& chosen, const char* explanation) {
  const std::string shown =
      known(frame.result, chosen) ? fmt::format("\u201C{}\u201D", candidate_label(frame.result, *chosen)) : none;
  frame.ui.ensure_glyphs(shown);
  OpenList list(frame, name, shown.c_str(), explanation);
  if (!list) return;
  if (list.entry(none.c_str(), "none", !chosen, explanation)) chosen.reset();
  for (std::size_t i = 0; i < logit.prediction->candidates.size(); ++i) {
    const inference::Candidate& candidate = logit.prediction->candidates[i];
    const std::string entry = fmt::format("\u201C{}\u201D   {}###{}", candidate_label(frame.result, candidate.id),
                                          percent_text(candidate.probability), i);
    frame.ui.ensure_glyphs(entry);
    if (list.entry(entry.c_str(), std::to_string(i), chosen == candidate.id, explanation)) chosen = candidate.id;
  }
}

}  // namespace

void choose_position(Frame& frame, std::uint32_t token) {
  State& state = frame.state;
  if (&shown_queries(frame) != &predicted_tokens(frame.result)) {
    state.selection.block.kind = model::BlockKind::DecoderSelf;
    clamp_selection(state, frame.result.shapes);
  }
  attention::Cell cell = state.view.pinned.value_or(attention::Cell{});
  cell.query = token;
  state.view.pinned = cell;
}

const model::TokenBatch& predicted_tokens(const EngineResult& result) {
  return result.input->target ? *result.input->target : result.input->source;
}

std::string predicted_token_text(const EngineResult& result, std::uint32_t batch, std::uint32_t token) {
  return predicted_tokens(result).name(batch, token);
}

void draw_position_header(Frame& frame, const std::string& name, const std::string& title,
                          const PredictionPosition& position, const char* copied) {
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  constexpr const char* kToken = "token";  // tells these arrows from the window's others
  const float automatic = button_width("Automatic");
  const float copy = copied ? button_width(kCopyCsv) + kCopyGap : 0.0F;
  const float name_width = text_width(frame.ui.fonts().small, kToken);
  const float controls =
      2.0F * (ImGui::GetFrameHeight() + spacing) + name_width + copy + (position.is_chosen ? automatic + spacing : 0.0F);
  const float right = ImGui::GetContentRegionMax().x - controls;
  const std::string token = predicted_token_text(frame.result, position.batch, position.token);
  frame.ui.ensure_glyphs(token);
  const std::string about =
      fmt::format("{} \u201C{}\u201D (token {}{})", position.kind == PredictionPosition::Kind::Next ? "after" : "at", token,
                  position.token, position.token + 1 == position.end ? ", the last" : "");
  constexpr float kGap = 12.0F;
  draw_view_title(frame, title, right - spacing - ImGui::GetCursorPosX());
  const float end = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + kGap;
  const bool is_beside = end + text_width(frame.ui.fonts().small, about) + kGap <= right;
  if (is_beside) {
    ImGui::SameLine(0.0F, kGap);
    draw_title_note(frame, about);
  }
  ImGui::SameLine(right);
  if (position.is_chosen) {
    if (draw_button(frame, name + ".automatic", "Automatic",
                    predicts_next(frame.result) ? "Back to the end of the text." : "Back to the first mask."))
      frame.state.view.pinned.reset();
    ImGui::SameLine();
  }
  if (draw_arrow_button(frame, name + ".previous", ImGuiDir_Left, "The prediction one token earlier.",
                        position.token > position.first)) {
    choose_position(frame, position.token - 1);
  }
  ImGui::SameLine();
  write_label(frame.ui.fonts().small, frame.ui.theme().text_dim, kToken);
  ImGui::SameLine();
  if (draw_arrow_button(frame, name + ".next", ImGuiDir_Right, "The prediction one token later.",
                        position.token + 1 < position.end)) {
    choose_position(frame, position.token + 1);
  }
  if (copied) draw_copy_button(frame, name + ".copy", copied);
  if (!is_beside)
    write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, fit_text(frame.ui.fonts().small, about, width_left()));
  place_sentence(frame);
}

std::optional<ChosenLogit> chosen_logit(Frame& frame) {
  ChosenLogit logit{.position = prediction_position(frame.state, frame.result)};
  logit.prediction = frame.ask(PredictionQuery{.batch = logit.position.batch,
                                               .token = logit.position.token,
                                               .layer = predicting_layers(*frame.result.network),
                                               .keeps_logits = true});
  if (!logit.prediction || logit.prediction->candidates.empty()) return std::nullopt;
  logit.token = known(frame.result, frame.state[kLogitsView.token]).value_or(logit.prediction->candidates.front().id);
  logit.other = known(frame.result, frame.state[kLogitsView.other]);
  if (logit.other == logit.token) logit.other.reset();
  return logit;
}

void choose_tokens(Frame& frame, const ChosenLogit& logit, const std::string& view) {
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float minus = ImGui::CalcTextSize("minus").x + 2.0F * gap;
  const float width = std::clamp((width_left() - minus) * 0.5F, 60.0F, 220.0F);
  const std::string likeliest =
      fmt::format("likeliest: \u201C{}\u201D", candidate_label(frame.result, logit.prediction->candidates.front().id));
  ImGui::SetNextItemWidth(width);
  choose(frame, logit, view + ".token", likeliest, frame.state.edit(kLogitsView.token),
         "The token whose logit it is about.");
  ImGui::SameLine();
  write_label(frame.ui.fonts().body, frame.ui.theme().text_dim, "minus");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(width);
  choose(frame, logit, view + ".other", "nothing", frame.state.edit(kLogitsView.other),
         "A second token: then it is about the difference of both logits, what decides between them.");
}

std::string logit_title(const Frame& frame, const ChosenLogit& logit) {
  std::string token = fmt::format("logit of \u201C{}\u201D", candidate_label(frame.result, logit.token));
  if (!logit.other) return token;
  return fmt::format("{} minus that of \u201C{}\u201D", token, candidate_label(frame.result, *logit.other));
}

}  // namespace headlight::app
