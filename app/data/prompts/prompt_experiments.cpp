#include "app/data/prompts/prompt_experiments.h"

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/lens_cells.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/state/state_names.h"
#include "core/error.h"

namespace headlight::app {

Task<PromptFindings> measure_found_paths(PromptQuestion question, PromptFindings findings, TellPrompts tell) {
  constexpr std::size_t kLogit = 0, kTriedReceivers = 3;
  constexpr double kVisibleShare = 0.05;  // of what the receiver's own output changes
  const auto measured = [&](const PromptQuestion& part, const std::string& what) {
    return measure_set(part, findings, [&findings, &tell, what](const PromptFindings& found) {
      findings.search = fmt::format("{}: {} of {} prompts\u2026", what, found.measured(), found.included());
      tell(findings);
    });
  };
  PromptQuestion heads = question;
  heads.experiment = PromptExperiment::Patching;
  heads.patching.map = PatchMap::Heads;
  heads.patching.part = model::Site::HeadOutput;
  const PromptFindings alone =
      co_await measured(heads, "Patching heads by themselves, to find those in which paths can end");
  const std::size_t columns = findings.columns.size(), cells = findings.layers.size() * columns;
  std::vector<std::pair<double, std::size_t>> candidates;   // size of the mean, below 0, and cell
  for (std::size_t cell = columns; cell < cells; ++cell) {  // none comes before a head of the first layer
    if (const PromptSpread spread = spread_of(alone, kLogit, cell); spread.count > 0)
      candidates.emplace_back(-std::abs(spread.mean), cell);
  }
  std::ranges::sort(candidates);
  if (candidates.empty()) candidates.emplace_back(0.0, cells - columns);
  PromptFindings best;
  double strongest = -1.0;
  for (std::size_t i = 0; i < std::min(candidates.size(), kTriedReceivers); ++i) {
    if (strongest > kVisibleShare * -candidates.front().first) break;
    PathReceiver receiver = question.patching.receiver;
    receiver.layer = findings.layers[candidates[i].second / columns];
    receiver.head = static_cast<std::uint32_t>(candidates[i].second % columns);
    for (const PathInput input : {PathInput::Value, PathInput::Key, PathInput::Query}) {
      receiver.input = input;
      PromptQuestion paths = question;
      paths.patching.receiver = receiver;
      const std::string what = fmt::format("Paths into the {} of L{} H{}", enum_name<PathInput>(kPathInputs, input),
                                           receiver.layer, receiver.head);
      PromptFindings found = co_await measured(paths, what);
      const std::optional<std::size_t> cell = strongest_cell(found, kLogit);
      const double size = cell ? std::abs(spread_of(found, kLogit, *cell).mean) : 0.0;
      if (size <= strongest) continue;
      strongest = size;
      best = std::move(found);
      best.receiver = receiver;
    }
  }
  best.search.clear();
  co_return best;
}

namespace {

constexpr model::BlockKind kKind = model::BlockKind::EncoderSelf;  // of models with one stack
constexpr std::size_t kMeasures = 3;                               // logit, probability, loss; or those of LensMeasure
constexpr const char *kMlp = "MLP", *kAnswer = "answer", *kWrong = "wrong";

/// Cells of the measures of one prompt.
class PromptCells {
 public:
  PromptCells(const PromptFindings& findings, std::size_t measures)
      : findings_(findings),
        cells_(measures, std::vector<float>(findings.layers.size() * findings.columns.size(),
                                            std::numeric_limits<float>::quiet_NaN())) {}

  void keep(std::size_t measure, std::size_t row, std::size_t column, double value) {
    cells_[measure][row * findings_.columns.size() + column] = static_cast<float>(value);
  }
  /// Of a layer and a head of it.
  void keep(std::size_t measure, const HeadRef& head, double value) {
    const auto row = std::ranges::find(findings_.layers, head.block.layer.value) - findings_.layers.begin();
    if (head.block.kind == kKind) keep(measure, static_cast<std::size_t>(row), head.head, value);
  }
  std::vector<std::vector<float>> take() { return std::move(cells_); }

 private:
  const PromptFindings& findings_;
  std::vector<std::vector<float>> cells_;
};

Task<void> keep_knockouts(const PromptQuestion& question, const PromptItem& item, const AnalysisSubject& subject,
                          PromptCells& cells) {
  const MeasuredToken measured = item.measured();
  KnockoutsQuestion asked{.ablation = question.ablation, .measures_loss = question.measures_loss, .batch = measured.batch};
  if (!question.measures_loss) {
    asked.position = measured.position;
    asked.token = measured.token;
    asked.other = measured.other;
  }
  const HeadKnockouts found = co_await analyse(asked, subject);
  for (const auto& [head, numbers] : found.without) {
    for (std::size_t i = 0; i < kMeasures; ++i) {
      const auto measure = static_cast<KnockoutMeasure>(i);
      if (question.measures_loss == (measure == KnockoutMeasure::Loss)) cells.keep(i, head, *found.change(head, measure));
    }
  }
}

void keep_effect(const PatchEffects& found, std::size_t row, std::size_t from, std::size_t column, PromptCells& cells) {
  const std::optional<PatchedNumbers>& patched = found.at(row, from);
  if (!patched) return;
  for (const auto measure : {PatchMeasure::Logit, PatchMeasure::Probability, PatchMeasure::Loss})
    cells.keep(static_cast<std::size_t>(measure), row, column, patched->of(measure) - found.target.of(measure));
}

void keep_heads(const PatchEffects& found, PromptCells& cells) {
  for (std::size_t row = 0; row < found.rows(); ++row) {
    for (std::size_t head = 0; head < found.columns; ++head) keep_effect(found, row, head, head, cells);
  }
}

std::optional<std::uint32_t> patched_token(const PromptQuestion& question, const PromptItem& item) {
  const auto position = question.position.empty() ? std::nullopt : item.prompt.position(question.position);
  return position ? std::optional(item.start + *position) : std::nullopt;
}

Task<void> keep_patches(const PromptQuestion& question, const PromptFindings& findings, const PromptItem& item,
                        const AnalysisSubject& subject, PromptCells& cells) {
  PatchingQuestion asked{.site = patched_site(question.patching),
                         .kind = kKind,
                         .into_baseline = question.patching.into_baseline,
                         .token = patched_token(question, item),
                         .measured = item.measured()};
  if (question.patching.map == PatchMap::Heads) {
    const PatchEffects found = co_await analyse(asked, subject);
    keep_heads(found, cells);
    co_return;
  }
  for (const auto& [name, token] : item.prompt.positions) asked.tokens.push_back(item.start + token);
  std::ranges::sort(asked.tokens);
  asked.tokens.erase(std::unique(asked.tokens.begin(), asked.tokens.end()), asked.tokens.end());
  const PatchEffects found = co_await analyse(asked, subject);
  for (std::size_t row = 0; row < found.rows(); ++row) {
    for (const auto& [name, token] : item.prompt.positions) {
      const auto column = std::ranges::find(findings.columns, name) - findings.columns.begin();
      keep_effect(found, row, item.start + token - found.first, static_cast<std::size_t>(column), cells);
    }
  }
}

Task<void> keep_paths(const PromptQuestion& question, const PromptItem& item, const AnalysisSubject& subject,
                      PromptCells& cells) {
  const PathReceiver& receiver = question.patching.receiver;
  const std::optional<HeadRef> end = receiver_in(receiver, subject.shapes);
  if (!end) throw Error("the model has no attention of the receiver's kind");
  const PathQuestion asked{.receiver = *end,
                           .input = receiver.input,
                           .senders = kKind,
                           .into_baseline = question.patching.into_baseline,
                           .recomputes_mlps = receiver.recomputes_mlps,
                           .token = patched_token(question, item),
                           .measured = item.measured()};
  const PatchEffects found = co_await analyse(asked, subject);
  keep_heads(found, cells);
}

Task<void> keep_attribution(const PromptFindings& findings, const PromptItem& item, const AnalysisSubject& subject,
                            PromptCells& cells) {
  const MeasuredToken measured = item.measured();
  const LogitQuestion asked{
      .batch = measured.batch, .position = measured.position, .token = measured.token, .other = measured.other};
  const LogitAttribution found = co_await analyse(asked, subject);
  for (std::size_t row = 0; row < found.layers.size(); ++row) {
    const attribution::LayerLogits& layer = found.layers[row];
    for (std::size_t head = 0; head < layer.heads.size(); ++head) cells.keep(0, row, head, layer.heads[head]);
    cells.keep(0, row, findings.columns.size() - 1, layer.mlp);
  }
}

Task<void> keep_lens(const PromptQuestion& question, const PromptFindings& findings, const PromptItem& item,
                     const AnalysisSubject& subject, PromptCells& cells) {
  const MeasuredToken measured = item.measured();
  for (std::size_t column = 0; column < 2; ++column) {
    const std::optional<std::uint32_t> token = column == 0 ? std::optional(measured.token) : measured.other;
    if (!token) continue;
    for (std::size_t first = 0; first < findings.layers.size(); first += kLensLayers) {
      const LensQuestion asked{.batch = measured.batch,
                               .token = measured.position,
                               .first = static_cast<std::uint32_t>(first),
                               .ranked = token,
                               .lens = question.lens};
      const LensCells found = co_await analyse(asked, subject);
      for (std::size_t at = 0; at < found.layers.size(); ++at) {
        const LensCell& cell = found.layers[at];
        cells.keep(static_cast<std::size_t>(LensMeasure::Probability), first + at, column, cell.probability);
        cells.keep(static_cast<std::size_t>(LensMeasure::Rank), first + at, column, cell.rank);
        cells.keep(static_cast<std::size_t>(LensMeasure::Logit), first + at, column, cell.logit);
      }
    }
  }
}

Task<void> keep_metrics(const PromptQuestion& question, const PromptItem& item, const AnalysisSubject& subject,
                        PromptCells& cells) {
  const HeadMetricsQuestion asked{.kind = kKind, .batch = item.batch};
  const HeadMetricsFound found = co_await analyse(asked, subject);
  for (const auto& [head, metrics] : found.heads) {
    for (std::size_t i = 0; i < evaluation::kHeadMetrics; ++i) {
      if (const auto value = metrics.value(static_cast<evaluation::HeadMetric>(i), question.scoring))
        cells.keep(i, head, *value);
    }
  }
}

}  // namespace

PatchMap patched_map(const PatchingChoices& choices) {
  return choices.map == PatchMap::Paths || choices.map == PatchMap::Weights ? PatchMap::Residual : choices.map;
}

void name_cells(const PromptQuestion& question, const model::Network& network, PromptFindings& findings) {
  std::uint32_t heads = 0;
  for (const model::BlockRef block : network.blocks()) {
    findings.layers.push_back(block.layer.value);
    heads = std::max(heads, network.layer(block).config.heads);
  }
  if (question.experiment == PromptExperiment::Lens) {
    findings.layers.push_back(static_cast<std::uint32_t>(findings.layers.size()));
    findings.columns = {kAnswer, kWrong};
    return;
  }
  if (question.experiment == PromptExperiment::Patching && question.patching.map != PatchMap::Heads) {
    for (std::size_t at = 0; at < findings.prompts(); ++at) {
      if (!findings.left_out[at].empty()) continue;
      for (const auto& [name, token] : (*findings.fitted)[at].positions) {
        const bool is_new = name != kEndPosition && std::ranges::find(findings.columns, name) == findings.columns.end();
        if (is_new) findings.columns.push_back(name);
      }
    }
    findings.columns.emplace_back(kEndPosition);
    return;
  }
  for (std::uint32_t head = 0; head < heads; ++head) findings.columns.push_back(std::to_string(head));
  if (question.experiment == PromptExperiment::Attribution) findings.columns.emplace_back(kMlp);
}

Task<std::vector<std::vector<float>>> measure_prompt(const PromptQuestion& question, const PromptFindings& findings,
                                                     const PromptItem& item, const AnalysisSubject& subject) {
  PromptCells cells(findings, question.experiment == PromptExperiment::Metrics ? evaluation::kHeadMetrics : kMeasures);
  using enum PromptExperiment;
  const PromptExperiment experiment = question.experiment;
  if (experiment == Knockouts) co_await keep_knockouts(question, item, subject, cells);
  if (experiment == Patching) co_await keep_patches(question, findings, item, subject, cells);
  if (experiment == Paths) co_await keep_paths(question, item, subject, cells);
  if (experiment == Attribution) co_await keep_attribution(findings, item, subject, cells);
  if (experiment == Lens) co_await keep_lens(question, findings, item, subject, cells);
  if (experiment == Metrics) co_await keep_metrics(question, item, subject, cells);
  co_return cells.take();
}

}  // namespace headlight::app
