#include "app/analyses/path_patching.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "app/analyses/patch_place.h"
#include "app/analyses/path_chain.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Numbers of frozen outputs that are kept at most: 256 MiB.
constexpr std::size_t kMostFrozen = std::size_t{1} << 26;

/// Tokens, padding counted.
struct TokenRange {
  std::uint32_t first = 0, count = 0;
};

TokenRange tokens_of_line(const model::TokenBatch& tokens, std::uint32_t batch) {
  if (batch >= tokens.batch || tokens.lengths[batch] == 0) throw Error("this line has no tokens");
  return {.first = tokens.start(batch), .count = tokens.lengths[batch]};
}

/// What a block gave in the patched run before anything was changed.
struct FrozenBlock {
  model::BlockRef block;
  std::vector<float> attention, feed_forward;  ///< [token, d_model]; empty: not needed, or there is none
};

class PathPatchingTask final : public AnalysisTask {
 public:
  PathPatchingTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return sender_ == senders_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  /// What is read next: the numbers of both runs, what is frozen block by block, what the receiver reads as it is; then of
  /// each sender its output in both runs, what the receiver reads of the path, and what that does.
  enum class Step : std::uint8_t { TargetNumbers, SourceNumbers, Frozen, Received, SourceOutput, TargetOutput, Path, Pass };
  struct Sender {
    std::size_t at = 0;  ///< in the chain
    std::size_t row = 0;
    std::uint32_t head = 0;
  };

  void list_senders(const AnalysisQuery& query);
  void list_frozen(const AnalysisSubject& subject);
  PatchPlace place_of(PatchMap map, model::BlockRef block, TokenRange tokens, std::uint32_t head = 0) const;
  attention::TileRequest received_tile() const;
  inference::Intervention replaced(const PatchPlace& place, std::vector<float> rows) const;
  inference::Interventions path() const;
  inference::Intervention receiver_patch() const;
  void read_frozen(Reads& reads) const;
  void take_frozen(const Answers& answers);
  /// Goes on to the next block of which something is frozen.
  void find_frozen();
  void keep(const PatchedNumbers& numbers);

  PathInput input_;
  bool into_reference_, recomputes_mlps_;
  std::uint32_t batch_;
  std::array<std::uint32_t, 2> tokens_;
  inference::StateRef state_;  ///< whose prediction is measured
  HeadRef receiver_;
  BlockShapes shapes_;
  std::vector<FrozenBlock> chain_;
  TokenRange chain_tokens_, sender_tokens_, receiver_tokens_;
  std::vector<Sender> senders_;
  Step step_ = Step::TargetNumbers;
  std::size_t frozen_ = 0, sender_ = 0;
  std::vector<float> received_;       ///< [token, d] by the receiver, of the patched run as it is
  std::vector<float> source_output_;  ///< [token, d_v] of the sender
  std::vector<float> path_received_;
  PatchEffects found_;
};

PathPatchingTask::PathPatchingTask(const AnalysisQuery& query, const AnalysisSubject& subject)
    : input_(static_cast<PathInput>(query.options[0])),
      into_reference_(query.options[1] != 0),
      recomputes_mlps_(query.options[3] != 0),
      batch_(query.batch),
      tokens_(query.tokens),
      state_(measured_state(query, subject)),
      receiver_{.block = {.kind = static_cast<model::BlockKind>(query.options[2]), .layer = query.block.layer},
                .head = query.head},
      shapes_(subject.shapes) {
  const auto shape = shapes_.find(receiver_.block);
  if (shape == shapes_.end() || receiver_.head >= shape->second.heads) throw Error("this run has no such receiver");
  for (const model::BlockRef block : path_chain(receiver_, input_, query.block.kind, subject)) {
    chain_.push_back({.block = block, .attention = {}, .feed_forward = {}});
  }
  const model::ModelInput& input = *subject.input;
  const bool is_query = input_ == PathInput::Query;
  receiver_tokens_ =
      tokens_of_line(is_query ? input.queries(receiver_.block.kind) : input.keys(receiver_.block.kind), batch_);
  chain_tokens_ = tokens_of_line(input.queries(query.block.kind), batch_);
  list_senders(query);
  list_frozen(subject);
}

void PathPatchingTask::list_senders(const AnalysisQuery& query) {
  sender_tokens_ = chain_tokens_;
  if (query.key > 0) {
    const std::uint32_t token = query.key - 1;
    const bool is_real = token >= chain_tokens_.first && token < chain_tokens_.first + chain_tokens_.count;
    if (!is_real) throw Error("this line has no such token");
    sender_tokens_ = {.first = token, .count = 1};
  }
  for (std::size_t at = 0; at < chain_.size(); ++at) {
    if (chain_[at].block.kind != query.block.kind) continue;
    const std::uint32_t heads = shapes_.at(chain_[at].block).heads;
    for (std::uint32_t head = 0; head < heads; ++head) {
      senders_.push_back({.at = at, .row = found_.layers.size(), .head = head});
    }
    found_.layers.push_back(chain_[at].block.layer.value);
    found_.columns = std::max<std::size_t>(found_.columns, heads);
  }
  found_.patched.resize(found_.layers.size() * found_.columns);
  found_.all = senders_.size();
}

void PathPatchingTask::list_frozen(const AnalysisSubject& subject) {
  std::size_t numbers = 0;
  for (std::size_t at = senders_.front().at; at < chain_.size(); ++at) {
    FrozenBlock& one = chain_[at];
    const inference::BlockShape& shape = shapes_.at(one.block);
    if (shape.d_output == 0) throw Error("layer {} has no output projection", one.block.layer.value);
    // Sized here, filled where they are read.
    if (at > senders_.front().at) one.attention.resize(std::size_t{chain_tokens_.count} * shape.d_output);
    const bool freezes_mlp = !recomputes_mlps_ && subject.network->layer(one.block).feed_forward.has_value();
    if (freezes_mlp) one.feed_forward.resize(std::size_t{chain_tokens_.count} * shape.d_model);
    numbers += one.attention.size() + one.feed_forward.size();
    if (numbers > kMostFrozen) {
      throw Error(
          "freezing the layers between takes more than {} MiB: choose a receiver in an earlier layer, or a shorter text",
          (kMostFrozen * sizeof(float)) >> 20);
    }
  }
}

PatchPlace PathPatchingTask::place_of(PatchMap map, model::BlockRef block, TokenRange tokens, std::uint32_t head) const {
  return {.map = map, .block = block, .batch = batch_, .head = head, .first = tokens.first, .count = tokens.count};
}

attention::TileRequest PathPatchingTask::received_tile() const {
  constexpr std::array kStages = {attention::Stage::Q, attention::Stage::K, attention::Stage::V};
  const inference::BlockShape& shape = shapes_.at(receiver_.block);
  return {.block = receiver_.block,
          .batch = batch_,
          .head = receiver_.head,
          .stage = kStages.at(static_cast<std::size_t>(input_)),
          .row = receiver_tokens_.first,
          .rows = receiver_tokens_.count,
          .columns = input_ == PathInput::Value ? shape.d_v : shape.d_k};
}

inference::Intervention PathPatchingTask::replaced(const PatchPlace& place, std::vector<float> rows) const {
  inference::Intervention one = intervention_at(place);
  one.operation = inference::Replace{.item = batch_, .first = place.first, .rows = std::move(rows)};
  return one;
}

inference::Interventions PathPatchingTask::path() const {
  const Sender& sender = senders_[sender_];
  inference::Interventions changes;
  changes.push_back(
      replaced(place_of(PatchMap::Heads, chain_[sender.at].block, sender_tokens_, sender.head), source_output_));
  for (std::size_t at = sender.at; at < chain_.size(); ++at) {
    const FrozenBlock& one = chain_[at];
    if (at > sender.at) {
      changes.push_back(replaced(place_of(PatchMap::AttentionOutput, one.block, chain_tokens_), one.attention));
    }
    if (!one.feed_forward.empty()) {
      changes.push_back(replaced(place_of(PatchMap::FeedForward, one.block, chain_tokens_), one.feed_forward));
    }
  }
  return changes;
}

inference::Intervention PathPatchingTask::receiver_patch() const {
  constexpr std::array kSites = {model::Site::Query, model::Site::Key, model::Site::Value};
  const inference::BlockShape& shape = shapes_.at(receiver_.block);
  const std::uint32_t group = shape.kv_heads == 0 ? 1 : shape.heads / shape.kv_heads;
  const std::uint32_t head = input_ == PathInput::Query ? receiver_.head : receiver_.head / group;
  return {.site = kSites.at(static_cast<std::size_t>(input_)),
          .scope = inference::scope_of(receiver_.block, head),
          .operation = inference::Replace{.item = batch_, .first = receiver_tokens_.first, .rows = path_received_}};
}

void PathPatchingTask::read_frozen(Reads& reads) const {
  const FrozenBlock& one = chain_[frozen_];
  const inference::BlockShape& shape = shapes_.at(one.block);
  if (!one.attention.empty()) read_place(place_of(PatchMap::AttentionOutput, one.block, chain_tokens_), shape, reads);
  if (!one.feed_forward.empty()) read_place(place_of(PatchMap::FeedForward, one.block, chain_tokens_), shape, reads);
}

AnalysisTask::Reads PathPatchingTask::next(std::size_t /*most_cells*/) {
  Reads reads;
  const bool is_of_source = step_ == Step::SourceNumbers || step_ == Step::SourceOutput;
  reads.is_of_reference = is_of_source != into_reference_;
  switch (step_) {
    case Step::TargetNumbers:
    case Step::SourceNumbers:
      reads.logits.push_back(state_);
      break;
    case Step::Frozen:
      read_frozen(reads);
      break;
    case Step::SourceOutput:
    case Step::TargetOutput: {
      const Sender& sender = senders_[sender_];
      const model::BlockRef block = chain_[sender.at].block;
      read_place(place_of(PatchMap::Heads, block, sender_tokens_, sender.head), shapes_.at(block), reads);
      break;
    }
    case Step::Path:
      reads.changes = path();
      [[fallthrough]];
    case Step::Received:
      reads.tiles.push_back(received_tile());
      break;
    case Step::Pass:
      reads.changes.push_back(receiver_patch());
      reads.logits.push_back(state_);
      break;
  }
  return reads;
}

void PathPatchingTask::take_frozen(const Answers& answers) {
  FrozenBlock& one = chain_[frozen_];
  if (!one.attention.empty()) one.attention = answers.tiles.front().values;
  if (!one.feed_forward.empty()) one.feed_forward = answers.residuals.front().values;
  ++frozen_;
  find_frozen();
}

void PathPatchingTask::find_frozen() {
  while (frozen_ < chain_.size() && chain_[frozen_].attention.empty() && chain_[frozen_].feed_forward.empty()) ++frozen_;
  step_ = frozen_ < chain_.size() ? Step::Frozen : Step::Received;
}

void PathPatchingTask::take(const Answers& answers) {
  switch (step_) {
    case Step::TargetNumbers:
      found_.target = patched_numbers(answers.logits, tokens_[0], tokens_[1]);
      step_ = Step::SourceNumbers;
      return;
    case Step::SourceNumbers:
      found_.source = patched_numbers(answers.logits, tokens_[0], tokens_[1]);
      return find_frozen();
    case Step::Frozen:
      return take_frozen(answers);
    case Step::Received:
      received_ = answers.tiles.front().values;
      step_ = Step::SourceOutput;
      return;
    case Step::SourceOutput:
      source_output_ = answers.tiles.front().values;
      step_ = Step::TargetOutput;
      return;
    case Step::TargetOutput:
      if (answers.tiles.front().values == source_output_) return keep(found_.target);
      step_ = Step::Path;
      return;
    case Step::Path:
      path_received_ = answers.tiles.front().values;
      if (path_received_ == received_) return keep(found_.target);
      step_ = Step::Pass;
      return;
    case Step::Pass:
      return keep(patched_numbers(answers.logits, tokens_[0], tokens_[1]));
  }
}

void PathPatchingTask::keep(const PatchedNumbers& numbers) {
  const Sender& sender = senders_[sender_++];
  found_.patched[sender.row * found_.columns + sender.head] = numbers;
  ++found_.known;
  step_ = Step::SourceOutput;
}

std::shared_ptr<const AnalysisResult> PathPatchingTask::result() const {
  const bool has_numbers = step_ != Step::TargetNumbers && step_ != Step::SourceNumbers;
  return has_numbers ? std::make_shared<const PatchEffects>(found_) : nullptr;
}

std::unique_ptr<AnalysisTask> begin_path_patching(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<PathPatchingTask>(query, subject);
}

}  // namespace

constexpr Analysis kPathPatching{.id = "path-patching",
                                 .title = "what heads of the frozen run change by way of one other head",
                                 .begin = &begin_path_patching,
                                 .compares = true};

std::optional<HeadRef> receiver_in(const PathReceiver& receiver, const BlockShapes& shapes) {
  std::optional<HeadRef> head;
  for (const auto& [block, shape] : shapes) {
    if (block.kind != receiver.kind || (head && block.layer.value > receiver.layer) || shape.heads == 0) continue;
    head = HeadRef{.block = block, .head = std::min(receiver.head, shape.heads - 1)};
  }
  return head;
}

AnalysisQuery path_patching_query(const PatchingChoices& choices, const HeadRef& receiver, model::BlockKind senders,
                                  std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                                  std::optional<std::uint32_t> other) {
  AnalysisQuery query{.analysis = &kPathPatching,
                      .block = {.kind = senders, .layer = receiver.block.layer},
                      .batch = batch,
                      .head = receiver.head,
                      .query = position};
  query.key = choices.at_token && choices.token ? *choices.token + 1 : 0;
  query.tokens = {token, other.value_or(token)};
  query.options = {static_cast<std::uint32_t>(choices.receiver.input), choices.into_frozen ? 1U : 0U,
                   static_cast<std::uint32_t>(receiver.block.kind), choices.receiver.recomputes_mlps ? 1U : 0U};
  return query;
}

}  // namespace headlight::app
