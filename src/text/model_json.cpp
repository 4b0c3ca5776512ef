#include "text/model_json.h"

#include <string>

#include "core/error.h"
#include "core/json.h"
#include "text/word_model.h"

namespace headlight::text {
namespace {

class WordLevel final : public WordModel {
 public:
  WordLevel(Vocabulary vocabulary, std::uint32_t unknown) : WordModel(std::move(vocabulary)), unknown_(unknown) {}

  std::string_view kind() const override { return "WordLevel"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view piece, std::vector<PieceToken>& tokens) const override {
    tokens.push_back({vocabulary().find(piece).value_or(unknown_), {0, static_cast<std::uint32_t>(piece.size())}});
  }

 private:
  std::uint32_t unknown_;
};

/// A vocabulary of whole pieces; any other piece is `unknown`. Throws Error when the vocabulary lacks that token.
WordModelPointer make_word_level(Vocabulary vocabulary, const std::string& unknown) {
  const auto id = vocabulary.find(unknown);
  if (!id) throw Error("the token for unknown words, \"{}\", isn't in the vocabulary", unknown);
  return std::make_unique<WordLevel>(std::move(vocabulary), *id);
}

/// A merge is "left right" or ["left", "right"].
Merges read_merges(const JsonNode& node) {
  if (!node.value().is_array()) node.items();  // throws
  Merges merges;
  merges.reserve(node.value().size());
  for (std::size_t i = 0; i < node.value().size(); ++i) {
    const nlohmann::json& item = node.value()[i];
    if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
      merges.emplace_back(item[0].get_ref<const std::string&>(), item[1].get_ref<const std::string&>());
      continue;
    }
    const JsonNode merge = node.item(i);
    const std::string& both = merge.string();
    const std::size_t space = both.find(' ');
    if (both.starts_with("#version")) continue;
    if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
      merge.fail(fmt::format("is \"{}\": a merge is two tokens with a space between", both));
    merges.emplace_back(both.substr(0, space), both.substr(space + 1));
  }
  return merges;
}

WordModelPointer read_bpe(const JsonNode& node) {
  BpeOptions options;
  if (const auto unknown = node.find("unk_token")) options.unknown = unknown->string();
  options.continuing_subword_prefix = node.string_or("continuing_subword_prefix", "");
  options.end_of_word_suffix = node.string_or("end_of_word_suffix", "");
  options.fuses_unknown = node.boolean_or("fuse_unk", false);
  options.falls_back_to_bytes = node.boolean_or("byte_fallback", false);
  options.ignores_merges = node.boolean_or("ignore_merges", false);
  return make_bpe(read_vocabulary(node.at("vocab")), read_merges(node.at("merges")), std::move(options));
}

WordModelPointer read_word_piece(const JsonNode& node) {
  WordPieceOptions options;
  options.unknown = node.string_or("unk_token", "[UNK]");
  options.continuing_subword_prefix = node.string_or("continuing_subword_prefix", "##");
  options.longest_word = node.id_or("max_input_chars_per_word", 100);
  return make_word_piece(read_vocabulary(node.at("vocab")), std::move(options));
}

WordModelPointer read_unigram(const JsonNode& node) {
  const JsonNode vocabulary = node.at("vocab");
  if (!vocabulary.value().is_array()) vocabulary.items();  // throws
  ScoredTokens tokens;
  tokens.reserve(vocabulary.value().size());
  for (std::size_t i = 0; i < vocabulary.value().size(); ++i) {
    const nlohmann::json& item = vocabulary.value()[i];
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number())
      vocabulary.item(i).fail("must be a token and its score");
    tokens.emplace_back(item[0].get_ref<const std::string&>(), item[1].get<double>());
  }
  std::optional<std::uint32_t> unknown;
  if (const auto id = node.find("unk_id")) unknown = id->id();
  return make_unigram(std::move(tokens), unknown, node.boolean_or("byte_fallback", false));
}

/// Older files have no "type".
std::string guess_type(const JsonNode& node) {
  if (node.find("type")) return node.at("type").string();
  if (node.find("merges")) return "BPE";
  if (node.at("vocab").value().is_array()) return "Unigram";
  return node.find("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

}  // namespace

Vocabulary read_vocabulary(const JsonNode& node) {
  if (!node.value().is_object()) node.fail(fmt::format("must be an object, but is {}", node.value().type_name()));
  std::vector<std::pair<std::string, std::uint32_t>> entries;
  entries.reserve(node.value().size());
  constexpr std::uint32_t kMax = 1U << 22U;  // no vocabulary is larger, and a gap costs memory
  for (const auto& [token_string, id] : node.value().items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMax)
      node.at(token_string).fail(fmt::format("must be an id below {}, but is {}", kMax, shown(id)));
    entries.emplace_back(token_string, id.get<std::uint32_t>());
  }
  return Vocabulary(std::move(entries));
}

WordModelPointer read_word_model(const JsonNode& node) {
  const std::string type = guess_type(node);
  try {
    if (type == "BPE") return read_bpe(node);
    if (type == "WordPiece") return read_word_piece(node);
    if (type == "Unigram") return read_unigram(node);
    if (type == "WordLevel") return make_word_level(read_vocabulary(node.at("vocab")), node.string_or("unk_token", "<unk>"));
  } catch (const LocatedError&) {
    throw;
  } catch (const Error& error) {
    node.fail(fmt::format("is unusable: {}", error.what()));
  }
  node.at("type").fail(fmt::format("is \"{}\": Headlight knows BPE, WordPiece, Unigram and WordLevel", type));
}

}  // namespace headlight::text
