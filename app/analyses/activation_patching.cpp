#include "app/analyses/activation_patching.h"

#include <algorithm>
#include <utility>

#include "app/analyses/patch_place.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Numbers of activations that are read at once.
constexpr std::size_t kStepNumbers = std::size_t{1} << 18;

/// Cells of one layer that are patched together, each in a pass of its own.
constexpr std::size_t kMostPatches = 32;

/// Activations of one layer that are read together: of some tokens, or of some heads, each a cell of the map.
struct Unit {
  model::BlockRef block;
  std::size_t row = 0;                 ///< of the map
  std::size_t column = 0;              ///< of the first cell
  std::uint32_t head = 0, heads = 0;   ///< the first, and how many; 0 where the map isn't of heads
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
  /// What is read next: the numbers of both runs as they are, the unit's activations in both, then a patched pass for each
  /// cell in which these differ.
  enum class Step : std::uint8_t { TargetNumbers, SourceNumbers, SourceValues, TargetValues, Pass };

  void check(const AnalysisQuery& query, const AnalysisSubject& subject) const;
  void list_units(const AnalysisQuery& query, const AnalysisSubject& subject);
  /// Heads are one cell each, tokens one each otherwise.
  static std::size_t cells_of(const Unit& unit) { return unit.heads > 0 ? unit.heads : unit.count; }
  /// Numbers of one cell.
  std::size_t cell_numbers() const { return source_values_.size() / cells_of(units_[unit_]); }
  /// Of the unit's head number `head`.
  PatchPlace place(std::uint32_t head) const;
  inference::Intervention patch(std::size_t cell) const;
  void keep(std::size_t cell, const PatchedNumbers& numbers);
  /// Lists the unit's cells whose activations differ; the others are what the target is.
  void find_cells();
  /// Goes on to the next unit where nothing is left of this one.
  void go_on();

  PatchMap map_;
  bool into_reference_;
  std::uint32_t batch_;
  std::array<std::uint32_t, 2> tokens_;
  inference::StateRef state_;  ///< whose prediction is measured
  std::vector<Unit> units_;
  BlockShapes shapes_;
  Step step_ = Step::TargetNumbers;
  std::size_t unit_ = 0;
  std::vector<std::size_t> cells_;                    ///< of the unit that are still to be patched
  std::vector<float> source_values_, target_values_;  ///< of the unit [head, token, width]
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
      const std::uint32_t patched = is_at_token ? 1 : count;
      const std::size_t numbers = std::max<std::size_t>(std::size_t{patched} * shape.d_v, 1);
      const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(kStepNumbers / numbers, 1));
      for (std::uint32_t head = 0; head < shape.heads && patched > 0; head += most) {
        units_.push_back({.block = block,
                          .row = row,
                          .column = head,
                          .head = head,
                          .heads = std::min(most, shape.heads - head),
                          .first = is_at_token ? query.key - 1 : first,
                          .count = patched});
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
    const Unit& unit = units_[unit_];
    for (std::uint32_t head = 0; head < std::max(unit.heads, 1U); ++head) {
      read_place(place(head), shapes_.at(unit.block), reads);
    }
    return reads;
  }
  reads.logits.push_back(state_);
  if (step_ != Step::Pass) return reads;
  for (std::size_t i = 0; i < std::min(cells_.size(), kMostPatches); ++i) reads.passes.push_back({patch(cells_[i])});
  return reads;
}

PatchPlace ActivationPatchingTask::place(std::uint32_t head) const {
  const Unit& unit = units_[unit_];
  return {
      .map = map_, .block = unit.block, .batch = batch_, .head = unit.head + head, .first = unit.first, .count = unit.count};
}

inference::Intervention ActivationPatchingTask::patch(std::size_t cell) const {
  const Unit& unit = units_[unit_];
  const auto at = static_cast<std::uint32_t>(cell);
  inference::Intervention one = intervention_at(place(unit.heads > 0 ? at : 0));
  const auto from = source_values_.begin() + static_cast<std::ptrdiff_t>(cell * cell_numbers());
  one.operation = inference::Replace{.item = batch_,
                                     .first = unit.heads > 0 ? unit.first : unit.first + at,
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
      match_missing(source_values_, target_values_);
      step_ = Step::Pass;
      find_cells();
      return go_on();
    case Step::Pass: {
      const std::size_t width = answers.logits.size() / answers.passes;
      for (std::size_t i = 0; i < answers.passes; ++i) {
        keep(cells_[i], patched_numbers(answers.logits.subspan(i * width, width), tokens_[0], tokens_[1]));
      }
      cells_.erase(cells_.begin(), cells_.begin() + static_cast<std::ptrdiff_t>(answers.passes));
      return go_on();
    }
  }
}

void ActivationPatchingTask::keep(std::size_t cell, const PatchedNumbers& numbers) {
  const Unit& unit = units_[unit_];
  found_.patched[unit.row * found_.columns + unit.column + cell] = numbers;
  ++found_.known;
}

void ActivationPatchingTask::find_cells() {
  const std::size_t width = cell_numbers();
  for (std::size_t cell = 0; cell < cells_of(units_[unit_]); ++cell) {
    const auto at = static_cast<std::ptrdiff_t>(cell * width), end = at + static_cast<std::ptrdiff_t>(width);
    if (std::equal(source_values_.begin() + at, source_values_.begin() + end, target_values_.begin() + at)) {
      keep(cell, found_.target);
    } else {
      cells_.push_back(cell);
    }
  }
}

void ActivationPatchingTask::go_on() {
  if (!cells_.empty()) return;
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
                                       .title = "what activations of the baseline change",
                                       .begin = &begin_patching,
                                       .compares = true};

AnalysisQuery patching_query(const PatchingChoices& choices, model::BlockKind kind, std::uint32_t batch,
                             std::uint32_t position, std::uint32_t token, std::optional<std::uint32_t> other) {
  AnalysisQuery query{.analysis = &kActivationPatching, .block = {.kind = kind}, .batch = batch, .query = position};
  const bool is_at_token = choices.map == PatchMap::Heads && choices.at_token && choices.token;
  query.key = is_at_token ? *choices.token + 1 : 0;
  query.tokens = {token, other.value_or(token)};
  query.options = {static_cast<std::uint32_t>(choices.map), choices.into_baseline ? 1U : 0U};
  return query;
}

}  // namespace headlight::app
