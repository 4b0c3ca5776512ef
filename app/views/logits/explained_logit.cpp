#include "app/views/logits/explained_logit.h"

#include "app/state/logits_settings.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

/// Can the baseline's parts be subtracted?
bool is_comparable(const LogitAttribution& now, const LogitAttribution* baseline) {
  if (baseline == nullptr || baseline->layers.size() < now.layers.size()) return false;
  for (std::size_t layer = 0; layer < now.layers.size(); ++layer) {
    if (baseline->layers[layer].heads.size() != now.layers[layer].heads.size()) return false;
  }
  return true;
}

/// Returns the baseline's source tokens by the run's own `tokens`: 0 where one has no counterpart; `elsewhere` becomes the
/// sum of the others.
LogitSources of_counterparts(const EngineResult& result, std::uint32_t batch, const LogitSources& baseline,
                             std::size_t tokens, double& elsewhere) {
  LogitSources found;
  elsewhere = 0.0;
  for (const double value : baseline.tokens) elsewhere += value;
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const std::optional<std::uint32_t> other = result.in_baseline(batch, token);
    found.tokens.push_back(other && *other < baseline.tokens.size() ? baseline.tokens[*other] : 0.0);
    elsewhere -= found.tokens.back();
  }
  return found;
}

/// Returns the finding about the baseline, when all of it is known.
template <typename Found>
const Found* whole(const Analysed* answer) {
  return answer && answer->is_done ? answer->as<Found>() : nullptr;
}

HeadNumbers heads_of(const LogitAttribution& found) {
  HeadNumbers numbers;
  for (std::uint32_t layer = 0; layer < found.layers.size(); ++layer) {
    const std::vector<double>& heads = found.layers[layer].heads;
    for (std::uint32_t head = 0; head < heads.size(); ++head) {
      numbers[{.block = encoder_block(layer), .head = head}] = heads[head];
    }
  }
  return numbers;
}

}  // namespace

LogitQuestion parts_of(const ChosenLogit& logit) {
  return {.batch = logit.position.batch, .position = logit.position.token, .token = logit.token, .other = logit.other};
}

LogitSourcesQuestion sources_of(const ChosenLogit& logit, const State& state) {
  LogitSourcesQuestion question{parts_of(logit)};
  const HeadRef selected = state.selection.head_ref();
  if (!state[kLogitsView.sums_heads]) question.head = selected;
  return question;
}

NumberRef number_of(const Frame& frame, const ChosenLogit& logit, std::string_view of, const Compared<double>& value) {
  NumberRef number{.of = std::string(of),
                   .block = frame.state.selection.block,
                   .batch = logit.position.batch,
                   .head = frame.state.selection.head,
                   .row = logit.position.token,
                   .column = logit.token,
                   .value = value.now};
  add_baseline(number, value);
  return number;
}

std::optional<ExplainedLogit> explain_logit(const EngineResult& result, std::uint32_t batch, const Analysed* parts,
                                            const Analysed* sources, const Analysed* baseline_parts,
                                            const Analysed* baseline_sources) {
  const auto* now = parts ? parts->as<LogitAttribution>() : nullptr;
  if (now == nullptr) return std::nullopt;
  ExplainedLogit explained{.parts = {.now = *now}};
  const auto* before = whole<LogitAttribution>(baseline_parts);
  if (is_comparable(*now, before)) explained.parts.baseline = *before;
  if (const auto* known = sources ? sources->as<LogitSources>() : nullptr) {
    explained.sources = {.now = *known};
    const auto* others = whole<LogitSources>(baseline_sources);
    if (explained.parts.baseline && others) {
      explained.sources->baseline =
          of_counterparts(result, batch, *others, known->tokens.size(), explained.baseline_elsewhere);
    }
  }
  return explained;
}

std::vector<LogitComponent> components_of(const Compared<LogitAttribution>& found) {
  std::vector<LogitComponent> components;
  const auto add = [&](std::string title, std::optional<std::uint32_t> layer, const auto& part) {
    components.push_back({.title = std::move(title), .value = found.part(part), .layer = layer});
  };
  add("embedding", {}, [](const LogitAttribution& of) { return of.embedding; });
  for (std::uint32_t layer = 0; layer < found.now.layers.size(); ++layer) {
    add(fmt::format("layer {} attention", layer), layer,
        [=](const LogitAttribution& of) { return of.layers[layer].attention(); });
    add(fmt::format("layer {} MLP", layer), layer, [=](const LogitAttribution& of) { return of.layers[layer].mlp; });
  }
  add("biases at the end", {}, [](const LogitAttribution& of) { return of.constant; });
  return components;
}

HeadScores scores_of(const Compared<LogitAttribution>& found) {
  const HeadNumbers before = found.baseline ? heads_of(*found.baseline) : HeadNumbers();
  return {"part of the logit", true, heads_of(found.now), found.baseline ? &before : nullptr};
}

Table logit_table(const ExplainedLogit& logit, const std::vector<std::string>& tokens) {
  using Parts = LogitAttribution;
  Table table = named_columns({"part", "layer", "head", "token", "value"});
  const auto add = [&](const char* name, const auto& part, CellNumber layer = {}, CellNumber head = {}) {
    table.put(name, layer, head, "", logit.parts.part(part));
  };
  add("logit", [](const Parts& of) { return of.logit; });
  add("embedding", [](const Parts& of) { return of.embedding; });
  add("biases", [](const Parts& of) { return of.constant; });
  for (std::size_t layer = 0; layer < logit.parts.now.layers.size(); ++layer) {
    for (std::size_t head = 0; head < logit.parts.now.layers[layer].heads.size(); ++head)
      add(
          "head", [=](const Parts& of) { return of.layers[layer].heads[head]; }, layer, head);
    add(
        "attention bias", [=](const Parts& of) { return of.layers[layer].attention_bias; }, layer);
    add(
        "mlp", [=](const Parts& of) { return of.layers[layer].mlp; }, layer);
  }
  for (std::size_t token = 0; logit.sources && token < logit.sources->now.tokens.size(); ++token) {
    table.put("source token", CellNumber(), CellNumber(), token < tokens.size() ? tokens[token] : std::to_string(token),
              logit.sources->part([=](const LogitSources& of) { return of.tokens[token]; }));
  }
  if (logit.baseline_elsewhere != 0.0) {
    table.put("source tokens of the second text alone", CellNumber(), CellNumber(), "",
              Compared<double>{.now = 0.0, .baseline = logit.baseline_elsewhere});
  }
  return table;
}

}  // namespace headlight::app
