#include "text/gguf_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/utf8.h"
#include "text/json_node.h"
#include "text/pipeline.h"
#include "text/sentence_piece_stages.h"
#include "text/vocabulary_files.h"

namespace headlight::text {

namespace {

// The patterns of the tokenizer.json files of these models; several are applied one after the other.
#define HEADLIGHT_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    HEADLIGHT_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    HEADLIGHT_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    HEADLIGHT_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" HEADLIGHT_CONTRACTIONS
    R"(?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" HEADLIGHT_CONTRACTIONS
    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kDeepSeekHan = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
#undef HEADLIGHT_CONTRACTIONS

struct Rule {
  std::string_view names;  ///< each between two spaces
  std::vector<std::string_view> patterns;
  bool ignores_merges = false, adds_beginning = false, composes = false;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {.names =
           "  default gpt-2 gpt-neox olmo mpt jais phi-2 trillion granite-docling roberta-bpe modern-bert gigachat a.x-4.0 "
           "mellum exaone4 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code ",
       .patterns = {kGpt2}},
      {.names = " llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 ",
       .patterns = {kLlama3},
       .ignores_merges = true,
       .adds_beginning = true},
      {.names = " dbrx smaug-bpe chatglm-bpe glm4 ", .patterns = {kLlama3}},
      {.names = " qwen2 deepseek-r1-qwen megrez kormo ", .patterns = {kQwen2}, .composes = true},
      {.names = " stablelm2 hunyuan ", .patterns = {kQwen2}},
      {.names = " seed-coder ", .patterns = {kSeedCoder}},
      {.names = " smollm starcoder refact command-r codeshell exaone minerva-7b ", .patterns = {kDigit, kGpt2}},
      {.names = " gpt-4o llama4 kanana2 ", .patterns = {kGpt4o}},
      {.names = " tekken ", .patterns = {kTekken}, .ignores_merges = true, .adds_beginning = true},
      {.names = " bloom poro-chat gpt3-finnish ", .patterns = {kBloom}},
      {.names = " viking ", .patterns = {kBloom, kDigit}},
      {.names = " falcon ", .patterns = {kFalconPunctuation, kGpt2, kThreeDigits}},
      {.names = " deepseek-v3 hunyuan-dense ", .patterns = {kUpToThreeDigits, kDeepSeekHan, kDeepSeek3}},
  };
  return kRules;
}

}  // namespace

GgufWords read_gguf_words(std::string_view pre_tokenizer) {
  const std::string wanted = fmt::format(" {} ", pre_tokenizer);
  const auto rule = std::find_if(rules().begin(), rules().end(),
                                 [&](const Rule& of) { return of.names.find(wanted) != std::string_view::npos; });
  if (rule == rules().end())
    throw Error(
        "the file's tokenizer cuts words by the rule \"{}\" (tokenizer.ggml.pre), which Headlight doesn't know; "
        "open the model's Hugging Face folder instead",
        pre_tokenizer);
  nlohmann::json parts = nlohmann::json::array();
  for (const std::string_view pattern : rule->patterns)
    parts.push_back({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}});
  parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  return {.pre_tokenizer = built_in(read_pre_tokenizer, {{"type", "Sequence"}, {"pretokenizers", parts}}),
          .ignores_merges = rule->ignores_merges,
          .adds_beginning = rule->adds_beginning,
          .composes = rule->composes};
}

namespace {

enum class TokenType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4 };

TokenType type_of(const GgufVocabulary& file, std::size_t id) {
  return id < file.token_types.size() ? static_cast<TokenType>(file.token_types[id]) : TokenType::Normal;
}

std::vector<AddedToken> added_tokens(const GgufVocabulary& file) {
  std::vector<AddedToken> tokens;
  for (std::size_t id = 0; id < file.tokens.size(); ++id) {
    const TokenType type = type_of(file, id);
    const bool is_special = type == TokenType::Control || type == TokenType::Unknown;
    if (is_special || type == TokenType::UserDefined)
      tokens.push_back({.content = file.tokens[id], .is_normalized = false, .is_special = is_special});
  }
  return tokens;
}

/// The tokens around a text, unless the file says otherwise.
PostProcessor surroundings(const GgufVocabulary& file, bool adds_beginning, bool adds_end) {
  const SpecialTokens& special = file.special;
  const auto beginning = special.beginning ? special.beginning : special.classification;
  const auto end = special.end ? special.end : special.separator;
  return make_enclosing_post_processor(file.adds_beginning.value_or(adds_beginning) ? beginning : std::nullopt,
                                       file.adds_end.value_or(adds_end) ? end : std::nullopt);
}

Merges read_merges(const GgufVocabulary& file) {
  Merges merges;
  merges.reserve(file.merges.size());
  for (std::size_t i = 0; i < file.merges.size(); ++i) {
    const std::string& merge = file.merges[i];
    const std::size_t space = merge.find(' ', 1);  // a token may begin with a space, but isn't empty
    if (space == std::string::npos)
      throw Error("tokenizer.ggml.merges[{}] is \"{}\": a merge is two tokens with a space between", i, merge);
    merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return merges;
}

Stages make_gpt2(const GgufVocabulary& file) {
  if (file.merges.empty()) throw Error("tokenizer.ggml.merges is missing: a tokenizer of kind gpt2 needs its merges");
  GgufWords words = read_gguf_words(file.pre_tokenizer.empty() ? "default" : file.pre_tokenizer);
  BpeOptions options;
  options.ignores_merges = words.ignores_merges;
  Stages stages = make_byte_level_stages(Vocabulary(std::vector(file.tokens)), read_merges(file), std::move(options),
                                         std::move(words.pre_tokenizer));
  if (words.composes) stages.normalizer = built_in(read_normalizer, {{"type", "NFC"}});
  stages.post_processor = surroundings(file, words.adds_beginning, false);
  if (file.pre_tokenizer.empty()) {
    stages.notes.emplace_back(
        "the file doesn't say how its tokenizer cuts words (tokenizer.ggml.pre), which is guessed as GPT-2's: tokens may "
        "differ from the model's own; choose a file made by a newer converter");
  }
  return stages;
}

/// Every stage relies on valid UTF-8, and no converter writes anything else.
void require_utf8_texts(const std::vector<std::string>& texts, std::string_view key) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (find_invalid_utf8(texts[i]) != std::string::npos) require_utf8(texts[i], fmt::format("{}[{}]", key, i));
  }
}

void require_scores(const GgufVocabulary& file) {
  if (file.scores.size() != file.tokens.size())
    throw Error("tokenizer.ggml.scores has {} numbers for {} tokens", file.scores.size(), file.tokens.size());
  if (!std::ranges::all_of(file.scores, [](float score) { return std::isfinite(score); }))
    throw Error("tokenizer.ggml.scores has a number that isn't finite");
}

/// Ranks of tokens by score, the highest first.
std::vector<std::uint32_t> rank_by_score(const std::vector<float>& scores) {
  std::vector<std::uint32_t> order(scores.size()), ranks(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

Stages make_llama(const GgufVocabulary& file) {
  if (file.merges.empty()) require_scores(file);
  const Merges merges = file.merges.empty() ? make_merges(file.tokens, rank_by_score(file.scores)) : read_merges(file);
  BpeOptions options;
  if (file.special.unknown && *file.special.unknown < file.tokens.size())
    options.unknown = file.tokens[*file.special.unknown];
  options.fuses_unknown = true;
  options.falls_back_to_bytes = true;
  Stages stages;
  stages.model = make_bpe(Vocabulary(std::vector(file.tokens)), merges, std::move(options));
  add_llama_stages(stages, file.adds_space_prefix.value_or(true), true);
  stages.post_processor = surroundings(file, true, false);
  return stages;
}

/// GGUF marks the tokens that begin a word, BERT those that don't.
std::string to_bert_token(std::string_view token_string) {
  constexpr std::string_view kMark = "▁";
  if (token_string.starts_with('[') && token_string.ends_with(']')) return std::string(token_string);
  return token_string.starts_with(kMark) ? std::string(token_string.substr(kMark.size()))
                                         : fmt::format("##{}", token_string);
}

Stages make_bert(const GgufVocabulary& file) {
  std::vector<std::string> token_strings;
  for (const std::string& token_string : file.tokens) token_strings.push_back(to_bert_token(token_string));
  Stages stages = make_bert_stages(Vocabulary(std::move(token_strings)), {});
  if (!file.adds_beginning.value_or(true) || !file.adds_end.value_or(true)) {
    stages.post_processor = surroundings(file, true, true);
  }
  return stages;
}

Stages make_t5(const GgufVocabulary& file) {
  require_scores(file);
  ScoredTokens tokens;
  for (std::size_t id = 0; id < file.tokens.size(); ++id)
    tokens.emplace_back(file.tokens[id], static_cast<double>(file.scores[id]));
  Stages stages;
  add_t5_stages(stages, std::move(tokens), file.special.unknown, file.special.end.value_or(1), file.character_map);
  const bool adds_beginning = file.adds_beginning.value_or(false) && file.special.beginning;
  if (adds_beginning && file.special.end && file.adds_end.value_or(true)) {
    // XLM-RoBERTa's: <s> A </s></s> B </s>, and a space at the end is a word.
    const Normalizer spaces =
        built_in(read_normalizer, {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
    stages.normalizer = stages.normalizer ? make_normalizer_sequence({stages.normalizer, spaces}) : spaces;
    stages.pre_tokenizer = built_in(read_pre_tokenizer, {{"type", "Metaspace"}, {"replacement", "▁"}});
    const TemplatePart begin{.ids = {*file.special.beginning}}, end{.ids = {*file.special.end}};
    stages.post_processor =
        make_template_post_processor({begin, {.source = 0}, end}, {begin, {.source = 0}, end, end, {.source = 1}, end});
  } else if (adds_beginning || !file.adds_end.value_or(true)) {
    stages.post_processor = surroundings(file, false, true);
  }
  return stages;
}

}  // namespace

Stages read_gguf_vocabulary(const GgufVocabulary& file) {
  if (file.tokens.empty()) throw Error("tokenizer.ggml.tokens is missing: the file has no vocabulary");
  require_utf8_texts(file.tokens, "tokenizer.ggml.tokens");
  require_utf8_texts(file.merges, "tokenizer.ggml.merges");
  const bool is_bert = file.model == "bert";
  Stages stages;
  if (file.model == "gpt2") {
    stages = make_gpt2(file);
  } else if (file.model == "llama") {
    stages = make_llama(file);
  } else if (is_bert) {
    stages = make_bert(file);
  } else if (file.model == "t5") {
    stages = make_t5(file);
  } else {
    throw Error("tokenizer.ggml.model is \"{}\": Headlight knows gpt2, llama, bert and t5", file.model);
  }
  if (!is_bert) stages.added = added_tokens(file);
  return stages;
}

}  // namespace headlight::text
