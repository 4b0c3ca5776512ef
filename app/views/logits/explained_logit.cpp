#include "app/views/logits/explained_logit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/widgets/ink.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/size_text.h"

namespace headlight::app {
namespace {

/// An id that the model has.
std::optional<std::uint32_t> known(const EngineResult& result, std::optional<std::uint32_t> id) {
  return id && *id < result.network->layers->unembedding->linear.out() ? id : std::nullopt;
}

/// A list that opens with the likeliest tokens; `none` is its first entry.
void choose(Frame& frame, const ExplainedLogit& logit, const char* name, const std::string& none,
            std::optional<std::uint32_t>& chosen, const char* explanation) {
  const std::string shown =
      known(frame.result, chosen) ? fmt::format("\u201C{}\u201D", candidate_label(frame.result, *chosen)) : none;
  frame.ui.ensure_glyphs(shown);
  const std::string label = fmt::format("##{}", name);
  const bool is_open = ImGui::BeginCombo(label.c_str(), shown.c_str());
  mark_last_item(frame, fmt::format("logits.{}", name), explanation);
  if (!is_open) return;
  if (ImGui::Selectable(none.c_str(), !chosen)) chosen.reset();
  mark_last_item(frame, fmt::format("logits.{}.none", name), explanation);
  for (std::size_t i = 0; i < logit.prediction->candidates.size(); ++i) {
    const inference::Candidate& candidate = logit.prediction->candidates[i];
    const std::string entry = fmt::format("\u201C{}\u201D   {}###{}", candidate_label(frame.result, candidate.id),
                                          percent_text(candidate.probability), i);
    frame.ui.ensure_glyphs(entry);
    if (ImGui::Selectable(entry.c_str(), chosen == candidate.id)) chosen = candidate.id;
    mark_last_item(frame, fmt::format("logits.{}.{}", name, i), explanation);
  }
  ImGui::EndCombo();
}

std::string quoted(std::string text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
  return "\"" + text + "\"";
}

}  // namespace

AnalysisQuery ExplainedLogit::parts() const {
  return {.analysis = &kLogitAttribution,
          .batch = position.batch,
          .query = position.token,
          .tokens = {token, other.value_or(0)},
          .options = {other ? 1U : 0U, 0}};
}

AnalysisQuery ExplainedLogit::sources(const State& state) const {
  AnalysisQuery query = parts();
  query.analysis = &kLogitSources;
  if (state.logits.sums_heads) return query;
  query.block = state.selection.block;
  query.head = state.selection.head;
  query.options[1] = 1;
  return query;
}

std::optional<ExplainedLogit> explained_logit(Frame& frame) {
  ExplainedLogit logit{.position = prediction_position(frame.state, frame.result)};
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

NumberRef number_of(const Frame& frame, const ExplainedLogit& logit, std::string_view of, double value) {
  return {.of = std::string(of),
          .block = frame.state.selection.block,
          .batch = logit.position.batch,
          .head = frame.state.selection.head,
          .row = logit.position.token,
          .column = logit.token,
          .value = value};
}

void choose_tokens(Frame& frame, const ExplainedLogit& logit) {
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float minus = ImGui::CalcTextSize("minus").x + 2.0F * gap;
  const float width = std::clamp((ImGui::GetContentRegionAvail().x - minus) * 0.5F, 60.0F, 220.0F);
  const std::string likeliest =
      fmt::format("likeliest: \u201C{}\u201D", candidate_label(frame.result, logit.prediction->candidates.front().id));
  ImGui::SetNextItemWidth(width);
  choose(frame, logit, "token", likeliest, frame.state.logits.token, "The next token whose logit is explained.");
  ImGui::SameLine();
  {
    const Ink ink(frame.ui.fonts().body, frame.ui.theme().text_dim);
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted("minus");
  }
  ImGui::SameLine();
  ImGui::SetNextItemWidth(width);
  choose(frame, logit, "other", "nothing", frame.state.logits.other,
         "A second token: then the parts are of the difference of both logits, what decides between them.");
}

std::vector<LogitComponent> components_of(const LogitAttribution& found) {
  std::vector<LogitComponent> components{{.title = "embedding", .value = found.embedding}};
  for (std::uint32_t layer = 0; layer < found.layers.size(); ++layer) {
    const attribution::LayerLogits& parts = found.layers[layer];
    components.push_back({.title = fmt::format("layer {} attention", layer), .value = parts.attention(), .layer = layer});
    components.push_back({.title = fmt::format("layer {} MLP", layer), .value = parts.mlp, .layer = layer});
  }
  components.push_back({.title = "biases at the end", .value = found.constant});
  return components;
}

std::string logit_csv(const LogitAttribution& found, const LogitSources* sources, const std::vector<std::string>& tokens) {
  std::string text = "part,layer,head,token,value\n";
  text +=
      fmt::format("logit,,,,{:.9g}\nembedding,,,,{:.9g}\nbiases,,,,{:.9g}\n", found.logit, found.embedding, found.constant);
  for (std::size_t layer = 0; layer < found.layers.size(); ++layer) {
    const attribution::LayerLogits& parts = found.layers[layer];
    for (std::size_t head = 0; head < parts.heads.size(); ++head) {
      text += fmt::format("head,{},{},,{:.9g}\n", layer, head, parts.heads[head]);
    }
    text += fmt::format("attention bias,{},,,{:.9g}\nmlp,{},,,{:.9g}\n", layer, parts.attention_bias, layer, parts.mlp);
  }
  for (std::size_t token = 0; sources && token < sources->tokens.size(); ++token) {
    const std::string name = token < tokens.size() ? quoted(tokens[token]) : std::to_string(token);
    text += fmt::format("source token,,,{},{:.9g}\n", name, sources->tokens[token]);
  }
  return text;
}

}  // namespace headlight::app
