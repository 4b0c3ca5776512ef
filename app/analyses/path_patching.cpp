#include "app/analyses/path_patching.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "app/analyses/patch_place.h"
#include "app/analyses/path_chain.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Numbers of frozen outputs that are kept at most: 256 MiB.
constexpr std::size_t kMostFrozen = std::size_t{1} << 26;
/// Senders of a layer that are offered to be computed together, each in a pass of its own; numbers of their outputs that are
/// read at once, and that their passes replace at most: 16 MiB.
constexpr std::size_t kMostSenders = 32, kMostOutputs = std::size_t{1} << 18, kMostReplaced = std::size_t{1} << 22;

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
  bool is_done() const override { return found_.is_complete(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  /// What is read next: the numbers of both runs, what is frozen block by block, what the receiver reads as it is; then of
  /// some senders of a layer their outputs in both runs, what the receiver reads of each path, and what that does.
  enum class Step : std::uint8_t {
    TargetNumbers,
    SourceNumbers,
    Frozen,
    Received,
    SourceOutputs,
    TargetOutputs,
    Path,
    Pass
  };
  struct Sender {
    std::size_t at = 0;  ///< in the chain
    std::size_t row = 0;
    std::uint32_t head = 0;
  };
  /// A sender, and the numbers that its next pass puts into the target.
  struct Begun {
    Sender sender;
    std::vector<float> values;  ///< [token, d_v] its output in the source; then [token, d] what the receiver reads
  };

  void list_senders(const AnalysisQuery& query);
  void list_frozen(const AnalysisSubject& subject);
  PatchPlace place_of(PatchMap map, model::BlockRef block, TokenRange tokens, std::uint32_t head = 0) const;
  attention::TileRequest received_tile() const;
  inference::Intervention replaced(const PatchPlace& place, std::vector<float> rows) const;
  /// From the next sender on, of one layer, as many as may be offered together.
  std::span<const Sender> offered() const;
  inference::Interventions path(const Begun& begun) const;
  inference::Intervention receiver_patch(const Begun& begun) const;
  void read_frozen(Reads& reads) const;
  void take_frozen(const Answers& answers);
  /// Goes on to the next block of which something is frozen.
  void find_frozen();
  /// Lists the offered senders whose output differs; the others leave the target as it is.
  void take_outputs(const Answers& answers);
  /// Of the first passes what the receiver reads, or what that does.
  void take_paths(const Answers& answers);
  void take_passes(const Answers& answers);
  void keep(const Sender& sender, const PatchedNumbers& numbers);
  /// Receivers' passes first, then paths, then the next senders.
  void go_on();

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
  std::vector<float> received_;   ///< [token, d] by the receiver, of the patched run as it is
  std::vector<Begun> begun_;      ///< senders whose path is still to be computed
  std::vector<Begun> receiving_;  ///< those by which the receiver reads something else
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
  if (into_reference_ && !subject.covers_reference) {
    throw Error("the other text has tokens without a counterpart here, which would not be frozen: patch into this run");
  }
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

std::span<const PathPatchingTask::Sender> PathPatchingTask::offered() const {
  const std::span<const Sender> rest = std::span(senders_).subspan(sender_);
  const std::size_t at = rest.front().at;
  const std::size_t outputs = std::size_t{sender_tokens_.count} * shapes_.at(chain_[at].block).d_v;
  std::size_t replaced = outputs;
  for (std::size_t block = at; block < chain_.size(); ++block) {
    replaced += chain_[block].feed_forward.size() + (block > at ? chain_[block].attention.size() : 0);
  }
  const std::size_t most = std::clamp<std::size_t>(std::min(kMostReplaced / replaced, kMostOutputs / outputs), 1,
                                                   std::min(rest.size(), kMostSenders));
  std::size_t count = 1;
  while (count < most && rest[count].at == at) ++count;
  return rest.first(count);
}

inference::Interventions PathPatchingTask::path(const Begun& begun) const {
  const Sender& sender = begun.sender;
  inference::Interventions changes;
  changes.push_back(replaced(place_of(PatchMap::Heads, chain_[sender.at].block, sender_tokens_, sender.head), begun.values));
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

inference::Intervention PathPatchingTask::receiver_patch(const Begun& begun) const {
  constexpr std::array kSites = {model::Site::Query, model::Site::Key, model::Site::Value};
  const inference::BlockShape& shape = shapes_.at(receiver_.block);
  const std::uint32_t group = shape.kv_heads == 0 ? 1 : shape.heads / shape.kv_heads;
  const std::uint32_t head = input_ == PathInput::Query ? receiver_.head : receiver_.head / group;
  return {.site = kSites.at(static_cast<std::size_t>(input_)),
          .scope = inference::scope_of(receiver_.block, head),
          .operation = inference::Replace{.item = batch_, .first = receiver_tokens_.first, .rows = begun.values}};
}

void PathPatchingTask::read_frozen(Reads& reads) const {
  const FrozenBlock& one = chain_[frozen_];
  const inference::BlockShape& shape = shapes_.at(one.block);
  if (!one.attention.empty()) read_place(place_of(PatchMap::AttentionOutput, one.block, chain_tokens_), shape, reads);
  if (!one.feed_forward.empty()) read_place(place_of(PatchMap::FeedForward, one.block, chain_tokens_), shape, reads);
}

AnalysisTask::Reads PathPatchingTask::next(std::size_t /*most_cells*/) {
  Reads reads;
  const bool is_of_source = step_ == Step::SourceNumbers || step_ == Step::SourceOutputs;
  reads.is_of_reference = is_of_source != into_reference_;
  switch (step_) {
    case Step::TargetNumbers:
    case Step::SourceNumbers:
      reads.logits.push_back(state_);
      break;
    case Step::Frozen:
      read_frozen(reads);
      break;
    case Step::SourceOutputs:
    case Step::TargetOutputs:
      for (const Sender& sender : offered()) {
        const model::BlockRef block = chain_[sender.at].block;
        read_place(place_of(PatchMap::Heads, block, sender_tokens_, sender.head), shapes_.at(block), reads);
      }
      break;
    case Step::Path:
      for (const Begun& begun : begun_) reads.passes.push_back(path(begun));
      [[fallthrough]];
    case Step::Received:
      reads.tiles.push_back(received_tile());
      break;
    case Step::Pass:
      for (const Begun& begun : receiving_) reads.passes.push_back({receiver_patch(begun)});
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
      received_ = std::move(answers.tiles.front().values);
      step_ = Step::SourceOutputs;
      return;
    case Step::SourceOutputs:
      for (std::size_t i = 0; i < answers.tiles.size(); ++i) {
        begun_.push_back({.sender = senders_[sender_ + i], .values = std::move(answers.tiles[i].values)});
      }
      step_ = Step::TargetOutputs;
      return;
    case Step::TargetOutputs:
      return take_outputs(answers);
    case Step::Path:
      return take_paths(answers);
    case Step::Pass:
      return take_passes(answers);
  }
}

void PathPatchingTask::take_outputs(const Answers& answers) {
  sender_ += begun_.size();
  std::vector<Begun> differing;
  for (std::size_t i = 0; i < begun_.size(); ++i) {
    match_missing(begun_[i].values, answers.tiles[i].values);
    if (answers.tiles[i].values == begun_[i].values) {
      keep(begun_[i].sender, found_.target);
    } else {
      differing.push_back(std::move(begun_[i]));
    }
  }
  begun_ = std::move(differing);
  go_on();
}

void PathPatchingTask::take_paths(const Answers& answers) {
  for (std::size_t i = 0; i < answers.passes; ++i) {
    std::vector<float>& received = answers.tiles[i].values;
    if (received == received_) {
      keep(begun_[i].sender, found_.target);
    } else {
      receiving_.push_back({.sender = begun_[i].sender, .values = std::move(received)});
    }
  }
  begun_.erase(begun_.begin(), begun_.begin() + static_cast<std::ptrdiff_t>(answers.passes));
  go_on();
}

void PathPatchingTask::take_passes(const Answers& answers) {
  const std::size_t width = answers.logits.size() / answers.passes;
  for (std::size_t i = 0; i < answers.passes; ++i) {
    keep(receiving_[i].sender, patched_numbers(answers.logits.subspan(i * width, width), tokens_[0], tokens_[1]));
  }
  receiving_.erase(receiving_.begin(), receiving_.begin() + static_cast<std::ptrdiff_t>(answers.passes));
  go_on();
}

void PathPatchingTask::keep(const Sender& sender, const PatchedNumbers& numbers) {
  found_.patched[sender.row * found_.columns + sender.head] = numbers;
  ++found_.known;
}

void PathPatchingTask::go_on() {
  step_ = !receiving_.empty() ? Step::Pass : !begun_.empty() ? Step::Path : Step::SourceOutputs;
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
  query.options = {static_cast<std::uint32_t>(choices.receiver.input), choices.into_baseline ? 1U : 0U,
                   static_cast<std::uint32_t>(receiver.block.kind), choices.receiver.recomputes_mlps ? 1U : 0U};
  return query;
}

}  // namespace headlight::app
