#include "text/byte_vocabularies.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "text/byte_alphabet.h"
#include "text/gguf_vocabulary.h"
#include "text/json_node.h"
#include "text/precompiled_map.h"
#include "text/sentence_piece_stages.h"
#include "text/vocabulary_files.h"

namespace headlight::text {
namespace {

constexpr std::uint32_t kLargestVocabulary = 1U << 22U;

/// Tokens by rank, in letters of GPT-2's alphabet, and special tokens with their ids.
struct ByteVocabulary {
  std::vector<std::string> letters;
  std::uint32_t first_id = 0;  ///< of the token of rank 0
  std::vector<std::pair<std::string, std::uint32_t>> special;
};

Stages make_stages(const ByteVocabulary& file, PreTokenizer words) {
  std::vector<std::uint32_t> ranks(file.letters.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::vector<std::pair<std::string, std::uint32_t>> entries = file.special;
  for (const std::uint32_t rank : ranks) entries.emplace_back(file.letters[rank], file.first_id + rank);
  Stages stages = make_byte_level_stages(Vocabulary(std::move(entries)), make_merges(file.letters, ranks),
                                         {.ignores_merges = true, .ranks_by_id = true}, std::move(words));
  for (int byte = 0; byte < 256; ++byte) {
    if (!stages.model->vocabulary().find(byte_letters(std::string(1, static_cast<char>(byte)))))
      throw Error("the vocabulary has no token for the byte {}: it is damaged", byte);
  }
  for (const auto& [token_string, id] : file.special)
    stages.added.push_back({.content = token_string, .is_normalized = false, .is_special = true});
  return stages;
}

/// Tokens that Mistral's oldest files don't list, in order.
constexpr std::string_view kOldestTekken[] = {"<unk>",
                                              "<s>",
                                              "</s>",
                                              "[INST]",
                                              "[/INST]",
                                              "[AVAILABLE_TOOLS]",
                                              "[/AVAILABLE_TOOLS]",
                                              "[TOOL_RESULTS]",
                                              "[/TOOL_RESULTS]",
                                              "[TOOL_CALLS]",
                                              "[IMG]",
                                              "<pad>",
                                              "[IMG_BREAK]",
                                              "[IMG_END]",
                                              "[PREFIX]",
                                              "[MIDDLE]",
                                              "[SUFFIX]",
                                              "[SYSTEM_PROMPT]",
                                              "[/SYSTEM_PROMPT]",
                                              "[TOOL_CONTENT]"};

ByteVocabulary read_tekken_vocabulary(const JsonNode& root) {
  const JsonNode config = root.at("config"), vocabulary = root.at("vocab");
  ByteVocabulary result;
  const std::uint32_t size = config.at("default_vocab_size").id(), special = config.at("default_num_special_tokens").id();
  if (special > size || size > kLargestVocabulary) config.fail("has sizes that no vocabulary has");
  result.first_id = special;
  if (const auto list = root.find("special_tokens")) {
    for (const JsonNode& token : list->items())
      result.special.emplace_back(token.at("token_str").string(), token.at("rank").id());
  } else {
    for (const std::string_view token : kOldestTekken) result.special.emplace_back(token, result.special.size());
  }
  for (auto& [token_string, id] : result.special)
    if (id >= special)
      root.at("special_tokens").fail(fmt::format("has the rank {}, but there are {} special tokens", id, special));
  for (auto id = static_cast<std::uint32_t>(result.special.size()); id < special; ++id)
    result.special.emplace_back(fmt::format("<SPECIAL_{}>", id), id);
  const std::size_t count = std::min<std::size_t>(vocabulary.value().size(), size - special);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const JsonNode token = vocabulary.item(rank), bytes = token.at("token_bytes");
    if (token.at("rank").id() != rank) token.at("rank").fail(fmt::format("must be {}", rank));
    const std::optional<std::string> decoded = decode_base64(bytes.string());
    if (!decoded || decoded->empty()) bytes.fail("isn't base64 of a token");
    result.letters.push_back(byte_letters(*decoded));
  }
  return result;
}

/// The token and the rank of a line; nothing where it has another form.
std::optional<std::pair<std::string, std::uint32_t>> read_tiktoken_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  const std::optional<std::string> bytes = decode_base64(line.substr(0, space));
  std::uint32_t rank = 0;
  const char* end = line.data() + line.size();
  const auto [stop, failure] = std::from_chars(line.data() + space + 1, end, rank);
  if (!bytes || bytes->empty() || failure != std::errc() || stop != end) return std::nullopt;
  return std::pair(*bytes, rank);
}

/// The properties of a tiktoken vocabulary that its family's code states, not its files.
struct TiktokenFamily {
  std::string_view name;   ///< of FolderNotes::is(), or a part of the file's name
  std::string_view words;  ///< of read_gguf_words()
  std::vector<std::string_view> special = {};
  std::string_view more = {};          ///< what further special tokens are called, before their number
  std::uint32_t first = 0, count = 0;  ///< the first number, and how many special tokens there are
};

const std::vector<TiktokenFamily>& tiktoken_families() {
  static const std::vector<TiktokenFamily> kFamilies = {
      {"llama",
       "llama3",
       {"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
        "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
        "<|python_tag|>"},
       "<|reserved_special_token_",
       2,
       256},
      {"qwen", "qwen2", {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}, "<|extra_", 0, 208},
      {"chatglm", "llama3"},
      {"cl100k", "llama3"},
      {"o200k", "gpt-4o"}};
  return kFamilies;
}

const TiktokenFamily& find_tiktoken_family(const std::filesystem::path& file, const FolderNotes& notes) {
  const std::string name = utf8(file.filename());
  const auto family = std::ranges::find_if(tiktoken_families(), [&](const TiktokenFamily& of) {
    return notes.is(of.name) || name.find(of.name) != std::string::npos;
  });
  if (family != tiktoken_families().end()) return *family;
  throw Error("tiktoken files don't say how words are cut, and Headlight doesn't know it of {}: {}",
              notes.tokenizer_class.empty() ? "this family" : notes.tokenizer_class, kWriteTokenizerJson);
}

/// Adds the special tokens that the folder lists, else the family's; their ids follow the ranks.
void add_special(const FolderNotes& notes, const TiktokenFamily& family, ByteVocabulary& file) {
  auto next = static_cast<std::uint32_t>(file.letters.size());
  for (const AddedToken& token : notes.special_tokens) file.special.emplace_back(token.content, next++);
  if (!file.special.empty()) return;
  for (const std::string_view token : family.special) file.special.emplace_back(token, next++);
  for (std::uint32_t number = family.first; file.special.size() < family.count; ++number)
    file.special.emplace_back(fmt::format("{}{}|>", family.more, number), next++);
}

/// The ranks are numbers from 0 without gaps, in any order.
ByteVocabulary read_tiktoken_vocabulary(const std::filesystem::path& file) {
  ByteVocabulary result;
  const std::string content = read_file(file);
  std::size_t number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
    if (line.empty()) continue;
    const auto token = read_tiktoken_line(line);
    if (!token) throw Error("line {} must be base64 of a token and its rank", number);
    if (token->second != result.letters.size())
      throw Error("line {} has the rank {}, but {} comes next", number, token->second, result.letters.size());
    result.letters.push_back(byte_letters(token->first));
  }
  return result;
}

}  // namespace

Stages read_tekken(const std::filesystem::path& file) {
  const nlohmann::json document = read_json(file);
  const JsonNode root(document, fmt::format("{}: ", utf8(file)));
  return build_from(file, [&] {
    const JsonNode pattern = root.at("config").at("pattern");
    nlohmann::json split = {{"type", "Split"}, {"pattern", {{"Regex", pattern.string()}}}, {"behavior", "Isolated"}};
    nlohmann::json letters = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    Stages stages = make_stages(
        read_tekken_vocabulary(root),
        built_in(read_pre_tokenizer, {{"type", "Sequence"}, {"pretokenizers", nlohmann::json::array({split, letters})}}));
    stages.post_processor = make_enclosing_post_processor(stages.model->vocabulary().find("<s>"), std::nullopt);
    return stages;
  });
}

bool is_tiktoken(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  return read_tiktoken_line(std::string_view(content).substr(0, content.find('\n'))).has_value();
}

Stages read_tiktoken(const std::filesystem::path& file, const FolderNotes& notes) {
  return build_from(file, [&] {
    const TiktokenFamily& family = find_tiktoken_family(file, notes);
    ByteVocabulary vocabulary = read_tiktoken_vocabulary(file);
    add_special(notes, family, vocabulary);
    GgufWords words = read_gguf_words(family.words);
    Stages stages = make_stages(vocabulary, std::move(words.pre_tokenizer));
    if (words.composes) stages.normalizer = built_in(read_normalizer, {{"type", "NFC"}});
    if (const auto beginning = stages.model->vocabulary().find("<|begin_of_text|>"); beginning && words.adds_beginning)
      stages.post_processor = make_enclosing_post_processor(beginning, std::nullopt);
    return stages;
  });
}

Stages make_byt5_stages(const FolderNotes& notes) {
  std::vector<std::string> token_strings = {"<pad>", "</s>", "<unk>"};
  Stages added;
  for (const std::string& token_string : token_strings)
    added.added.push_back(
        {.content = token_string, .left_strip = true, .right_strip = true, .is_normalized = false, .is_special = true});
  for (int byte = 0; byte < 256; ++byte) token_strings.push_back(byte_letters(std::string(1, static_cast<char>(byte))));
  for (std::uint32_t i = 0; i < notes.extra_ids.value_or(125); ++i)
    added.added.push_back({.content = fmt::format("<extra_id_{}>", i), .is_normalized = false, .is_special = true});
  Stages stages = make_byte_level_stages(
      Vocabulary(std::move(token_strings)), {}, {},
      built_in(read_pre_tokenizer, {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}));
  stages.added = notes.added_after(std::move(added.added));
  stages.post_processor = make_enclosing_post_processor(std::nullopt, 1);
  return stages;
}

}  // namespace headlight::text
