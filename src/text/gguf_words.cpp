#include "text/gguf_words.h"

#include <algorithm>

#include "core/error.h"
#include "text/json_node.h"

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

}  // namespace headlight::text
