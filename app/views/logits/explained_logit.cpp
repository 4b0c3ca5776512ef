#include "app/views/logits/explained_logit.h"

#include <fmt/format.h>

#include "export/csv.h"

namespace headlight::app {
LogitQuestion parts_of(const ChosenLogit& logit) {
  return {.batch = logit.position.batch, .position = logit.position.token, .token = logit.token, .other = logit.other};
}

LogitSourcesQuestion sources_of(const ChosenLogit& logit, const State& state) {
  LogitSourcesQuestion question{parts_of(logit)};
  const HeadRef selected{.block = state.selection.block, .head = state.selection.head};
  if (!state.logits.sums_heads) question.head = selected;
  return question;
}

NumberRef number_of(const Frame& frame, const ChosenLogit& logit, std::string_view of, double value) {
  return {.of = std::string(of),
          .block = frame.state.selection.block,
          .batch = logit.position.batch,
          .head = frame.state.selection.head,
          .row = logit.position.token,
          .column = logit.token,
          .value = value};
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

LogitAttribution ExplainedLogit::shown() const {
  LogitAttribution change = now;
  if (baseline == nullptr) return change;
  change.logit -= baseline->logit;
  change.constant -= baseline->constant;
  change.embedding -= baseline->embedding;
  for (std::size_t layer = 0; layer < change.layers.size(); ++layer) {
    attribution::LayerLogits& parts = change.layers[layer];
    const attribution::LayerLogits& before = baseline->layers[layer];
    for (std::size_t head = 0; head < parts.heads.size(); ++head) parts.heads[head] -= before.heads[head];
    parts.attention_bias -= before.attention_bias;
    parts.mlp -= before.mlp;
  }
  return change;
}

LogitSources ExplainedLogit::shown_sources() const {
  LogitSources change = *sources;
  if (baseline_sources == nullptr) return change;
  for (std::size_t token = 0; token < change.tokens.size(); ++token) change.tokens[token] -= baseline_sources->tokens[token];
  return change;
}

LogitSources of_counterparts(const EngineResult& result, std::uint32_t batch, const LogitSources& baseline,
                             std::size_t tokens, double& elsewhere) {
  LogitSources found;
  elsewhere = 0.0;
  for (const double value : baseline.tokens) elsewhere += value;
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const std::optional<std::uint32_t> other = result.in_reference(batch, token);
    found.tokens.push_back(other && *other < baseline.tokens.size() ? baseline.tokens[*other] : 0.0);
    elsewhere -= found.tokens.back();
  }
  return found;
}

const LogitAttribution* comparable(const LogitAttribution& now, const LogitAttribution* baseline) {
  if (baseline == nullptr || baseline->layers.size() < now.layers.size()) return nullptr;
  for (std::size_t layer = 0; layer < now.layers.size(); ++layer) {
    if (baseline->layers[layer].heads.size() != now.layers[layer].heads.size()) return nullptr;
  }
  return baseline;
}

std::string logit_csv(const ExplainedLogit& logit, const std::vector<std::string>& tokens) {
  const LogitAttribution &now = logit.now, *baseline = logit.baseline;
  std::string text = baseline ? "part,layer,head,token,value,baseline,change\n" : "part,layer,head,token,value\n";
  const auto add = [&](const std::string& names, double value, double before) {
    text += fmt::format("{},{}", names, exporting::table_number(value));
    text +=
        baseline ? fmt::format(",{},{}\n", exporting::table_number(before), exporting::table_number(value - before)) : "\n";
  };
  add("logit,,,", now.logit, baseline ? baseline->logit : 0.0);
  add("embedding,,,", now.embedding, baseline ? baseline->embedding : 0.0);
  add("biases,,,", now.constant, baseline ? baseline->constant : 0.0);
  for (std::size_t layer = 0; layer < now.layers.size(); ++layer) {
    const attribution::LayerLogits& parts = now.layers[layer];
    const attribution::LayerLogits before = baseline ? baseline->layers[layer] : attribution::LayerLogits();
    for (std::size_t head = 0; head < parts.heads.size(); ++head) {
      add(fmt::format("head,{},{},", layer, head), parts.heads[head], baseline ? before.heads[head] : 0.0);
    }
    add(fmt::format("attention bias,{},,", layer), parts.attention_bias, before.attention_bias);
    add(fmt::format("mlp,{},,", layer), parts.mlp, before.mlp);
  }
  for (std::size_t token = 0; logit.sources && token < logit.sources->tokens.size(); ++token) {
    const std::string name = token < tokens.size() ? exporting::csv_field(tokens[token]) : std::to_string(token);
    const double value = logit.sources->tokens[token];
    if (baseline && !logit.baseline_sources) {
      text += fmt::format("source token,,,{},{},,\n", name, exporting::table_number(value));  // not known yet
    } else {
      add(fmt::format("source token,,,{}", name), value, baseline ? logit.baseline_sources->tokens[token] : 0.0);
    }
  }
  if (logit.baseline_elsewhere != 0.0) add("source tokens of the second text alone,,,", 0.0, logit.baseline_elsewhere);
  return text;
}

}  // namespace headlight::app
