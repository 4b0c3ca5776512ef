#include "text/piece_vocabulary.h"

#include <algorithm>
#include <limits>

#include <sentencepiece_processor.h>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "text/json_node.h"
#include "text/model_json.h"
#include "text/sentence_piece_file.h"

namespace headlight::text {
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
