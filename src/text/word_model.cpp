#include "text/word_model.h"

#include <algorithm>

#include "core/error.h"
#include "text/prefix_tree.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace headlight::text {

namespace {

constexpr double kUnknownPenalty = 10.0;
constexpr std::uint32_t kNoPiece = ~std::uint32_t{0};

/// The best segmentation of a piece up to some byte: its score and its last token.
struct Step {
  double score = 0.0;
  std::uint32_t begin = kNoPiece;  ///< of the last token; kNoPiece: nothing ends here
  std::uint32_t id = kNoPiece;     ///< kNoPiece: unknown
};

std::vector<std::string> names(ScoredTokens& tokens) {
  std::vector<std::string> list;
  list.reserve(tokens.size());
  for (auto& [token_string, score] : tokens) list.push_back(std::move(token_string));
  return list;
}

std::vector<double> scores(const ScoredTokens& tokens) {
  std::vector<double> list;
  list.reserve(tokens.size());
  for (const auto& [token_string, score] : tokens) list.push_back(score);
  return list;
}

class Unigram final : public WordModel {
 public:
  Unigram(ScoredTokens tokens, std::optional<std::uint32_t> unknown, bool falls_back_to_bytes)
      : WordModel(Vocabulary(names(tokens))),
        tree_(vocabulary()),
        scores_(scores(tokens)),
        unknown_(unknown),
        bytes_(vocabulary()),
        falls_back_to_bytes_(falls_back_to_bytes) {
    const auto lowest = std::min_element(scores_.begin(), scores_.end());
    unknown_score_ = (lowest == scores_.end() ? 0.0 : *lowest) - kUnknownPenalty;
  }

  std::string_view kind() const override { return "Unigram"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::vector<Step> steps = find_best(piece);
    std::vector<PieceToken> path;
    bool last_is_unknown = false;
    for (auto end = static_cast<std::uint32_t>(piece.size()); end > 0; end = steps[end].begin) {
      const Step& step = steps[end];
      const bool continues_unknown = is_unknown(step.id) && last_is_unknown;
      last_is_unknown = is_unknown(step.id);
      if (continues_unknown) {
        path.back().range.begin = step.begin;
      } else {
        path.push_back({step.id, {step.begin, end}});
      }
    }
    for (auto token = path.rbegin(); token != path.rend(); ++token) push(piece, *token, tokens);
  }

 private:
  bool is_unknown(std::uint32_t id) const { return id == kNoPiece || id == unknown_; }

  std::vector<Step> find_best(std::string_view piece) const {
    std::vector<Step> steps;
    steps.push_back({.begin = 0});
    steps.resize(piece.size() + 1);
    for (std::size_t begin = 0; begin < piece.size();) {
      const double before = steps[begin].score;
      const std::size_t character = character_length(piece, begin);
      const auto offer = [&](std::size_t length, double score, std::uint32_t id) {
        Step& step = steps[begin + length];
        if (step.begin == kNoPiece || score > step.score) step = {score, static_cast<std::uint32_t>(begin), id};
      };
      bool has_character = false;
      tree_.for_each_prefix(piece.substr(begin), [&](std::size_t length, std::uint32_t id) {
        offer(length, scores_[id] + before, id);
        has_character = has_character || length == character;
      });
      if (!has_character) offer(character, unknown_score_ + before, kNoPiece);
      begin += character;
    }
    return steps;
  }

  void push(std::string_view piece, const PieceToken& token, std::vector<PieceToken>& tokens) const {
    if (!is_unknown(token.id)) {
      tokens.push_back(token);
      return;
    }
    const std::string_view part = piece.substr(token.range.begin, token.range.end - token.range.begin);
    if (const auto whole = vocabulary().find(part)) {  // several unknown characters may form a known token
      tokens.push_back({*whole, token.range});
      return;
    }
    const bool has_bytes = std::all_of(part.begin(), part.end(),
                                       [&](char c) { return bytes_.find(static_cast<unsigned char>(c)).has_value(); });
    if (falls_back_to_bytes_ && has_bytes) {
      for (const char c : part) tokens.push_back({*bytes_.find(static_cast<unsigned char>(c)), token.range});
    } else if (unknown_) {
      tokens.push_back({*unknown_, token.range});
    }
  }

  PrefixTree tree_;
  std::vector<double> scores_;  ///< [id]
  std::optional<std::uint32_t> unknown_;
  ByteTokens bytes_;
  bool falls_back_to_bytes_;
  double unknown_score_ = 0.0;
};

}  // namespace

WordModelPointer make_unigram(ScoredTokens tokens, std::optional<std::uint32_t> unknown, bool falls_back_to_bytes) {
  if (unknown && *unknown >= tokens.size())
    throw Error("the id of unknown pieces is {}, but the vocabulary has {} entries", *unknown, tokens.size());
  return std::make_unique<Unigram>(std::move(tokens), unknown, falls_back_to_bytes);
}

namespace {

class WordPiece final : public WordModel {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options)
      : WordModel(std::move(vocabulary)), options_(std::move(options)) {
    const auto unknown = this->vocabulary().find(options_.unknown);
    if (!unknown) throw Error("the token for unknown words, \"{}\", isn't in the vocabulary", options_.unknown);
    unknown_ = *unknown;
  }

  std::string_view kind() const override { return "WordPiece"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    const std::size_t before = tokens.size();
    const bool fits = count_code_points(piece) <= options_.longest_word;
    if (fits && cut(piece, tokens)) return;
    tokens.resize(before);
    tokens.push_back({unknown_, {0, static_cast<std::uint32_t>(piece.size())}});
  }

 private:
  bool cut(std::string_view piece, std::vector<PieceToken>& tokens) const {
    std::string candidate;
    for (std::size_t begin = 0; begin < piece.size();) {
      candidate = begin > 0 ? options_.continuing_subword_prefix : "";
      const std::size_t prefix = candidate.size();
      candidate += piece.substr(begin);
      std::optional<std::uint32_t> id;
      while (candidate.size() > prefix && !(id = vocabulary().find(candidate))) {
        std::size_t end = candidate.size();
        previous_code_point(candidate, end);
        candidate.resize(end);
      }
      if (!id) return false;
      const std::size_t end = begin + candidate.size() - prefix;
      tokens.push_back({*id, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}});
      begin = end;
    }
    return true;
  }

  WordPieceOptions options_;
  std::uint32_t unknown_ = 0;
};

}  // namespace

WordModelPointer make_word_piece(Vocabulary vocabulary, WordPieceOptions options) {
  return std::make_unique<WordPiece>(std::move(vocabulary), std::move(options));
}

}  // namespace headlight::text
