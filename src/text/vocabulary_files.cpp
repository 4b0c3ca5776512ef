#include "text/vocabulary_files.h"

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/utf8.h"
#include "text/gguf_words.h"
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
      require_utf8(text.substr(begin, end - begin), fmt::format("{}: line {}", file.string(), number));
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
      throw Error("{}: line {} is \"{}\": a merge is two tokens with a space between", file.string(), number, line);
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  });
  return merges;
}

/// The special tokens of the notes, with their matching rules, then the named ones that the vocabulary has.
std::vector<AddedToken> special_tokens(const Vocabulary& vocabulary, const FolderNotes& notes,
                                       std::initializer_list<std::string_view> token_strings) {
  std::vector<AddedToken> tokens = notes.special_tokens;
  for (const std::string_view token_string : token_strings) {
    const bool noted =
        std::any_of(tokens.begin(), tokens.end(), [&](const AddedToken& t) { return t.content == token_string; });
    if (!noted && vocabulary.find(token_string))
      tokens.push_back({.content = std::string(token_string), .is_normalized = false, .is_special = true});
  }
  return tokens;
}

std::uint32_t require(const Vocabulary& vocabulary, std::string_view token_string) {
  const auto id = vocabulary.find(token_string);
  if (!id) throw Error("the token \"{}\" isn't in the vocabulary", token_string);
  return *id;
}

/// Adds the file's name to errors that `build` throws.
template <typename Build>
auto build_from(const std::filesystem::path& file, Build build) {
  try {
    return build();
  } catch (const LocatedError&) {
    throw;
  } catch (const Error& error) {
    throw Error("{}: {}", file.string(), error.what());
  }
}

/// Qwen2 composes characters (NFC) and cuts words by a pattern of its own. Its files name the special tokens beside the
/// vocabulary; without them transformers adds <|endoftext|>.
Stages make_qwen2_stages(Vocabulary vocabulary, const Merges& merges, const FolderNotes& notes) {
  std::vector<AddedToken> added = notes.special_tokens;
  if (added.empty()) added.push_back({.content = "<|endoftext|>", .is_normalized = false, .is_special = true});
  Stages stages = make_byte_level_stages(std::move(vocabulary), merges, {}, read_gguf_words("qwen2").pre_tokenizer);
  stages.normalizer = built_in(read_normalizer, {{"type", "NFC"}});
  stages.added = std::move(added);
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
  const std::string separator = notes.special.separator.value_or("[SEP]");
  const std::string classification = notes.special.classification.value_or("[CLS]");
  const std::uint32_t sep = require(vocabulary, separator);
  const std::uint32_t cls = require(vocabulary, classification);
  Stages stages;
  nlohmann::json normalizer = {{"type", "BertNormalizer"},
                               {"handle_chinese_chars", notes.spaces_out_chinese.value_or(true)},
                               {"lowercase", notes.lowercases.value_or(true)}};
  if (notes.strips_accents) normalizer["strip_accents"] = *notes.strips_accents;
  stages.normalizer = built_in(read_normalizer, normalizer);
  stages.pre_tokenizer = built_in(read_pre_tokenizer, {{"type", "BertPreTokenizer"}});
  stages.added = special_tokens(vocabulary, notes, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"});
  stages.model = make_word_piece(std::move(vocabulary), {.unknown = notes.special.unknown.value_or("[UNK]")});
  stages.post_processor = make_template_post_processor(
      {{.ids = {cls}}, {.source = 0}, {.ids = {sep}}},
      {{.ids = {cls}}, {.source = 0}, {.ids = {sep}}, {.type = 1, .source = 1}, {.type = 1, .ids = {sep}}});
  stages.decoder = built_in(read_decoder, {{"type", "WordPiece"}});
  return stages;
}

Stages read_bert_folder(const std::filesystem::path& folder, const FolderNotes& notes) {
  const std::filesystem::path file = folder / "vocab.txt";
  std::vector<std::string> token_strings;
  const std::string content = read_file(file);
  for_each_line(file, content, [&](std::string_view line, std::size_t) { token_strings.emplace_back(line); });
  return build_from(file, [&] { return make_bert_stages(Vocabulary(std::move(token_strings)), notes); });
}

Stages read_byte_level_folder(const std::filesystem::path& folder, const FolderNotes& notes) {
  const std::filesystem::path file = folder / "vocab.json";
  const nlohmann::json document = read_json(file);
  Vocabulary vocabulary = read_vocabulary(JsonNode(document, fmt::format("{}: ", file.string())));
  const Merges merges = read_merges(folder / "merges.txt");
  const bool adds_space = notes.adds_prefix_space.value_or(false);
  // BART, Longformer and LED share RoBERTa's vocabulary; without notes, its special tokens identify it.
  const bool is_gpt2 = notes.is("gpt2") || notes.is("opt");
  const bool is_roberta = notes.is("roberta") || notes.is("bart") || notes.is("longformer") || notes.is("led") ||
                          (!is_gpt2 && vocabulary.find("<s>") && vocabulary.find("</s>") && vocabulary.find("<mask>"));
  if (notes.is("qwen2") || notes.is("qwen3")) {
    return build_from(file, [&] { return make_qwen2_stages(std::move(vocabulary), merges, notes); });
  }
  return build_from(file, [&] {
    std::vector<AddedToken> added = is_roberta
                                        ? special_tokens(vocabulary, notes, {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
                                        : special_tokens(vocabulary, notes, {"<|endoftext|>"});
    PostProcessor post_processor;
    if (is_roberta) {
      const std::uint32_t separator = require(vocabulary, notes.special.separator.value_or("</s>"));
      const std::uint32_t beginning = require(vocabulary, notes.special.classification.value_or("<s>"));
      post_processor = built_in(read_post_processor, {{"type", "RobertaProcessing"},
                                                      {"sep", nlohmann::json::array({"</s>", separator})},
                                                      {"cls", nlohmann::json::array({"<s>", beginning})},
                                                      {"add_prefix_space", adds_space}});
    } else if (notes.adds_beginning.value_or(notes.is("opt"))) {
      const std::string fallback = notes.is("opt") ? "</s>" : "<|endoftext|>";
      post_processor =
          make_enclosing_post_processor(require(vocabulary, notes.special.beginning.value_or(fallback)), std::nullopt);
    }
    Stages stages =
        make_byte_level_stages(std::move(vocabulary), merges, {},
                               built_in(read_pre_tokenizer, {{"type", "ByteLevel"}, {"add_prefix_space", adds_space}}));
    stages.added = std::move(added);
    stages.post_processor = std::move(post_processor);
    return stages;
  });
}

}  // namespace headlight::text
