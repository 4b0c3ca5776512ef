#include "app/analyses/activation_patching.h"

#include <algorithm>
#include <utility>

#include "app/analyses/patch_place.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Numbers of activations that are read at once.
constexpr std::size_t kStepNumbers = std::size_t{1} << 18;

/// Activations of one layer that are read together: of some tokens, each a cell of the map, or of a head, which is one cell.
struct Unit {
  model::BlockRef block;
  std::size_t row = 0;     ///< of the map
  std::size_t column = 0;  ///< of the first cell
  std::uint32_t head = 0;
  std::uint32_t first = 0, count = 0;  ///< tokens
};

class ActivationPatchingTask final : public AnalysisTask {
 public:
  ActivationPatchingTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return unit_ == units_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  /// What is read next: the numbers of both runs as they are, the unit's activations in both, then a patched pass a cell.
  enum class Step : std::uint8_t { TargetNumbers, SourceNumbers, SourceValues, TargetValues, Pass };

  void check(const AnalysisQuery& query, const AnalysisSubject& subject) const;
  void list_units(const AnalysisQuery& query, const AnalysisSubject& subject);
  /// Heads are one cell each, tokens one each otherwise.
  std::size_t cells_of(const Unit& unit) const { return map_ == PatchMap::Heads ? 1 : unit.count; }
  /// Numbers of one cell.
  std::size_t cell_numbers() const { return source_values_.size() / cells_of(units_[unit_]); }
  PatchPlace place() const;
  inference::Intervention patch() const;
  void keep(const PatchedNumbers& numbers);
  /// Goes on to the next cell whose activations differ.
  void skip_equal();

  PatchMap map_;
  bool into_reference_;
  std::uint32_t batch_;
  std::array<std::uint32_t, 2> tokens_;
  inference::StateRef state_;  ///< whose prediction is measured
  std::vector<Unit> units_;
  BlockShapes shapes_;
  Step step_ = Step::TargetNumbers;
  std::size_t unit_ = 0, cell_ = 0;
  std::vector<float> source_values_, target_values_;  ///< of the unit [token, width]
  PatchEffects found_;
};

ActivationPatchingTask::ActivationPatchingTask(const AnalysisQuery& query, const AnalysisSubject& subject)
    : map_(static_cast<PatchMap>(query.options[0])),
      into_reference_(query.options[1] != 0),
      batch_(query.batch),
      tokens_(query.tokens) {
  state_ = measured_state(query, subject);
  check(query, subject);
  shapes_ = subject.shapes;
  list_units(query, subject);
}

void ActivationPatchingTask::check(const AnalysisQuery& query, const AnalysisSubject& subject) const {
  const bool is_decoder = query.block.kind == model::BlockKind::DecoderSelf;
  if (is_decoder && map_ == PatchMap::FeedForward) {
    throw Error("a decoder layer's feed-forward network follows its cross-attention: choose Cross");
  }
  const bool is_cross = query.block.kind == model::BlockKind::Cross;
  if (is_cross && map_ == PatchMap::Residual && subject.network->layers->decoder.front().self) {
    throw Error("a decoder layer begins with its self-attention: choose Decoder");
  }
}

void ActivationPatchingTask::list_units(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const model::TokenBatch& tokens = subject.input->queries(query.block.kind);
  if (query.batch >= tokens.batch) throw Error("this run has {} lines", tokens.batch);
  const std::uint32_t first = tokens.start(query.batch), count = tokens.lengths[query.batch];
  const bool is_heads = map_ == PatchMap::Heads;
  const bool is_at_token = query.key > 0;
  if (is_at_token && (query.key - 1 < first || query.key - 1 >= first + count)) throw Error("this line has no such token");
  for (const auto& [block, shape] : subject.shapes) {
    if (block.kind != query.block.kind) continue;
    const model::AttentionLayer& layer = subject.network->layer(block);
    const bool has_site = is_heads || (map_ == PatchMap::FeedForward       ? layer.feed_forward.has_value()
                                       : map_ == PatchMap::AttentionOutput ? shape.d_output > 0
                                                                           : shape.has_input);
    if (!has_site) throw Error("layer {} has nothing of this kind", block.layer.value);
    const std::size_t row = found_.layers.size();
    found_.layers.push_back(block.layer.value);
    found_.columns = is_heads ? std::max<std::size_t>(found_.columns, shape.heads) : count;
    if (is_heads) {
      for (std::uint32_t head = 0; head < shape.heads; ++head) {
        units_.push_back({.block = block,
                          .row = row,
                          .column = head,
                          .head = head,
                          .first = is_at_token ? query.key - 1 : first,
                          .count = is_at_token ? 1 : count});
      }
      continue;
    }
    const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(kStepNumbers / patch_width(map_, shape), 1));
    for (std::uint32_t at = 0; at < count; at += most) {
      units_.push_back({.block = block, .row = row, .column = at, .first = first + at, .count = std::min(most, count - at)});
    }
  }
  if (units_.empty()) throw Error("this line has no tokens, or the network no such attention");
  found_.first = is_heads ? 0 : first;
  found_.patched.resize(found_.layers.size() * found_.columns);
  for (const Unit& unit : units_) found_.all += cells_of(unit);
}

AnalysisTask::Reads ActivationPatchingTask::next(std::size_t /*most_cells*/) {
  Reads reads;
  const bool is_of_source = step_ == Step::SourceNumbers || step_ == Step::SourceValues;
  reads.is_of_reference = is_of_source != into_reference_;
  if (step_ == Step::SourceValues || step_ == Step::TargetValues) {
    read_place(place(), shapes_.at(units_[unit_].block), reads);
    return reads;
  }
  reads.logits.push_back(state_);
  if (step_ == Step::Pass) reads.changes.push_back(patch());
  return reads;
}

PatchPlace ActivationPatchingTask::place() const {
  const Unit& unit = units_[unit_];
  return {.map = map_, .block = unit.block, .batch = batch_, .head = unit.head, .first = unit.first, .count = unit.count};
}

inference::Intervention ActivationPatchingTask::patch() const {
  inference::Intervention one = intervention_at(place());
  const auto from = source_values_.begin() + static_cast<std::ptrdiff_t>(cell_ * cell_numbers());
  one.operation = inference::Replace{.item = batch_,
                                     .first = units_[unit_].first + static_cast<std::uint32_t>(cell_),
                                     .rows = {from, from + static_cast<std::ptrdiff_t>(cell_numbers())}};
  return one;
}

void ActivationPatchingTask::take(const Answers& answers) {
  switch (step_) {
    case Step::TargetNumbers:
      found_.target = patched_numbers(answers.logits, tokens_[0], tokens_[1]);
      step_ = Step::SourceNumbers;
      return;
    case Step::SourceNumbers:
      found_.source = patched_numbers(answers.logits, tokens_[0], tokens_[1]);
      step_ = Step::SourceValues;
      return;
    case Step::SourceValues:
      source_values_ = place_values(answers);
      step_ = Step::TargetValues;
      return;
    case Step::TargetValues:
      target_values_ = place_values(answers);
      step_ = Step::Pass;
      cell_ = 0;
      return skip_equal();
    case Step::Pass:
      keep(patched_numbers(answers.logits, tokens_[0], tokens_[1]));
      ++cell_;
      return skip_equal();
  }
}

void ActivationPatchingTask::keep(const PatchedNumbers& numbers) {
  const Unit& unit = units_[unit_];
  found_.patched[unit.row * found_.columns + unit.column + cell_] = numbers;
  ++found_.known;
}

void ActivationPatchingTask::skip_equal() {
  const std::size_t cells = cells_of(units_[unit_]), width = cell_numbers();
  while (cell_ < cells) {
    const auto at = static_cast<std::ptrdiff_t>(cell_ * width), end = at + static_cast<std::ptrdiff_t>(width);
    if (!std::equal(source_values_.begin() + at, source_values_.begin() + end, target_values_.begin() + at)) return;
    keep(found_.target);
    ++cell_;
  }
  ++unit_;
  step_ = Step::SourceValues;
}

std::shared_ptr<const AnalysisResult> ActivationPatchingTask::result() const {
  const bool has_numbers = step_ != Step::TargetNumbers && step_ != Step::SourceNumbers;
  return has_numbers ? std::make_shared<const PatchEffects>(found_) : nullptr;
}

std::unique_ptr<AnalysisTask> begin_patching(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<ActivationPatchingTask>(query, subject);
}

}  // namespace

constexpr Analysis kActivationPatching{.id = "activation-patching",
                                       .title = "what activations of the frozen run change",
                                       .begin = &begin_patching,
                                       .compares = true};

AnalysisQuery patching_query(const PatchingChoices& choices, model::BlockKind kind, std::uint32_t batch,
                             std::uint32_t position, std::uint32_t token, std::optional<std::uint32_t> other) {
  AnalysisQuery query{.analysis = &kActivationPatching, .block = {.kind = kind}, .batch = batch, .query = position};
  const bool is_at_token = choices.map == PatchMap::Heads && choices.at_token && choices.token;
  query.key = is_at_token ? *choices.token + 1 : 0;
  query.tokens = {token, other.value_or(token)};
  query.options = {static_cast<std::uint32_t>(choices.map), choices.into_frozen ? 1U : 0U};
  return query;
}

}  // namespace headlight::app
