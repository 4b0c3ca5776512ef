#include "text/vocabulary_files.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/file.h"
#include "core/json.h"
#include "core/utf8.h"
#include "text/gguf_vocabulary.h"
#include "text/json_node.h"
#include "text/model_json.h"
#include "text/unicode.h"
#include "text/word_model.h"

namespace headlight::text {
namespace {

/// Calls visit(line, number from 1) for each line of a file's text, without its end.
template <typename Visit>
void for_each_line(const std::filesystem::path& file, std::string_view text, Visit visit) {
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t next = end + 1;
    if (end > begin && text[end - 1] == '\r') --end;
    if (find_invalid_utf8(text.substr(begin, end - begin)) != std::string_view::npos)
      require_utf8(text.substr(begin, end - begin), fmt::format("{}: line {}", utf8(file), number));
    visit(text.substr(begin, end - begin), number);
    begin = next;
  }
}

Merges read_merges(const std::filesystem::path& file) {
  Merges merges;
  const std::string content = read_file(file);
  for_each_line(file, content, [&](std::string_view line, std::size_t number) {
    if (line.empty() || line.starts_with("#version")) return;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      throw Error("{}: line {} is \"{}\": a merge is two tokens with a space between", utf8(file), number, line);
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  });
  return merges;
}

/// The steps that transformers puts around the vocabulary of a family whose folder has no tokenizer.json.
struct Family {
  std::array<std::string_view, 4> names;  ///< of FolderNotes::is()
  std::string_view words = {};            ///< of read_gguf_words(); empty: GPT-2's
  bool composes = false, adds_prefix_space = false, strips_before_mask = false;
  std::string_view processing = {};  ///< type of the post-processor; empty: `beginning`, the text, `end`
  std::string_view beginning = {}, end = {};
  std::array<std::string_view, 5> special = {};  ///< also without being named by the folder
};

constexpr std::array<std::string_view, 5> kFairseqTokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
constexpr std::array<std::string_view, 5> kBertTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

/// Byte-level BPE; the first is for all others.
constexpr Family kMergesFamilies[] = {
    {.names = {"gpt2", "codegen"}, .special = {"<|endoftext|>"}},
    {.names = {"gptneox", "gpt_neox"}, .composes = true, .special = {"<|endoftext|>"}},
    {.names = {"qwen2", "qwen3"}, .words = "qwen2", .composes = true, .special = {"<|endoftext|>"}},
    {.names = {"opt"}, .beginning = "</s>", .special = {"<|endoftext|>"}},
    {.names = {"roberta", "bart", "longformer", "led"},
     .strips_before_mask = true,
     .processing = "RobertaProcessing",
     .beginning = "<s>",
     .end = "</s>",
     .special = kFairseqTokens},
    {.names = {"deberta"},
     .strips_before_mask = true,
     .processing = "BertProcessing",
     .beginning = "[CLS]",
     .end = "[SEP]",
     .special = kBertTokens},
    {.names = {"blenderbot"},
     .adds_prefix_space = true,
     .strips_before_mask = true,
     .end = "</s>",
     .special = kFairseqTokens}};
constexpr const Family& kRoberta = kMergesFamilies[4];

/// WordPiece; the first is for all others.
constexpr Family kWordPieceFamilies[] = {
    {.names = {"bert"}, .processing = "BertProcessing", .beginning = "[CLS]", .end = "[SEP]", .special = kBertTokens},
    {.names = {"mpnet"},
     .strips_before_mask = true,
     .processing = "RobertaProcessing",
     .beginning = "<s>",
     .end = "</s>",
     .special = {"<s>", "<pad>", "</s>", "[UNK]", "<mask>"}}};

/// Null where the notes name none of them.
const Family* find_family(std::span<const Family> families, const FolderNotes& notes) {
  const auto family = std::ranges::find_if(families, [&](const Family& of) {
    return std::ranges::any_of(of.names, [&](std::string_view name) { return !name.empty() && notes.is(name); });
  });
  return family == families.end() ? nullptr : &*family;
}

/// The special tokens of the notes, with their matching rules, then those of the family that the vocabulary has; where the
/// notes name none, all of the family.
std::vector<AddedToken> special_tokens(const Vocabulary& vocabulary, const FolderNotes& notes, const Family& family) {
  std::vector<AddedToken> tokens = notes.special_tokens;
  for (const std::string_view token_string : family.special) {
    const bool noted = std::ranges::find(tokens, token_string, &AddedToken::content) != tokens.end();
    if (!token_string.empty() && !noted && (notes.special_tokens.empty() || vocabulary.find(token_string)))
      tokens.push_back({.content = std::string(token_string), .is_normalized = false, .is_special = true});
  }
  for (AddedToken& token : tokens) {
    if (token.content == family.special.back()) token.left_strip = token.left_strip || family.strips_before_mask;
  }
  return tokens;
}

constexpr const char* kEndOfWord = "</w>";

std::uint32_t require(const Vocabulary& vocabulary, std::string_view token_string) {
  const auto id = vocabulary.find(token_string);
  if (!id) throw Error("the token \"{}\" isn't in the vocabulary", token_string);
  return *id;
}

/// Special tokens around texts, as the family puts them or the notes say.
PostProcessor make_surroundings(const Family& family, const Vocabulary& vocabulary, const FolderNotes& notes) {
  if (!family.processing.empty()) {
    const auto token = [&](const std::optional<std::string>& noted, std::string_view usual) {
      const std::string token_string = noted.value_or(std::string(usual));
      return nlohmann::json::array({token_string, require(vocabulary, token_string)});
    };
    return built_in(read_post_processor, {{"type", family.processing},
                                          {"sep", token(notes.special.separator, family.end)},
                                          {"cls", token(notes.special.classification, family.beginning)},
                                          {"add_prefix_space", notes.adds_prefix_space.value_or(family.adds_prefix_space)}});
  }
  std::optional<std::uint32_t> beginning, end;
  const std::string_view first = family.beginning.empty() ? family.special.front() : family.beginning;
  if (notes.adds_beginning.value_or(!family.beginning.empty()))
    beginning = require(vocabulary, notes.special.beginning.value_or(std::string(first)));
  if (!family.end.empty()) end = require(vocabulary, notes.special.end.value_or(std::string(family.end)));
  if (end) return make_template_post_processor({{.source = 0}, {.ids = {*end}}}, {{.source = 0}, {.type = 1, .source = 1}});
  return beginning ? make_enclosing_post_processor(beginning, std::nullopt) : PostProcessor();
}

/// BPE over lower-cased words between spaces and punctuation, whose last letters carry a mark.
Stages make_openai_gpt_stages(Vocabulary vocabulary, const Merges& merges, const FolderNotes& notes) {
  const std::string unknown = notes.special.unknown.value_or("<unk>");
  Stages stages;
  stages.normalizer = built_in(read_normalizer, {{"type", "BertNormalizer"}, {"lowercase", true}});
  stages.pre_tokenizer = built_in(read_pre_tokenizer, {{"type", "BertPreTokenizer"}});
  stages.added = notes.added_after({{.content = unknown, .is_normalized = false, .is_special = true}});
  stages.model = make_bpe(std::move(vocabulary), merges, {.unknown = unknown, .end_of_word_suffix = kEndOfWord});
  stages.decoder = built_in(read_decoder, {{"type", "BPEDecoder"}, {"suffix", kEndOfWord}});
  return stages;
}

/// Throws Error for a vocabulary that marks where words end or go on, as CLIP's and CTRL's do.
void expect_byte_level(const Vocabulary& vocabulary, const FolderNotes& notes) {
  std::size_t marked = 0;
  for (std::uint32_t id = 0; id < vocabulary.id_end(); ++id) {
    const std::string_view token_string = vocabulary.token_string(id).value_or("");
    if (token_string.ends_with(kEndOfWord) || token_string.ends_with("@@")) ++marked;
  }
  if (marked <= vocabulary.size() / 8) return;
  throw Error("Headlight doesn't know the rules by which {} cuts words: {}",
              notes.tokenizer_class.empty() ? "its tokenizer" : notes.tokenizer_class, kWriteTokenizerJson);
}

Stages make_byte_level_folder(Vocabulary vocabulary, const Merges& merges, const FolderNotes& notes) {
  expect_byte_level(vocabulary, notes);
  const Family* family = find_family(kMergesFamilies, notes);
  // BART, Longformer and LED share RoBERTa's vocabulary; without notes, its special tokens identify it.
  const bool is_roberta = vocabulary.find("<s>") && vocabulary.find("</s>") && vocabulary.find("<mask>");
  if (family == nullptr) family = is_roberta ? &kRoberta : &kMergesFamilies[0];
  PreTokenizer words =
      family->words.empty()
          ? built_in(read_pre_tokenizer, {{"type", "ByteLevel"},
                                          {"add_prefix_space", notes.adds_prefix_space.value_or(family->adds_prefix_space)}})
          : read_gguf_words(family->words).pre_tokenizer;
  std::vector<AddedToken> added = special_tokens(vocabulary, notes, *family);
  PostProcessor post_processor = make_surroundings(*family, vocabulary, notes);
  Stages stages = make_byte_level_stages(std::move(vocabulary), merges, {}, std::move(words));
  if (family->composes) stages.normalizer = built_in(read_normalizer, {{"type", "NFC"}});
  stages.added = std::move(added);
  stages.post_processor = std::move(post_processor);
  return stages;
}

/// ESM-2: every entry is found in the text wherever it is, as amino acids are, letter by letter.
Stages make_esm_stages(const std::vector<std::string>& token_strings) {
  nlohmann::json vocabulary = nlohmann::json::object();
  Stages stages;
  for (std::size_t id = 0; id < token_strings.size(); ++id) {
    const std::string& token_string = token_strings[id];
    vocabulary[token_string] = id;
    stages.added.push_back({.content = token_string, .is_normalized = false, .is_special = token_string.starts_with('<')});
  }
  stages.model = built_in(read_word_model, {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<unk>"}});
  stages.pre_tokenizer = built_in(  // what Python's split() takes for white space
      read_pre_tokenizer, {{"type", "Split"}, {"pattern", {{"Regex", R"([\s\x1C-\x1F]+)"}}}, {"behavior", "Removed"}});
  const std::uint32_t cls = require(stages.model->vocabulary(), "<cls>"), end = require(stages.model->vocabulary(), "<eos>");
  stages.post_processor =
      make_template_post_processor({{.ids = {cls}}, {.source = 0}, {.ids = {end}}},
                                   {{.ids = {cls}}, {.source = 0}, {.ids = {end}}, {.source = 1}, {.ids = {end}}});
  return stages;
}

}  // namespace

PostProcessor make_enclosing_post_processor(std::optional<std::uint32_t> beginning, std::optional<std::uint32_t> end) {
  const auto enclose = [&](std::uint32_t source, Template& built) {
    if (beginning) built.push_back({.type = source, .ids = {*beginning}});
    built.push_back({.type = source, .source = source});
    if (end) built.push_back({.type = source, .ids = {*end}});
  };
  Template single, pair;
  enclose(0, single);
  enclose(0, pair);
  enclose(1, pair);
  return make_template_post_processor(std::move(single), std::move(pair));
}

Stages make_byte_level_stages(Vocabulary vocabulary, const Merges& merges, BpeOptions options, PreTokenizer words) {
  Stages stages;
  stages.pre_tokenizer = std::move(words);
  stages.model = make_bpe(std::move(vocabulary), merges, std::move(options));
  stages.decoder = built_in(read_decoder, {{"type", "ByteLevel"}});
  stages.token_string_kind = TokenStringKind::ByteLetters;
  return stages;
}

Stages make_bert_stages(Vocabulary vocabulary, const FolderNotes& notes) {
  // These cut words before WordPiece does, or their vocabulary belongs to a BPE.
  constexpr std::array<std::string_view, 5> kOthers = {"BertJapanese", "Phobert", "Bertweet", "RoFormer", "CpmAnt"};
  for (const std::string_view other : kOthers) {
    if (notes.is(other))
      throw Error("Headlight doesn't know the rules by which {} cuts words: {}", notes.tokenizer_class, kWriteTokenizerJson);
  }
  const Family* found = find_family(std::span(kWordPieceFamilies).subspan(1), notes);
  const Family& family = found == nullptr ? kWordPieceFamilies[0] : *found;
  Stages stages;
  nlohmann::json normalizer = {{"type", "BertNormalizer"},
                               {"handle_chinese_chars", notes.spaces_out_chinese.value_or(true)},
                               {"lowercase", notes.lowercases.value_or(true)}};
  if (notes.strips_accents) normalizer["strip_accents"] = *notes.strips_accents;
  stages.normalizer = built_in(read_normalizer, normalizer);
  stages.pre_tokenizer = built_in(read_pre_tokenizer, {{"type", "BertPreTokenizer"}});
  stages.post_processor = make_surroundings(family, vocabulary, notes);
  stages.added = special_tokens(vocabulary, notes, family);
  stages.model = make_word_piece(std::move(vocabulary), {.unknown = notes.special.unknown.value_or("[UNK]")});
  stages.decoder = built_in(read_decoder, {{"type", "WordPiece"}});
  return stages;
}

Stages read_word_list(const std::filesystem::path& folder, const FolderNotes& notes) {
  const std::filesystem::path file = folder / "vocab.txt";
  std::vector<std::string> token_strings;
  const std::string content = read_file(file);
  for_each_line(file, content, [&](std::string_view line, std::size_t) { token_strings.emplace_back(line); });
  return build_from(file, [&] {
    return notes.is("esm") ? make_esm_stages(token_strings) : make_bert_stages(Vocabulary(std::move(token_strings)), notes);
  });
}

Stages read_merges_folder(const std::filesystem::path& folder, const FolderNotes& notes) {
  const std::filesystem::path file = folder / "vocab.json";
  const nlohmann::json document = read_json(file);
  Vocabulary vocabulary = read_vocabulary(JsonNode(document, fmt::format("{}: ", utf8(file))));
  const Merges merges = read_merges(folder / "merges.txt");
  const bool is_openai_gpt = notes.is("OpenAIGPT") || notes.is("openai-gpt");
  return build_from(file, [&] {
    return (is_openai_gpt ? make_openai_gpt_stages : make_byte_level_folder)(std::move(vocabulary), merges, notes);
  });
}

}  // namespace headlight::text
