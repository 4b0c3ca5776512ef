#include "text/sentence_piece_stages.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/json_node.h"
#include "text/renumbered_pieces.h"
#include "text/vocabulary_files.h"
#include "text/word_model.h"

namespace headlight::text {
namespace {

constexpr const char* kMark = "▁";

std::vector<std::string> token_strings_of(const SentencePieceFile& model) {
  std::vector<std::string> token_strings;
  token_strings.reserve(model.pieces.size());
  for (const auto& piece : model.pieces) token_strings.push_back(piece.token_string);
  return token_strings;
}

/// Control and user-defined tokens are found in the text as typed.
std::vector<AddedToken> added_tokens(const SentencePieceFile& model) {
  std::vector<AddedToken> tokens;
  for (const auto& piece : model.pieces) {
    const bool is_mask = piece.token_string == "[MASK]" || piece.token_string == "<mask>";  // user-defined, but never typed
    const bool is_special = piece.type == PieceType::Control || piece.type == PieceType::Unknown || is_mask;
    if (is_special || piece.type == PieceType::UserDefined)
      tokens.push_back({.content = piece.token_string, .is_normalized = false, .is_special = is_special});
  }
  return tokens;
}

std::optional<std::uint32_t> to_id(std::int32_t id) {
  return id < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(id));
}

std::optional<std::string> token_string_of(const SentencePieceFile& model, std::int32_t id) {
  return id >= 0 && static_cast<std::size_t>(id) < model.pieces.size()
             ? std::optional(model.pieces[static_cast<std::size_t>(id)].token_string)
             : std::nullopt;
}

using Json = nlohmann::json;

Json replacement(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

Normalizer normalizer_sequence(const Json& normalizers) {
  return built_in(read_normalizer, {{"type", "Sequence"}, {"normalizers", normalizers}});
}

Decoder make_byte_fallback_sequence(bool strips_first_space) {
  Json decoders = Json::array({replacement(kMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (strips_first_space) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1U}});
  return built_in(read_decoder, {{"type", "Sequence"}, {"decoders", decoders}});
}

/// Word marks for spaces.
Json metaspace() { return {{"type", "Metaspace"}, {"replacement", kMark}}; }

Stages make_bpe_stages(const SentencePieceFile& model, const FolderNotes& notes) {
  std::vector<std::string> token_strings = token_strings_of(model);
  std::vector<std::uint32_t> ranks(token_strings.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  const Merges merges = make_merges(token_strings, ranks);
  BpeOptions options;
  options.unknown = token_string_of(model, model.unknown);
  options.fuses_unknown = true;
  options.falls_back_to_bytes = model.falls_back_to_bytes;
  Stages stages;
  stages.model = make_bpe(Vocabulary(std::move(token_strings)), merges, std::move(options));
  if (notes.is("gemma")) {
    stages.normalizer = built_in(read_normalizer, replacement(" ", kMark));
    stages.pre_tokenizer = built_in(read_pre_tokenizer,
                                    {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}});
    stages.decoder = make_byte_fallback_sequence(false);
  } else {
    add_llama_stages(stages, notes.adds_prefix_space.value_or(model.adds_prefix_space), notes.is_legacy.value_or(true));
  }
  const bool adds_beginning = notes.adds_beginning.value_or(true);
  stages.post_processor = make_enclosing_post_processor(adds_beginning ? to_id(model.beginning) : std::nullopt,
                                                        notes.adds_end.value_or(false) ? to_id(model.end) : std::nullopt);
  return stages;
}

ScoredTokens scored(const SentencePieceFile& model) {
  ScoredTokens tokens;
  for (const auto& piece : model.pieces) tokens.emplace_back(piece.token_string, static_cast<double>(piece.score));
  return tokens;
}

/// Words between white space, each with a mark in front.
PreTokenizer make_marked_words() {
  return built_in(read_pre_tokenizer,
                  {{"type", "Sequence"}, {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, metaspace()})}});
}

void make_t5_stages(const SentencePieceFile& model, const FolderNotes& notes, Stages& stages) {
  ScoredTokens tokens = scored(model);
  const std::uint32_t extra = notes.extra_ids.value_or(100);
  for (std::uint32_t i = extra; i-- > 0;) {
    tokens.emplace_back(fmt::format("<extra_id_{}>", i), 0.0);
    stages.added.push_back({.content = tokens.back().first, .is_normalized = false, .is_special = true});
  }
  add_t5_stages(stages, std::move(tokens), to_id(model.unknown), to_id(model.end).value_or(1), model.character_map);
}

/// A comma after a digit isn't part of ALBERT's tokens: those that have one cost 100 more.
bool ends_in_digit_and_comma(std::string_view token_string) {
  return token_string.size() >= 2 && token_string.back() == ',' && token_string[token_string.size() - 2] >= '0' &&
         token_string[token_string.size() - 2] <= '9';
}

/// [CLS] A [SEP] B [SEP], B of type 1.
void surround_as_bert(Stages& stages, std::string_view family) {
  const auto cls = stages.model->vocabulary().find("[CLS]");
  const auto sep = stages.model->vocabulary().find("[SEP]");
  if (!cls || !sep) throw Error("a model of {} needs the tokens [CLS] and [SEP], but this vocabulary lacks one", family);
  stages.post_processor = make_template_post_processor(
      {{.ids = {*cls}}, {.source = 0}, {.ids = {*sep}}},
      {{.ids = {*cls}}, {.source = 0}, {.ids = {*sep}}, {.type = 1, .source = 1}, {.type = 1, .ids = {*sep}}});
}

void make_albert_stages(const SentencePieceFile& model, const FolderNotes& notes, Stages& stages) {
  ScoredTokens tokens = scored(model);
  for (auto& [token_string, score] : tokens) score -= ends_in_digit_and_comma(token_string) ? 100.0 : 0.0;
  Json normalizers = Json::array({replacement("``", "\""), replacement("''", "\"")});
  if (!notes.keeps_accents.value_or(false))
    normalizers.insert(normalizers.end(), {{{"type", "NFKD"}}, {{"type", "StripAccents"}}});
  if (notes.lowercases.value_or(true)) normalizers.push_back({{"type", "Lowercase"}});
  stages.normalizer = normalizer_sequence(normalizers);
  if (!model.character_map.empty())
    stages.normalizer = make_normalizer_sequence({stages.normalizer, make_precompiled_normalizer(model.character_map)});
  stages.pre_tokenizer = make_marked_words();
  stages.model = make_unigram(std::move(tokens), to_id(model.unknown), false);
  surround_as_bert(stages, "ALBERT");
}

/// DeBERTa-v2 and -v3: [MASK] follows the model's pieces.
void make_deberta_stages(const SentencePieceFile& model, const FolderNotes& notes, Stages& stages) {
  std::vector<Normalizer> normalizers;
  if (notes.lowercases.value_or(false)) normalizers.push_back(built_in(read_normalizer, {{"type", "Lowercase"}}));
  normalizers.push_back(built_in(read_normalizer, {{"type", "Strip"}}));
  if (!model.character_map.empty()) normalizers.push_back(make_precompiled_normalizer(model.character_map));
  normalizers.push_back(
      built_in(read_normalizer, {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}}));
  stages.normalizer = make_normalizer_sequence(std::move(normalizers));
  Json cuts = Json::array({metaspace()});
  if (notes.splits_punctuation.value_or(false)) cuts.insert(cuts.begin(), Json{{"type", "Punctuation"}});
  stages.pre_tokenizer = built_in(read_pre_tokenizer, {{"type", "Sequence"}, {"pretokenizers", cuts}});
  stages.model = make_unigram(scored(model), to_id(model.unknown), false);
  stages.added.push_back({.content = "[UNK]", .is_special = true});
  const auto mask = std::ranges::find(notes.special_tokens, "[MASK]", &AddedToken::content);
  const bool is_normalized = mask != notes.special_tokens.end() && mask->is_normalized;
  stages.added.push_back({.content = "[MASK]", .is_normalized = is_normalized, .is_special = true});
  surround_as_bert(stages, "DeBERTa");
}

Normalizer make_plain_normalizer(const SentencePieceFile& model) {
  const Normalizer spaces =
      normalizer_sequence(Json::array({{{"type", "Strip"}, {"strip_left", false}},
                                       {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", kMark}}}));
  if (model.character_map.empty()) return spaces;
  return make_normalizer_sequence({make_precompiled_normalizer(model.character_map), spaces});
}

/// The merges are those of the model's pieces, not of what follows them.
WordModelPointer make_renumbered_bpe(const SentencePieceFile& model, const RenumberedPieces& pieces) {
  std::vector<std::string> token_strings;
  for (const auto& [token_string, score] : pieces.tokens) token_strings.push_back(token_string);
  const std::vector<std::string> merged(token_strings.begin(),
                                        token_strings.begin() + static_cast<std::ptrdiff_t>(model.pieces.size() + 1));
  std::vector<std::uint32_t> ranks(merged.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  const Merges merges = make_merges(merged, ranks);
  return make_bpe(Vocabulary(std::move(token_strings)), merges, {.unknown = pieces.special.unknown, .fuses_unknown = true});
}

/// XLM-RoBERTa, CamemBERT, mBART, Pegasus, XGLM, NLLB.
void make_renumbered_stages(const SentencePieceFile& model, RenumberedPieces pieces, Stages& stages) {
  stages.normalizer = make_plain_normalizer(model);
  stages.pre_tokenizer = pieces.cuts_at_spaces ? make_marked_words() : built_in(read_pre_tokenizer, metaspace());
  stages.model = model.kind == SentencePieceFile::Kind::Bpe ? make_renumbered_bpe(model, pieces)
                                                            : make_unigram(std::move(pieces.tokens), pieces.unknown, false);
  const Vocabulary& vocabulary = stages.model->vocabulary();
  const auto put = [&](const std::vector<std::string>& token_strings, Template& built) {
    for (const std::string& token_string : token_strings) {
      const auto id = vocabulary.find(token_string);
      if (!id) throw Error("the token \"{}\" isn't in the vocabulary", token_string);
      built.push_back({.ids = {*id}});
    }
  };
  Template single, pair;
  put(pieces.before, single);
  put(pieces.before, pair);
  single.push_back({.source = 0});
  pair.push_back({.source = 0});
  put(pieces.between, pair);
  pair.push_back({.source = 1});
  put(pieces.after, single);
  put(pieces.after, pair);
  stages.post_processor = make_template_post_processor(std::move(single), std::move(pair));
  stages.added = std::move(pieces.added);
  stages.special = std::move(pieces.special);
}

/// The rules for models of unknown family.
void make_plain_stages(const SentencePieceFile& model, Stages& stages) {
  stages.normalizer = make_plain_normalizer(model);
  stages.pre_tokenizer = built_in(read_pre_tokenizer, metaspace());
  stages.model = make_unigram(scored(model), to_id(model.unknown), model.falls_back_to_bytes);
}

/// Unigram, or NLLB's BPE over the same word marks.
Stages make_metaspace_stages(const SentencePieceFile& model, const FolderNotes& notes) {
  Stages stages;
  stages.decoder = built_in(read_decoder, metaspace());
  if (notes.is("t5") || notes.is("mt5") || notes.is("umt5")) {
    make_t5_stages(model, notes, stages);
  } else if (notes.is("albert")) {
    make_albert_stages(model, notes, stages);
  } else if (notes.is("DebertaV2") || notes.is("deberta-v2")) {
    make_deberta_stages(model, notes, stages);
  } else if (std::optional<RenumberedPieces> pieces = renumber(model, notes)) {
    make_renumbered_stages(model, std::move(*pieces), stages);
  } else {
    make_plain_stages(model, stages);
  }
  return stages;
}

}  // namespace

Merges make_merges(const std::vector<std::string>& token_strings, const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kLongestPiece = 1'024;  // every split of a token is looked up; real tokens have at most 256 bytes
  struct Split {
    std::uint32_t rank, left_length, right_length, whole, left_bytes;
  };
  std::unordered_map<std::string_view, std::uint32_t> ids;
  for (std::uint32_t id = 0; id < token_strings.size(); ++id) ids[token_strings[id]] = id;
  std::vector<Split> splits;
  for (std::uint32_t id = 0; id < token_strings.size(); ++id) {
    const std::string_view whole = token_strings[id];
    if (ids.at(whole) != id) continue;
    if (whole.size() > kLongestPiece) throw Error("token {} has {} bytes, more than {}", id, whole.size(), kLongestPiece);
    const auto length = static_cast<std::uint32_t>(count_code_points(whole));
    std::size_t at = 0;
    for (std::uint32_t left = 1; left < length; ++left) {
      next_code_point(whole, at);
      if (ids.contains(whole.substr(0, at)) && ids.contains(whole.substr(at)))
        splits.push_back({ranks[id], left, length - left, id, static_cast<std::uint32_t>(at)});
    }
  }
  std::stable_sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) {
    return std::tie(a.rank, a.left_length, a.right_length) < std::tie(b.rank, b.left_length, b.right_length);
  });
  Merges merges;
  merges.reserve(splits.size());
  for (const Split& split : splits) {
    const std::string& whole = token_strings[split.whole];
    merges.emplace_back(whole.substr(0, split.left_bytes), whole.substr(split.left_bytes));
  }
  return merges;
}

void add_llama_stages(Stages& stages, bool adds_prefix_space, bool is_legacy) {
  if (is_legacy) {
    Json normalizers = Json::array({replacement(" ", kMark)});
    if (adds_prefix_space) normalizers.insert(normalizers.begin(), Json{{"type", "Prepend"}, {"prepend", kMark}});
    stages.normalizer = normalizer_sequence(normalizers);
  } else {
    Json marks = metaspace();
    marks.update({{"prepend_scheme", adds_prefix_space ? "first" : "never"}, {"split", false}});
    stages.pre_tokenizer = built_in(read_pre_tokenizer, marks);
  }
  stages.decoder = make_byte_fallback_sequence(adds_prefix_space);
  stages.token_string_kind = TokenStringKind::WordMarks;
}

void add_t5_stages(Stages& stages, ScoredTokens tokens, std::optional<std::uint32_t> unknown, std::uint32_t end,
                   const std::string& character_map) {
  if (!character_map.empty()) stages.normalizer = make_precompiled_normalizer(character_map);
  stages.pre_tokenizer = make_marked_words();
  stages.model = make_unigram(std::move(tokens), unknown, false);
  stages.post_processor = make_template_post_processor({{.source = 0}, {.ids = {end}}},
                                                       {{.source = 0}, {.ids = {end}}, {.source = 1}, {.ids = {end}}});
  stages.decoder = built_in(read_decoder, metaspace());
  stages.token_string_kind = TokenStringKind::WordMarks;
}

Stages read_sentence_piece(const std::filesystem::path& file, const FolderNotes& notes) {
  const SentencePieceFile model = read_sentence_piece_file(file);
  try {
    if (model.kind != SentencePieceFile::Kind::Bpe && model.kind != SentencePieceFile::Kind::Unigram)
      throw Error("the model cuts words or characters; Headlight knows BPE and Unigram models");
    const bool is_llama_like = model.kind == SentencePieceFile::Kind::Bpe && !notes.is("nllb");
    Stages stages = is_llama_like ? make_bpe_stages(model, notes) : make_metaspace_stages(model, notes);
    stages.token_string_kind = TokenStringKind::WordMarks;
    for (AddedToken& token : added_tokens(model)) {
      if (std::ranges::find(stages.added, token.content, &AddedToken::content) == stages.added.end())
        stages.added.push_back(std::move(token));
    }
    stages.added = notes.added_after(std::move(stages.added));
    if (!stages.special.unknown) {  // not a family that names its own
      stages.special = {.beginning = token_string_of(model, model.beginning),
                        .end = token_string_of(model, model.end),
                        .padding = token_string_of(model, model.padding),
                        .unknown = token_string_of(model, model.unknown)};
    }
    return stages;
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(file), error.what());
  }
}

}  // namespace headlight::text
