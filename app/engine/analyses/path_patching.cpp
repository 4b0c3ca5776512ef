#include "app/engine/analyses/patching.h"

#include <iterator>

#include "core/error.h"

namespace headlight::app {
namespace {

/// Numbers of frozen outputs that are kept at most: 256 MiB.
constexpr std::size_t kMaxFrozen = std::size_t{1} << 26;
/// Senders of a layer that are offered to be computed together, each in a pass of its own; numbers of their outputs that are
/// read at once, and that their passes replace at most: 16 MiB.
constexpr std::size_t kMaxSenders = 32, kMaxOutputs = std::size_t{1} << 18, kMaxReplaced = std::size_t{1} << 22;

using model::BlockKind;
using model::Site;

/// Returns the position of a block in its stack: self-attention comes before cross-attention.
std::pair<std::uint32_t, BlockKind> order_of(model::BlockRef block) { return {block.layer.value, block.kind}; }

bool is_of_encoder(model::BlockKind kind) { return kind == BlockKind::EncoderSelf; }

/// Returns the blocks of a stack that come before a receiver's input, in the order of computation: those that paths lead
/// through. Paths to keys and values of a cross-attention lead through the whole encoder, those to its queries and to all
/// inputs of self-attention through the receiver's own stack. Throws Error where no head of the senders' kind is among them.
std::vector<model::BlockRef> path_chain(const HeadRef& receiver, PathInput input, BlockKind senders,
                                        const AnalysisSubject& subject) {
  const bool reads_encoder = receiver.block.kind == BlockKind::Cross && input != PathInput::Query;
  const bool is_in_encoder = reads_encoder || is_of_encoder(receiver.block.kind);
  if (is_of_encoder(senders) != is_in_encoder) {
    throw Error("no direct path leads from heads of {} attention to {} attention's {}: choose {}", model::to_string(senders),
                model::to_string(receiver.block.kind), input == PathInput::Query ? "queries" : "keys or values",
                is_in_encoder ? "Encoder" : "Decoder or Cross");
  }
  std::vector<model::BlockRef> chain;
  for (const auto& [block, shape] : subject.shapes) {
    const bool is_before = reads_encoder || order_of(block) < order_of(receiver.block);
    if (is_of_encoder(block.kind) == is_in_encoder && is_before) chain.push_back(block);
  }
  std::ranges::sort(chain, {}, order_of);
  const bool has_senders = std::ranges::any_of(chain, [&](model::BlockRef block) { return block.kind == senders; });
  if (!has_senders) throw Error("no head of this kind comes before the receiver: choose one in a later layer");
  return chain;
}

TokenRange tokens_of_line(const model::TokenBatch& tokens, std::uint32_t batch) {
  if (batch >= tokens.batch || tokens.lengths[batch] == 0) throw Error("this line has no tokens");
  return {.first = tokens.start(batch), .count = tokens.lengths[batch]};
}

/// The outputs of a block in the patched run before anything was changed.
struct FrozenBlock {
  model::BlockRef block;
  bool freezes_attention = false, freezes_mlp = false;
  std::vector<float> attention = {}, feed_forward = {};  ///< [token, d_model], where they are frozen
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

/// The blocks that a question's paths lead through, and the passes that it needs.
class Paths {
 public:
  Paths(const PathQuestion& question, const AnalysisSubject& subject);

  /// Returns the layers and heads of the senders; gives the map its size.
  std::vector<Sender> list_senders(PatchEffects& found) const;
  /// Marks what is frozen from the first sender on.
  void mark_frozen(const std::vector<Sender>& senders, const AnalysisSubject& subject);
  Reads frozen(const FrozenBlock& one, WhichRun of) const;
  /// Returns how many of the next senders, of one layer, may be offered together.
  std::size_t offered(std::span<const Sender> senders) const;
  Reads outputs_of(std::span<const Sender> senders, WhichRun of) const;
  /// Returns the place of the receiver's input.
  PatchPlace received() const;
  void read(const PatchPlace& place, Reads& reads) const { read_place(place, shapes_.at(place.block), reads); }
  inference::Intervention put(const PatchPlace& place, std::vector<float> rows) const {
    return replaced(place, shapes_.at(place.block), std::move(rows));
  }
  /// Returns the first pass of a sender.
  inference::Interventions path(const Begun& begun) const;

  std::vector<FrozenBlock> chain;

 private:
  PatchPlace place_of(Site site, model::BlockRef block, TokenRange tokens, std::uint32_t head = 0) const {
    return {.site = site,
            .block = block,
            .batch = question_.measured.batch,
            .head = head,
            .first = tokens.first,
            .count = tokens.count};
  }

  PathQuestion question_;
  BlockShapes shapes_;
  TokenRange chain_tokens_, sender_tokens_, receiver_tokens_;
};

Paths::Paths(const PathQuestion& question, const AnalysisSubject& subject) : question_(question), shapes_(subject.shapes) {
  if (question.into_baseline && !subject.covers_baseline) {
    throw Error("the other text has tokens without a counterpart here, which would not be frozen: patch into this run");
  }
  const HeadRef& receiver = question.receiver;
  const auto shape = shapes_.find(receiver.block);
  if (shape == shapes_.end() || receiver.head >= shape->second.heads) throw Error("this run has no such receiver");
  for (const model::BlockRef block : path_chain(receiver, question.input, question.senders, subject)) {
    chain.push_back({.block = block});
  }
  const model::ModelInput& input = *subject.input;
  const model::BlockKind kind = receiver.block.kind;
  receiver_tokens_ =
      tokens_of_line(question.input == PathInput::Query ? input.queries(kind) : input.keys(kind), question.measured.batch);
  chain_tokens_ = tokens_of_line(input.queries(question.senders), question.measured.batch);
  sender_tokens_ = chain_tokens_;
  if (!question.token) return;
  sender_tokens_ = {.first = *question.token, .count = 1};
  const bool is_real = *question.token >= chain_tokens_.first && *question.token < chain_tokens_.first + chain_tokens_.count;
  if (!is_real) throw Error("this line has no such token");
}

std::vector<Sender> Paths::list_senders(PatchEffects& found) const {
  std::vector<Sender> senders;
  for (std::size_t at = 0; at < chain.size(); ++at) {
    if (chain[at].block.kind != question_.senders) continue;
    const std::uint32_t heads = shapes_.at(chain[at].block).heads;
    for (std::uint32_t head = 0; head < heads; ++head) {
      senders.push_back({.at = at, .row = found.layers.size(), .head = head});
    }
    found.layers.push_back(chain[at].block.layer.value);
    found.columns = std::max<std::size_t>(found.columns, heads);
  }
  found.patched.resize(found.layers.size() * found.columns);
  found.all = senders.size();
  return senders;
}

void Paths::mark_frozen(const std::vector<Sender>& senders, const AnalysisSubject& subject) {
  std::size_t numbers = 0;
  for (std::size_t at = senders.front().at; at < chain.size(); ++at) {
    FrozenBlock& one = chain[at];
    const inference::BlockShape& shape = shapes_.at(one.block);
    if (shape.d_output == 0) throw Error("layer {} has no output projection", one.block.layer.value);
    one.freezes_attention = at > senders.front().at;
    one.freezes_mlp = !question_.recomputes_mlps && subject.network->layer(one.block).has_feed_forward();
    if (one.freezes_attention) numbers += std::size_t{chain_tokens_.count} * shape.d_output;
    if (one.freezes_mlp) numbers += std::size_t{chain_tokens_.count} * shape.d_model;
    if (numbers > kMaxFrozen) {
      throw Error(
          "freezing the layers between takes more than {} MiB: choose a receiver in an earlier layer, or a shorter text",
          (kMaxFrozen * sizeof(float)) >> 20);
    }
  }
}

Reads Paths::frozen(const FrozenBlock& one, WhichRun of) const {
  Reads reads{.of = of};
  if (one.freezes_attention) read(place_of(Site::AttentionOutput, one.block, chain_tokens_), reads);
  if (one.freezes_mlp) read(place_of(Site::FeedForward, one.block, chain_tokens_), reads);
  return reads;
}

std::size_t Paths::offered(std::span<const Sender> senders) const {
  const std::size_t at = senders.front().at;
  const std::size_t outputs = std::size_t{sender_tokens_.count} * shapes_.at(chain[at].block).d_v;
  std::size_t replaced = outputs;
  for (std::size_t block = at; block < chain.size(); ++block) {
    replaced += chain[block].feed_forward.size() + (block > at ? chain[block].attention.size() : 0);
  }
  const std::size_t most = std::clamp<std::size_t>(std::min(kMaxReplaced / replaced, kMaxOutputs / outputs), 1,
                                                   std::min(senders.size(), kMaxSenders));
  std::size_t count = 1;
  while (count < most && senders[count].at == at) ++count;
  return count;
}

Reads Paths::outputs_of(std::span<const Sender> senders, WhichRun of) const {
  Reads reads{.of = of};
  for (const Sender& sender : senders) {
    read(place_of(Site::HeadOutput, chain[sender.at].block, sender_tokens_, sender.head), reads);
  }
  return reads;
}

PatchPlace Paths::received() const {
  constexpr std::array kSites = {Site::Query, Site::Key, Site::Value};
  const HeadRef& receiver = question_.receiver;
  return place_of(kSites.at(static_cast<std::size_t>(question_.input)), receiver.block, receiver_tokens_, receiver.head);
}

inference::Interventions Paths::path(const Begun& begun) const {
  const Sender& sender = begun.sender;
  inference::Interventions changes;
  changes.push_back(put(place_of(Site::HeadOutput, chain[sender.at].block, sender_tokens_, sender.head), begun.values));
  for (std::size_t at = sender.at; at < chain.size(); ++at) {
    const FrozenBlock& one = chain[at];
    if (at > sender.at) {
      changes.push_back(put(place_of(Site::AttentionOutput, one.block, chain_tokens_), one.attention));
    }
    if (one.freezes_mlp) {
      changes.push_back(put(place_of(Site::FeedForward, one.block, chain_tokens_), one.feed_forward));
    }
  }
  return changes;
}

void drop_first(std::vector<Begun>& begun, std::size_t count) {
  begun.erase(begun.begin(), begun.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

Task<PatchEffects> analyse(PathQuestion question, AnalysisSubject subject) {
  const inference::StateRef state = measured_state(question.measured, subject);
  const WhichRun target = question.into_baseline ? WhichRun::Baseline : WhichRun::Newest;
  const WhichRun source = question.into_baseline ? WhichRun::Newest : WhichRun::Baseline;
  Paths paths(question, subject);
  PatchEffects found;
  const std::vector<Sender> senders = paths.list_senders(found);
  paths.mark_frozen(senders, subject);

  found.target = co_await prediction_in(target, state, question.measured);
  found.source = co_await prediction_in(source, state, question.measured);
  co_yield found;
  for (FrozenBlock& one : paths.chain) {
    if (!one.freezes_attention && !one.freezes_mlp) continue;
    Answers read = co_await paths.frozen(one, target);
    if (one.freezes_attention) one.attention = std::move(read.tiles.front().values);
    if (one.freezes_mlp) one.feed_forward = std::move(read.residuals.front().values);
  }
  Reads as_it_is{.of = target};
  paths.read(paths.received(), as_it_is);
  const Answers unpatched = co_await std::move(as_it_is);

  for (std::size_t next = 0; next < senders.size();) {
    const std::span<const Sender> rest = std::span(senders).subspan(next), some = rest.first(paths.offered(rest));
    next += some.size();
    Answers of_source = co_await paths.outputs_of(some, source);
    Answers of_target = co_await paths.outputs_of(some, target);
    std::vector<Begun> begun;  // whose path is still to be computed: the others leave the target as it is
    for (std::size_t i = 0; i < some.size(); ++i) {
      std::vector<float>& values = of_source.tiles[i].values;
      match_missing(values, of_target.tiles[i].values);
      if (of_target.tiles[i].values == values) {
        found.keep(some[i].row, some[i].head, found.target);
      } else {
        begun.push_back({.sender = some[i], .values = std::move(values)});
      }
    }
    co_yield found;
    while (!begun.empty()) {
      Reads through{.of = target};
      paths.read(paths.received(), through);
      for (const Begun& one : begun) through.passes.push_back(paths.path(one));
      Answers received = co_await std::move(through);
      std::vector<Begun> receiving;  // those by which the receiver reads something else
      for (std::size_t i = 0; i < received.passes; ++i) {
        std::vector<float>& values = received.tiles[i].values;
        if (values == unpatched.tiles.front().values) {
          found.keep(begun[i].sender.row, begun[i].sender.head, found.target);
        } else {
          receiving.push_back({.sender = begun[i].sender, .values = std::move(values)});
        }
      }
      drop_first(begun, received.passes);
      co_yield found;
      while (!receiving.empty()) {
        Reads patched{.of = target};
        patched.logits.push_back(state);
        for (const Begun& one : receiving) patched.passes.push_back({paths.put(paths.received(), one.values)});
        const Answers read = co_await std::move(patched);
        const std::size_t width = read.logits.size() / read.passes;
        for (std::size_t i = 0; i < read.passes; ++i) {
          found.keep(receiving[i].sender.row, receiving[i].sender.head,
                     patched_numbers(read.logits.subspan(i * width, width), question.measured));
        }
        drop_first(receiving, read.passes);
        co_yield found;
      }
    }
  }
  co_return found;
}

std::optional<HeadRef> receiver_in(const PathReceiver& receiver, const BlockShapes& shapes) {
  std::optional<HeadRef> head;
  for (const auto& [block, shape] : shapes) {
    if (block.kind != receiver.kind || (head && block.layer.value > receiver.layer) || shape.heads == 0) continue;
    head = HeadRef{.block = block, .head = std::min(receiver.head, shape.heads - 1)};
  }
  return head;
}

PathQuestion path_patching_query(const PatchingChoices& choices, const HeadRef& receiver, model::BlockKind senders,
                                 std::uint32_t batch, std::uint32_t position, std::uint32_t token,
                                 std::optional<std::uint32_t> other) {
  return {.receiver = receiver,
          .input = choices.receiver.input,
          .senders = senders,
          .into_baseline = choices.into_baseline,
          .recomputes_mlps = choices.receiver.recomputes_mlps,
          .token = choices.at_token ? choices.token : std::nullopt,
          .measured = {.batch = batch, .position = position, .token = token, .other = other}};
}

}  // namespace headlight::app
