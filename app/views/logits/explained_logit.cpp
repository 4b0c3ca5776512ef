#include "app/views/logits/explained_logit.h"

#include <fmt/format.h>

namespace headlight::app {
namespace {

std::string quoted(std::string text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
  return "\"" + text + "\"";
}

}  // namespace

AnalysisQuery parts_of(const ChosenLogit& logit) {
  return {.analysis = &kLogitAttribution,
          .batch = logit.position.batch,
          .query = logit.position.token,
          .tokens = {logit.token, logit.other.value_or(0)},
          .options = {logit.other ? 1U : 0U, 0}};
}

AnalysisQuery sources_of(const ChosenLogit& logit, const State& state) {
  AnalysisQuery query = parts_of(logit);
  query.analysis = &kLogitSources;
  if (state.logits.sums_heads) return query;
  query.block = state.selection.block;
  query.head = state.selection.head;
  query.options[1] = 1;
  return query;
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
