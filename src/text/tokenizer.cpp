#include "text/tokenizer.h"

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "text/byte_vocabularies.h"
#include "text/folder_notes.h"
#include "text/json_node.h"
#include "text/label.h"
#include "text/model_json.h"
#include "text/pipeline.h"
#include "text/sentence_piece_file.h"
#include "text/sentence_piece_stages.h"
#include "text/utf8_repair.h"
#include "text/vocabulary_files.h"

namespace headlight::text {

namespace {

/// The side of an encoder–decoder that a text is for; only Marian's two tokenizers differ.
enum class Side { Source, Target };

Stages read_files(const std::filesystem::path& folder, const FolderNotes& notes, Side side) {
  const auto has = [&](const char* name) { return std::filesystem::exists(folder / name); };
  if (has("tokenizer.json")) {
    const std::filesystem::path file = folder / "tokenizer.json";
    return read_tokenizer_json(read_file(file), utf8(file));
  }
  if (has("source.spm") && has("target.spm") && has("vocab.json"))
    return read_piece_vocabulary(folder, side == Side::Source ? "source.spm" : "target.spm", notes);
  if (has("vocab.json") && has("sentencepiece.bpe.model"))
    return read_piece_vocabulary(folder, "sentencepiece.bpe.model", notes);
  if (has("vocab.json") && has("merges.txt")) return read_merges_folder(folder, notes);
  if (has("tekken.json")) return read_tekken(folder / "tekken.json");
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model"}) {
    if (!has(name)) continue;
    return is_tiktoken(folder / name) ? read_tiktoken(folder / name, notes) : read_sentence_piece(folder / name, notes);
  }
  if (has("vocab.txt")) return read_word_list(folder, notes);
  if (notes.is("byt5")) return make_byt5_stages(notes);
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == ".tiktoken") return read_tiktoken(entry.path(), notes);
  }
  throw Error(
      "{} has no tokenizer: it needs tokenizer.json, tekken.json, vocab.json with merges.txt, vocab.txt, a SentencePiece "
      "model "
      "(tokenizer.model, spiece.model) or a .tiktoken file",
      utf8(folder));
}

/// The tokenizer of a model's folder, from the files it has. Throws Error naming file, place and reason.
Stages read_tokenizer_folder(const std::filesystem::path& folder, Side side) {
  const FolderNotes notes = read_folder_notes(folder);
  Stages stages = read_files(folder, notes, side);
  for (const SpecialTokenRole& role : kSpecialTokenRoles) {
    if (const auto& noted = notes.special.*role.token_string) stages.special.*role.token_string = noted;
  }
  return stages;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::parse(std::string_view tokenizer_json) {
  return Tokenizer(std::make_unique<const Pipeline>(read_tokenizer_json(tokenizer_json, "tokenizer.json")));
}

Tokenizer Tokenizer::load(const std::filesystem::path& folder) {
  return Tokenizer(std::make_unique<const Pipeline>(read_tokenizer_folder(folder, Side::Source)));
}

Tokenizer Tokenizer::load_target(const std::filesystem::path& folder) {
  return Tokenizer(std::make_unique<const Pipeline>(read_tokenizer_folder(folder, Side::Target)));
}

Tokenizer Tokenizer::from_gguf(const GgufVocabulary& vocabulary) {
  auto pipeline = std::make_unique<Pipeline>(read_gguf_vocabulary(vocabulary));
  pipeline->special = vocabulary.special;
  if (!pipeline->special.unknown) pipeline->special.unknown = pipeline->stages.model->unknown();
  return Tokenizer(std::move(pipeline));
}

namespace {

/// Concatenates encodings and maps their byte ranges back to the texts as typed.
template <typename TokenStringOf>
std::vector<Token> assemble(const std::vector<Encoding>& encodings, const std::vector<const RepairedUtf8*>& texts,
                            TokenStringOf token_string_of) {
  std::vector<Token> tokens;
  for (const Encoding& encoding : encodings) {
    for (const EncodedToken& token : encoding.tokens) {
      tokens.push_back({.id = token.id,
                        .text = std::string(token_string_of(token.id)),
                        .bytes = texts[token.source]->original(token.bytes),
                        .sequence = token.type,
                        .is_special = token.is_special,
                        .source = token.source});
    }
  }
  return tokens;
}

}  // namespace

std::vector<Token> Tokenizer::encode(std::string_view text, bool adds_special) const {
  const RepairedUtf8 repaired(text);
  std::vector<Encoding> encodings = {pipeline_->encode(repaired.text(), 0)};
  if (pipeline_->stages.post_processor) pipeline_->stages.post_processor(encodings, adds_special);
  return assemble(encodings, {&repaired}, [&](std::uint32_t id) { return token_string(id); });
}

std::vector<Token> Tokenizer::encode_pair(std::string_view first, std::string_view second, bool adds_special) const {
  const RepairedUtf8 repaired_first(first), repaired_second(second);
  std::vector<Encoding> encodings = {pipeline_->encode(repaired_first.text(), 0),
                                     pipeline_->encode(repaired_second.text(), 1)};
  if (pipeline_->stages.post_processor) pipeline_->stages.post_processor(encodings, adds_special);
  return assemble(encodings, {&repaired_first, &repaired_second}, [&](std::uint32_t id) { return token_string(id); });
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids, bool skips_special) const {
  const AddedTokens& added = pipeline_->added;
  std::vector<std::string> parts;
  for (const std::uint32_t id : ids) {
    std::string_view part;
    if (added.token(id) != nullptr) {
      part = added.decoded(id);
    } else if (const auto token_string = pipeline_->stages.model->vocabulary().token_string(id)) {
      part = *token_string;
    } else {
      continue;
    }
    if (!skips_special || !added.is_special(part)) parts.emplace_back(part);
  }
  std::string text;
  if (pipeline_->stages.decoder) {
    pipeline_->stages.decoder(parts);
    for (const std::string& part : parts) text += part;
  } else {
    for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : " ") + parts[i];
  }
  return text;
}

std::uint32_t Tokenizer::vocabulary_size() const {
  return std::max(pipeline_->stages.model->vocabulary().id_end(), pipeline_->added.id_end());
}

std::string_view Tokenizer::token_string(std::uint32_t id) const { return pipeline_->token_string(id).value_or(""); }
std::optional<std::uint32_t> Tokenizer::find(std::string_view token_string) const { return pipeline_->find(token_string); }

std::string Tokenizer::label(std::uint32_t id) const {
  if (pipeline_->added.token(id) != nullptr) return std::string(token_string(id));
  return to_label(token_string(id), pipeline_->stages.token_string_kind);
}

std::vector<std::string> Tokenizer::labels(std::span<const std::uint32_t> ids) const {
  std::vector<std::string_view> token_strings;
  for (const std::uint32_t id : ids) {
    token_strings.push_back(pipeline_->added.token(id) != nullptr ? std::string_view() : token_string(id));
  }
  std::vector<std::string> labels = to_labels(token_strings, pipeline_->stages.token_string_kind);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (token_strings[i].empty()) labels[i] = label(ids[i]);
  }
  return labels;
}

const SpecialTokens& Tokenizer::special() const { return pipeline_->special; }
const std::vector<std::string>& Tokenizer::notes() const { return pipeline_->stages.notes; }
std::string_view Tokenizer::kind() const { return pipeline_->stages.model->kind(); }

namespace {

std::vector<AddedToken> read_added_tokens(const JsonNode& node) {
  std::vector<AddedToken> tokens;
  for (const JsonNode& item : node.items()) {
    tokens.push_back({.content = item.at("content").string(),
                      .single_word = item.boolean_or("single_word", false),
                      .left_strip = item.boolean_or("lstrip", false),
                      .right_strip = item.boolean_or("rstrip", false),
                      .is_normalized = item.boolean_or("normalized", true),
                      .is_special = item.boolean_or("special", false)});
  }
  return tokens;
}

/// Does a stage, or one in a sequence of stages, have this type?
bool has_stage(const nlohmann::json& stage, std::string_view type) {
  if (stage.is_object()) {
    const auto name = stage.find("type");
    const auto* text = name == stage.end() ? nullptr : name->get_ptr<const std::string*>();
    if (text != nullptr && *text == type) return true;
  }
  return stage.is_structured() &&
         std::any_of(stage.begin(), stage.end(), [&](const nlohmann::json& part) { return has_stage(part, type); });
}

/// Words marked by "▁" come from Metaspace, or from normalizers that insert the mark.
bool has_word_marks(const nlohmann::json& stage) {
  if (const auto* text = stage.get_ptr<const std::string*>()) return *text == "▁";
  return stage.is_structured() && std::any_of(stage.begin(), stage.end(), has_word_marks);
}

TokenStringKind find_token_string_kind(const JsonNode& root) {
  for (const std::string_view key : {"normalizer", "pre_tokenizer", "decoder"}) {
    const std::optional<JsonNode> stage = root.find(key);
    if (!stage) continue;
    if (has_stage(stage->value(), "ByteLevel")) return TokenStringKind::ByteLetters;
    if (has_word_marks(stage->value())) return TokenStringKind::WordMarks;
  }
  return TokenStringKind::Plain;
}

}  // namespace

Stages read_tokenizer_json(std::string_view text, std::string_view file) {
  const Result<nlohmann::json> parsed = parse_json(text);
  if (!parsed) throw Error("{}: {}", file, parsed.error());
  const nlohmann::json& document = *parsed;
  const JsonNode root(document, fmt::format("{}: ", file));
  if (!document.is_object()) root.fail(fmt::format("a tokenizer is an object, but this is {}", document.type_name()));
  if (const auto version = root.find("version"); version && version->string() != "1.0")
    version->fail(fmt::format("is \"{}\": Headlight knows version 1.0", version->string()));

  Stages stages;
  if (const auto node = root.find("normalizer")) stages.normalizer = read_normalizer(*node);
  if (const auto node = root.find("pre_tokenizer")) stages.pre_tokenizer = read_pre_tokenizer(*node);
  stages.model = read_word_model(root.at("model"));
  if (const auto node = root.find("post_processor")) stages.post_processor = read_post_processor(*node);
  if (const auto node = root.find("decoder")) stages.decoder = read_decoder(*node);
  if (const auto node = root.find("added_tokens")) stages.added = read_added_tokens(*node);
  stages.token_string_kind = find_token_string_kind(root);
  return stages;
}

}  // namespace headlight::text
