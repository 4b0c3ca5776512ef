#include "text/model_json.h"

#include "core/json.h"
#include "text/bpe.h"
#include "text/unigram.h"
#include "text/word_level_model.h"
#include "text/word_piece.h"

namespace headlight::text {
namespace {

/// A merge is "left right" or ["left", "right"].
Merges read_merges(const JsonPlace& place) {
  if (!place.value().is_array()) place.items();  // throws
  Merges merges;
  merges.reserve(place.value().size());
  for (std::size_t i = 0; i < place.value().size(); ++i) {
    const nlohmann::json& item = place.value()[i];
    if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
      merges.emplace_back(item[0].get_ref<const std::string&>(), item[1].get_ref<const std::string&>());
      continue;
    }
    const JsonPlace merge = place.item(i);
    const std::string& both = merge.string();
    const std::size_t space = both.find(' ');
    if (both.starts_with("#version")) continue;
    if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
      merge.fail(fmt::format("is \"{}\": a merge is two tokens with a space between", both));
    merges.emplace_back(both.substr(0, space), both.substr(space + 1));
  }
  return merges;
}

WordModelPointer read_bpe(const JsonPlace& place) {
  BpeOptions options;
  if (const auto unknown = place.find("unk_token")) options.unknown = unknown->string();
  options.continuing_subword_prefix = place.string_or("continuing_subword_prefix", "");
  options.end_of_word_suffix = place.string_or("end_of_word_suffix", "");
  options.fuses_unknown = place.boolean_or("fuse_unk", false);
  options.falls_back_to_bytes = place.boolean_or("byte_fallback", false);
  options.ignores_merges = place.boolean_or("ignore_merges", false);
  return make_bpe(read_vocabulary(place.at("vocab")), read_merges(place.at("merges")), std::move(options));
}

WordModelPointer read_word_piece(const JsonPlace& place) {
  WordPieceOptions options;
  options.unknown = place.string_or("unk_token", "[UNK]");
  options.continuing_subword_prefix = place.string_or("continuing_subword_prefix", "##");
  options.longest_word = place.id_or("max_input_chars_per_word", 100);
  return make_word_piece(read_vocabulary(place.at("vocab")), std::move(options));
}

WordModelPointer read_unigram(const JsonPlace& place) {
  const JsonPlace vocabulary = place.at("vocab");
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
  if (const auto id = place.find("unk_id")) unknown = id->id();
  return make_unigram(std::move(tokens), unknown, place.boolean_or("byte_fallback", false));
}

/// Older files have no "type".
std::string guess_type(const JsonPlace& place) {
  if (place.find("type")) return place.at("type").string();
  if (place.find("merges")) return "BPE";
  if (place.at("vocab").value().is_array()) return "Unigram";
  return place.find("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

}  // namespace

Vocabulary read_vocabulary(const JsonPlace& place) {
  if (!place.value().is_object()) place.fail(fmt::format("must be an object, but is {}", place.value().type_name()));
  std::vector<std::pair<std::string, std::uint32_t>> entries;
  entries.reserve(place.value().size());
  constexpr std::uint32_t kMost = 1U << 22U;  // no vocabulary is larger, and a gap costs memory
  for (const auto& [token_string, id] : place.value().items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMost)
      place.at(token_string).fail(fmt::format("must be an id below {}, but is {}", kMost, shown(id)));
    entries.emplace_back(token_string, id.get<std::uint32_t>());
  }
  return Vocabulary(std::move(entries));
}

WordModelPointer read_word_model(const JsonPlace& place) {
  const std::string type = guess_type(place);
  try {
    if (type == "BPE") return read_bpe(place);
    if (type == "WordPiece") return read_word_piece(place);
    if (type == "Unigram") return read_unigram(place);
    if (type == "WordLevel")
      return make_word_level(read_vocabulary(place.at("vocab")), place.string_or("unk_token", "<unk>"));
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    place.fail(fmt::format("is unusable: {}", error.what()));
  }
  place.at("type").fail(fmt::format("is \"{}\": Headlight knows BPE, WordPiece, Unigram and WordLevel", type));
}

}  // namespace headlight::text
