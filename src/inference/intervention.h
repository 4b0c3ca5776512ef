#pragma once

#include <map>
#include <span>
#include <utility>
#include <variant>

#include "attention/dropout.h"
#include "attention/fixed_pattern.h"
#include "model/network.h"
#include "model/site.h"

namespace headlight::inference {

/// The heads that an intervention touches, of every token. What isn't given means all of them.
struct Scope {
  std::optional<model::BlockKind> kind = {};
  std::optional<std::uint32_t> layer = {};
  std::optional<std::uint32_t> head = {};  ///< a KV head at the sites Key and Value, 0 at sites without heads
  /// A batch item; one that the batch doesn't have changes nothing. Of the copies that one pass computes together
  /// (copies_of()); what a user keeps is of all items, and no file names one.
  std::optional<std::uint32_t> item = {};

  bool covers(model::BlockRef block) const;
  bool operator==(const Scope&) const = default;
};
/// One head of one block.
Scope scope_of(model::BlockRef block, std::uint32_t head);

/// x ← gain · x; 0 knocks a head out at the site HeadOutput (its bias in b_O stays).
struct Scale {
  float gain = 1.0f;

  bool changes_nothing() const { return gain == 1.0f; }
  bool operator==(const Scale&) const = default;
};
/// x ← x + vector for every token ("activation addition", Turner et al. 2023). After Scale{0} it replaces x, for example by
/// a head's mean over other texts.
struct Add {
  std::vector<float> vector;  ///< as wide as the site: d_k, d_v or d_model

  bool operator==(const Add&) const = default;
};
/// x ← the mean of x over the real tokens of the batch item, for each of them ("mean ablation"): what the head gives no
/// longer depends on the position. A token then depends on those after it, so that longer texts are computed anew.
struct Average {
  bool operator==(const Average&) const = default;
};
/// x ← given rows, from one token of one batch item on ("activation patching", Meng et al. 2022, with rows of another run).
/// Rows of tokens that the text doesn't have change nothing.
struct Replace {
  std::uint32_t item = 0;
  std::uint32_t first = 0;  ///< token, padding counted
  std::vector<float> rows;  ///< [token, width of the site], at least one

  bool operator==(const Replace&) const = default;
};
/// The head's attention pattern becomes this one, at the site Weights and nowhere else ("attention pattern intervention");
/// of several on one head the last one counts. Weights are a function of queries, keys and mask and stored nowhere, so it is
/// expressed through mask and scores: the mask shows the pattern's keys alone, where it is uniform the queries are 0, and so
/// all scores, and where it is painted the logarithms of its weights take the place of scores.
struct ReplacePattern {
  attention::ReplacementPattern pattern = {};

  bool operator==(const ReplacePattern&) const = default;
};
/// x ← 0 with the probability, else x / (1 − probability), number by number as attention::DropoutPlan decides. At the site
/// Weights of all heads and batch items; the last one of a block counts there.
struct Dropout {
  float probability = 0.0f;  ///< 0 … attention::kMaxDropout
  std::uint32_t seed = 0;

  static constexpr bool kIsOfItem = true;  ///< an item's numbers depend on its place in the batch: copies would differ
  bool changes_nothing() const { return probability == 0.0f; }
  bool operator==(const Dropout&) const = default;
};
using Operation = std::variant<Scale, Add, Average, Replace, ReplacePattern, Dropout>;

/// A change of what a pass computes. A pass applies its interventions at a site in the order of their list: with x ← 2x
/// before x ← x + b the result is 2x + b.
struct Intervention {
  model::Site site = model::Site::HeadOutput;
  Scope scope;
  Operation operation;

  bool operator==(const Intervention&) const = default;
};
using Interventions = std::vector<Intervention>;

/// Throws Error (InvalidInput) that names the intervention by its number in the list when the network has no such attention,
/// site or head, when a number isn't finite, and when a vector or a row is not as wide as the site.
void check(const model::Network& network, std::span<const Intervention> interventions);

/// Numbers of one token at the intervention's site, in the first block that it covers; 0 where there is none.
std::uint32_t site_width(const model::Network& network, const Intervention& intervention);

/// Would check() accept it?
bool fits(const model::Network& network, const Intervention& intervention);

/// Returns the interventions that change numbers of this block, in order, each scope narrowed to the block: two equal
/// lists do the same to the block.
Interventions of_block(std::span<const Intervention> interventions, model::BlockRef block);

/// The user's gains of heads before W_O. Heads that aren't named have 1.
using HeadGains = std::map<std::pair<model::BlockRef, std::uint32_t>, float>;

/// Head gains as interventions. Gains of heads that the network doesn't have are left out: they may be of the network that
/// was open before.
Interventions interventions_of(const HeadGains& gains, const model::Network& network);

/// Operation's kIsOfItem, which is false where it says nothing.
bool is_of_item(const Intervention& one);

/// The patterns of replaced heads by block and head.
using FixedPatterns = std::map<std::pair<model::BlockRef, std::uint32_t>, attention::ReplacementPattern>;
/// Returns the patterns as interventions; those of heads that the network doesn't have are left out.
Interventions interventions_of(const FixedPatterns& patterns, const model::Network& network);

/// [head] of the block: the pattern that takes the head's place; empty where none does.
std::vector<std::optional<attention::ReplacementPattern>> patterns_of(std::span<const Intervention> interventions,
                                                                      model::BlockRef block, std::uint32_t heads);

/// Dropout of the block's weights.
std::optional<attention::DropoutPlan> weight_dropout(std::span<const Intervention> interventions, model::BlockRef block);

/// Does a change make tokens of the block depend on later ones, whatever the mask is?
bool mixes_tokens(std::span<const Intervention> interventions, model::BlockKind kind);

}  // namespace headlight::inference
