#include "inference/counterparts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace headlight::inference {
namespace {

constexpr std::size_t kMaxCells = std::size_t{1} << 22;  ///< of the table of common subsequences

/// The tokens of a longest common subsequence: [token] index in `other`, kNoCounterpart for the rest.
std::vector<std::uint32_t> common_tokens(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> other) {
  std::vector<std::uint32_t> found(ids.size(), kNoCounterpart);
  const std::size_t width = other.size() + 1;
  if ((ids.size() + 1) * width > kMaxCells) return found;
  std::vector<std::uint16_t> longest((ids.size() + 1) * width);  // [from token, from other token]; below 2,048 = √kMaxCells
  for (std::size_t i = ids.size(); i-- > 0;) {
    for (std::size_t j = other.size(); j-- > 0;) {
      const std::size_t at = i * width + j;
      longest[at] = ids[i] == other[j] ? static_cast<std::uint16_t>(longest[at + width + 1] + 1)
                                       : std::max(longest[at + width], longest[at + 1]);
    }
  }
  for (std::size_t i = 0, j = 0; i < ids.size() && j < other.size();) {
    const std::size_t at = i * width + j;
    if (ids[i] == other[j]) {
      found[i++] = static_cast<std::uint32_t>(j++);
    } else if (longest[at + width] >= longest[at + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return found;
}

/// Pairs the tokens [first, end) with those of the other text [other_first, other_end), from the ends backwards.
void pair_from_end(std::vector<std::uint32_t>& found, std::size_t first, std::size_t end, std::size_t other_first,
                   std::size_t other_end) {
  while (end > first && other_end > other_first) found[--end] = static_cast<std::uint32_t>(--other_end);
}

/// Tokens of two batches as numbers that are equal where the tokens are the same.
class Numbering {
 public:
  explicit Numbering(TokenIdentity identity) : identity_(identity) {}

  std::vector<std::uint32_t> line(const model::TokenBatch& tokens, std::uint32_t item) {
    const std::uint32_t start = tokens.start(item), count = tokens.lengths[item];
    const auto ids = std::span(tokens.ids).subspan(std::size_t{item} * tokens.length + start, count);
    std::vector<std::uint32_t> numbers(ids.begin(), ids.end());
    if (identity_ == TokenIdentity::Id) return numbers;
    for (std::uint32_t token = 0; token < count; ++token) {
      const std::string& spelling = tokens.texts[item][start + token];
      numbers[token] = numbers_.emplace(spelling, static_cast<std::uint32_t>(numbers_.size())).first->second;
    }
    return numbers;
  }

 private:
  TokenIdentity identity_;
  std::map<std::string, std::uint32_t> numbers_;
};

InputCounterparts::Items of_batch(const model::TokenBatch& tokens, const model::TokenBatch& other, TokenIdentity identity) {
  InputCounterparts::Items items;
  Numbering numbering(identity);
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    const std::vector<std::uint32_t> found = counterparts(numbering.line(tokens, item), numbering.line(other, item));
    std::vector<std::uint32_t>& padded = items.emplace_back(tokens.length, kNoCounterpart);
    for (std::size_t token = 0; token < found.size(); ++token) {
      if (found[token] != kNoCounterpart) padded[tokens.start(item) + token] = other.start(item) + found[token];
    }
  }
  return items;
}

}  // namespace

std::vector<std::uint32_t> counterparts(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> other) {
  const std::size_t shorter = std::min(ids.size(), other.size());
  std::size_t prefix = 0, suffix = 0;
  while (prefix < shorter && ids[prefix] == other[prefix]) ++prefix;
  while (suffix < shorter - prefix && ids[ids.size() - 1 - suffix] == other[other.size() - 1 - suffix]) ++suffix;
  std::vector<std::uint32_t> found(ids.size(), kNoCounterpart);
  for (std::size_t i = 0; i < prefix; ++i) found[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i < suffix; ++i) {
    found[ids.size() - 1 - i] = static_cast<std::uint32_t>(other.size() - 1 - i);
  }
  const std::size_t end = ids.size() - suffix, other_end = other.size() - suffix;
  const auto common = common_tokens(ids.subspan(prefix, end - prefix), other.subspan(prefix, other_end - prefix));
  std::size_t first = prefix, other_first = prefix;  // of the place between two common tokens
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (common[i] == kNoCounterpart) continue;
    found[prefix + i] = static_cast<std::uint32_t>(prefix + common[i]);
    pair_from_end(found, first, prefix + i, other_first, prefix + common[i]);
    first = prefix + i + 1;
    other_first = prefix + common[i] + 1;
  }
  pair_from_end(found, first, end, other_first, other_end);
  return found;
}

const InputCounterparts::Items& InputCounterparts::queries(model::BlockKind kind) const {
  return kind == model::BlockKind::EncoderSelf ? source : target;
}

const InputCounterparts::Items& InputCounterparts::keys(model::BlockKind kind) const {
  return kind == model::BlockKind::DecoderSelf ? target : source;
}

std::shared_ptr<const InputCounterparts> input_counterparts(const model::ModelInput& input, const model::ModelInput& other,
                                                            TokenIdentity identity) {
  const auto has_same_places = [](const model::TokenBatch& one, const model::TokenBatch& two) {
    if (one.length != two.length || one.lengths != two.lengths) return false;
    for (std::uint32_t item = 0; item < one.batch; ++item) {
      if (one.start(item) != two.start(item)) return false;
    }
    return true;
  };
  const bool has_target = input.target.has_value() && other.target.has_value();
  if (has_same_places(input.source, other.source) && (!has_target || has_same_places(*input.target, *other.target))) {
    return nullptr;
  }
  InputCounterparts pairs{.source = of_batch(input.source, other.source, identity), .target = {}};
  if (has_target) pairs.target = of_batch(*input.target, *other.target, identity);
  return std::make_shared<const InputCounterparts>(std::move(pairs));
}

model::ModelInput by_positions_of(const model::ModelInput& input, const model::ModelInput& other,
                                  const InputCounterparts& pairs) {
  const auto moved = [](const model::TokenBatch& tokens, const model::TokenBatch& from,
                        const InputCounterparts::Items& items) {
    model::TokenBatch batch{
        .batch = tokens.batch, .length = tokens.length, .lengths = tokens.lengths, .starts = tokens.starts};
    for (std::uint32_t item = 0; item < batch.batch; ++item) {
      const bool has_texts = item < from.texts.size();
      if (has_texts) batch.texts.emplace_back();
      for (const std::uint32_t at : items[item]) {
        const bool is_there = at != kNoCounterpart;
        batch.ids.push_back(is_there ? from.ids[std::size_t{item} * from.length + at] : model::kPaddingId);
        if (has_texts) batch.texts.back().push_back(is_there ? from.texts[item][at] : "\u2013");
      }
    }
    return batch;
  };
  model::ModelInput found{.source = moved(input.source, other.source, pairs.source)};
  if (input.target) found.target = moved(*input.target, *other.target, pairs.target);
  return found;
}

bool covers(const InputCounterparts& pairs, const model::ModelInput& other) {
  const auto covers_batch = [](const InputCounterparts::Items& items, const model::TokenBatch& tokens) {
    for (std::uint32_t item = 0; item < tokens.batch; ++item) {
      const auto paired = static_cast<std::uint32_t>(
          std::ranges::count_if(items[item], [](std::uint32_t at) { return at != kNoCounterpart; }));
      if (paired < tokens.lengths[item]) return false;
    }
    return true;
  };
  return covers_batch(pairs.source, other.source) && (!other.target || covers_batch(pairs.target, *other.target));
}

}  // namespace headlight::inference
