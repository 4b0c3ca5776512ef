#include "text/word_model.h"

#include <bit>
#include <cstdint>
#include <functional>
#include <queue>

#include "core/error.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace headlight::text {
namespace {

/// The token that two neighbouring tokens merge into, and the merge's rank.
struct Merge {
  std::uint32_t rank = 0;
  std::uint32_t id = 0;
};

/// Pairs of ids to merges. An open-addressed table, because a long text does several look-ups per character.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges);

  /// A pair inserted twice keeps the later merge.
  void insert(std::uint32_t left, std::uint32_t right, Merge merge);
  const Merge* find(std::uint32_t left, std::uint32_t right) const;

 private:
  struct Entry {
    std::uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  std::size_t slot(std::uint64_t pair) const;

  std::vector<Entry> entries_;  ///< size is a power of two; at most half are in use
  unsigned shift_ = 0;
};

std::uint64_t to_pair(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32U | right; }

MergeTable::MergeTable(std::size_t merges) : entries_(std::bit_ceil(2 * merges + 2)) {
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(entries_.size()));
}

std::size_t MergeTable::slot(std::uint64_t pair) const {
  std::size_t at = (pair * 0x9E3779B97F4A7C15U) >> shift_;  // Fibonacci hashing
  while (entries_[at].pair != kFree && entries_[at].pair != pair) at = (at + 1) & (entries_.size() - 1);
  return at;
}

void MergeTable::insert(std::uint32_t left, std::uint32_t right, Merge merge) {
  const std::uint64_t pair = to_pair(left, right);
  entries_[slot(pair)] = {pair, merge};
}

const Merge* MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  const Entry& entry = entries_[slot(to_pair(left, right))];
  return entry.pair == kFree ? nullptr : &entry.merge;
}

constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A node of a doubly linked list of future tokens: a merge touches only its neighbours.
struct Symbol {
  std::uint32_t id = 0;
  std::uint32_t length = 0;  ///< bytes of the piece; 0: merged into another symbol
  std::uint32_t previous = kNone, next = kNone;
};

struct Candidate {
  std::uint32_t rank = 0, position = 0, id = 0;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : position > other.position; }
};

using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

class Bpe final : public WordModel {
 public:
  Bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options)
      : WordModel(std::move(vocabulary)),
        options_(std::move(options)),
        bytes_(this->vocabulary()),
        merges_(to_table(this->vocabulary(), merges, options_)) {
    if (options_.unknown) unknown_ = this->vocabulary().find(*options_.unknown);
  }

  std::string_view kind() const override { return "BPE"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    if (options_.ignores_merges) {
      if (const auto id = vocabulary().find(piece)) {
        tokens.push_back({*id, {0, static_cast<std::uint32_t>(piece.size())}});
        return;
      }
    }
    std::vector<Symbol> symbols = to_symbols(piece);
    merge(symbols);
    std::uint32_t at = 0;
    for (const Symbol& symbol : symbols) {
      if (symbol.length == 0) continue;
      tokens.push_back({symbol.id, {at, at + symbol.length}});
      at += symbol.length;
    }
  }

 private:
  static MergeTable to_table(const Vocabulary& vocabulary, const Merges& merges, const BpeOptions& options);
  std::vector<Symbol> to_symbols(std::string_view piece) const;
  bool append_byte_tokens(std::string_view character, std::vector<Symbol>& symbols) const;
  void merge(std::vector<Symbol>& symbols) const;

  BpeOptions options_;
  ByteTokens bytes_;
  MergeTable merges_;
  std::optional<std::uint32_t> unknown_;
};

MergeTable Bpe::to_table(const Vocabulary& vocabulary, const Merges& merges, const BpeOptions& options) {
  MergeTable table(merges.size());
  const std::size_t prefix_bytes = options.continuing_subword_prefix.size();
  std::string whole;
  const auto find = [&](std::size_t rank, const std::string& token_string) {
    const auto id = vocabulary.find(token_string);
    if (!id) throw Error("merge {} needs the token \"{}\", which isn't in the vocabulary", rank, token_string);
    return *id;
  };
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    whole.assign(left).append(right, std::min(prefix_bytes, right.size()));
    const std::uint32_t id = find(rank, whole);
    table.insert(find(rank, left), find(rank, right), {options.ranks_by_id ? id : static_cast<std::uint32_t>(rank), id});
  }
  return table;
}

bool Bpe::append_byte_tokens(std::string_view character, std::vector<Symbol>& symbols) const {
  for (const char c : character) {
    if (!bytes_.find(static_cast<unsigned char>(c))) return false;
  }
  for (const char c : character) symbols.push_back({.id = *bytes_.find(static_cast<unsigned char>(c)), .length = 1});
  return true;
}

/// The characters of a piece as tokens.
std::vector<Symbol> Bpe::to_symbols(std::string_view piece) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  std::uint32_t unknown_bytes = 0;  // of unknown characters that haven't become a symbol yet
  const auto flush_unknown = [&] {
    if (unknown_bytes > 0) symbols.push_back({.id = *unknown_, .length = unknown_bytes});
    unknown_bytes = 0;
  };
  const bool has_affixes = !options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty();
  std::string affixed;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t begin = at;
    at += character_length(piece, at);
    std::string_view character = piece.substr(begin, at - begin);
    const auto length = static_cast<std::uint32_t>(character.size());
    if (has_affixes) {
      affixed = begin > 0 ? options_.continuing_subword_prefix : "";
      affixed += character;
      if (at == piece.size()) affixed += options_.end_of_word_suffix;
      character = affixed;
    }
    if (const auto id = vocabulary().find(character)) {
      flush_unknown();
      symbols.push_back({.id = *id, .length = length});
    } else if (options_.falls_back_to_bytes && append_byte_tokens(character, symbols)) {
      continue;
    } else if (unknown_) {
      if (!options_.fuses_unknown) flush_unknown();
      unknown_bytes += length;
    }
  }
  flush_unknown();
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    if (i > 0) symbols[i].previous = i - 1;
    if (i + 1 < symbols.size()) symbols[i].next = i + 1;
  }
  return symbols;
}

void Bpe::merge(std::vector<Symbol>& symbols) const {
  std::vector<Candidate> first;
  first.reserve(symbols.size());
  for (std::uint32_t i = 0; i + 1 < symbols.size(); ++i) {
    if (const Merge* merge = merges_.find(symbols[i].id, symbols[i + 1].id)) first.push_back({merge->rank, i, merge->id});
  }
  Queue queue(std::greater<>(), std::move(first));
  const auto consider = [&](std::uint32_t left, std::uint32_t right) {
    if (left == kNone || right == kNone) return;
    if (const Merge* merge = merges_.find(symbols[left].id, symbols[right].id)) queue.push({merge->rank, left, merge->id});
  };
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.position];
    if (left.length == 0 || left.next == kNone) continue;
    Symbol& right = symbols[left.next];
    const Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != best.id) continue;  // one of the two has changed since

    left.id = best.id;
    left.length += right.length;
    right.length = 0;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.position;
    consider(left.previous, best.position);
    consider(best.position, left.next);
  }
}

}  // namespace

WordModelPointer make_bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options) {
  return std::make_unique<Bpe>(std::move(vocabulary), merges, std::move(options));
}

}  // namespace headlight::text
