#include "text/sentence_piece_file.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/utf8.h"
#include "text/json_node.h"
#include "text/model_json.h"
#include "text/precompiled_map.h"

namespace headlight::text {

namespace {

/// A field of a Protocol Buffers message: a number, or the bytes of a text or a message.
struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::optional<std::string_view> bytes;
};

/// Walks the fields of one message (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  /// nullopt at the end. Throws Error for malformed bytes, so that libsentencepiece reads no field that isn't checked.
  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::optional<Field> field = read();
    if (!field) throw Error("it is no SentencePiece model, or a damaged one: download the file again");
    return field;
  }

 private:
  std::optional<Field> read() {
    const std::optional<std::uint64_t> key = varint();
    if (!key || *key > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    Field field{.number = static_cast<std::uint32_t>(*key >> 3U), .bytes = {}};
    switch (*key & 7U) {
      case 0: {
        const std::optional<std::uint64_t> value = varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1:
        return fixed(field, 8);
      case 2: {
        const std::optional<std::uint64_t> size = varint();
        if (!size || *size > rest_.size()) return std::nullopt;
        field.bytes = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return field;
      }
      case 5:
        return fixed(field, 4);
      default:
        return std::nullopt;
    }
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<Field> fixed(Field field, std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    for (std::size_t i = 0; i < size; ++i) field.value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

SentencePieceFile::Entry read_piece(std::string_view bytes) {
  SentencePieceFile::Entry entry;
  Message message(bytes);
  while (const std::optional<Field> field = message.next()) {
    if (field->number == 1 && field->bytes) entry.token_string = *field->bytes;
    if (field->number == 2) entry.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number == 3) entry.type = static_cast<PieceType>(field->value);
  }
  return entry;
}

void read_trainer(std::string_view bytes, SentencePieceFile& model) {
  Message message(bytes);
  while (const std::optional<Field> field = message.next()) {
    const auto id = static_cast<std::int32_t>(static_cast<std::int64_t>(field->value));
    switch (field->number) {
      case 3:
        model.kind = static_cast<SentencePieceFile::Kind>(field->value);
        break;
      case 35:
        model.falls_back_to_bytes = field->value != 0;
        break;
      case 40:
        model.unknown = id;
        break;
      case 41:
        model.beginning = id;
        break;
      case 42:
        model.end = id;
        break;
      case 43:
        model.padding = id;
        break;
      default:
        break;
    }
  }
}

SentencePieceFile parse(std::string_view content) {
  SentencePieceFile model;
  Message message(content);
  while (const std::optional<Field> field = message.next()) {
    if (!field->bytes) continue;
    if (field->number == 1) model.pieces.push_back(read_piece(*field->bytes));
    if (field->number == 2) read_trainer(*field->bytes, model);
    if (field->number != 3) continue;
    Message normalizer(*field->bytes);
    while (const std::optional<Field> part = normalizer.next()) {
      if (part->number == 2 && part->bytes) model.character_map = *part->bytes;
      if (part->number == 3 && !part->bytes) model.adds_prefix_space = part->value != 0;
    }
  }
  return model;
}

}  // namespace

SentencePieceFile load_sentence_piece(std::string_view content, sentencepiece::SentencePieceProcessor& processor) {
  SentencePieceFile model = parse(content);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceFile::Entry& entry = model.pieces[id];
    const bool is_text =
        find_invalid_utf8(entry.token_string) == std::string::npos && entry.token_string.find('\0') == std::string::npos;
    if (!is_text || !std::isfinite(entry.score)) throw Error("piece {} is damaged: download the file again", id);
  }
  if (!model.character_map.empty()) PrecompiledMap(model.character_map).expect_sound();
  try {
    const auto status = processor.LoadFromSerializedProto({content.data(), content.size()});
    if (!status.ok()) throw Error("libsentencepiece can't read it: {}", status.ToString());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // from the trie that the library builds of the pieces
    throw Error("libsentencepiece can't read it: {}", error.what());
  }
  return model;
}

SentencePieceFile read_sentence_piece_file(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  try {
    sentencepiece::SentencePieceProcessor processor;
    return load_sentence_piece(content, processor);
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(file), error.what());
  }
}

namespace {

/// M2M-100's languages, in the order of their tokens, which follow the vocabulary.
constexpr std::string_view kM2m100Languages =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig "
    "ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl "
    "so "
    "sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
constexpr std::string_view kWmt21Languages = "en ha is ja cs ru zh de";

class PieceVocabulary final : public WordModel {
 public:
  /// `serialized`: the content of a SentencePiece model file; `unknown`: the id of pieces that the vocabulary lacks.
  PieceVocabulary(const std::string& serialized, Vocabulary vocabulary, std::uint32_t unknown)
      : WordModel(std::move(vocabulary)), unknown_(unknown) {
    load_sentence_piece(serialized, processor_);
  }

  std::string_view kind() const override { return "Unigram"; }
  std::optional<std::uint32_t> unknown() const override { return unknown_; }

  void tokenize(std::string_view text, std::vector<PieceToken>& tokens) const override {
    const auto encoded = processor_.EncodeAsImmutableProto({text.data(), text.size()});
    for (std::size_t i = 0; i < encoded.pieces_size(); ++i) {
      const auto piece = encoded.pieces(static_cast<int>(i));
      tokens.push_back({vocabulary().find(piece.piece()).value_or(unknown_), {piece.begin(), piece.end()}});
    }
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  std::uint32_t unknown_;
};

void add_special(Stages& stages, std::string_view token_string) {
  stages.added.push_back({.content = std::string(token_string), .is_normalized = false, .is_special = true});
}

/// Special tokens around texts of M2M-100: the language, the text, the end.
PostProcessor make_m2m_100_post_processor(Stages& stages, const Vocabulary& vocabulary, const FolderNotes& notes,
                                          std::uint32_t end) {
  const std::string wanted = fmt::format("__{}__", notes.source_language.value_or("en"));
  std::string_view codes = notes.language_codes == "wmt21" ? kWmt21Languages : kM2m100Languages;
  std::optional<std::uint32_t> language;
  for (std::uint32_t id = vocabulary.size(); !codes.empty(); ++id) {
    const std::string_view code = codes.substr(0, codes.find(' '));
    add_special(stages, fmt::format("__{}__", code));
    if (stages.added.back().content == wanted) language = id;
    codes.remove_prefix(std::min(code.size() + 1, codes.size()));
  }
  if (!language) throw Error("tokenizer_config.json: src_lang {} isn't among the languages of M2M-100", wanted);
  return make_template_post_processor({{.ids = {*language}}, {.source = 0}, {.ids = {end}}},
                                      {{.ids = {*language}}, {.source = 0}, {.source = 1}, {.ids = {end}}});
}

/// Special tokens around texts of Marian: the end. Languages are tokens of the vocabulary, ">>de<<", which users type.
PostProcessor make_marian_post_processor(Stages& stages, const Vocabulary& vocabulary, std::uint32_t end) {
  for (std::uint32_t id = 0; id < vocabulary.id_end(); ++id) {
    const std::string_view token_string = vocabulary.token_string(id).value_or("");
    if (token_string.starts_with(">>") && token_string.ends_with("<<")) add_special(stages, token_string);
  }
  return make_template_post_processor({{.source = 0}, {.ids = {end}}}, {{.source = 0}, {.source = 1}, {.ids = {end}}});
}

}  // namespace

Stages read_piece_vocabulary(const std::filesystem::path& folder, const std::string& name, const FolderNotes& notes) {
  const std::filesystem::path file = folder / "vocab.json";
  const nlohmann::json document = read_json(file);
  Vocabulary vocabulary = read_vocabulary(JsonNode(document, fmt::format("{}: ", utf8(file))));
  const auto end = vocabulary.find(notes.special.end.value_or("</s>"));
  const auto unknown = vocabulary.find(notes.special.unknown.value_or("<unk>"));
  if (!end || !unknown) throw Error("{}: the tokens </s> and <unk> must be in it", utf8(file));

  Stages stages;
  stages.special = {.end = "</s>", .padding = "<pad>", .unknown = "<unk>"};
  for (const std::string_view token_string : {"<pad>", "</s>", "<unk>"}) add_special(stages, token_string);
  if (name.ends_with(".spm")) {
    stages.post_processor = make_marian_post_processor(stages, vocabulary, *end);
  } else {
    add_special(stages, "<s>");
    stages.special.beginning = "<s>";
    stages.post_processor = make_m2m_100_post_processor(stages, vocabulary, notes, *end);
  }
  const std::filesystem::path pieces = folder / name;
  try {
    stages.model = std::make_unique<PieceVocabulary>(read_file(pieces), std::move(vocabulary), *unknown);
  } catch (const LocatedError&) {
    throw;
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(pieces), error.what());
  }
  constexpr std::uint32_t kAll = std::numeric_limits<std::int32_t>::max();
  stages.decoder = built_in(
      read_decoder,
      {{"type", "Sequence"},
       {"decoders", nlohmann::json::array({{{"type", "Metaspace"}, {"replacement", "▁"}},
                                           {{"type", "Fuse"}},
                                           {{"type", "Strip"}, {"content", " "}, {"start", kAll}, {"stop", kAll}}})}});
  stages.token_string_kind = TokenStringKind::WordMarks;
  return stages;
}

}  // namespace headlight::text
