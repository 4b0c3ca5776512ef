#include "text/renumbered_pieces.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace headlight::text {
namespace {

constexpr std::string_view kMask = "<mask>";
/// Languages of mBART, whose tokens follow the pieces; mBART-50 has more after them.
constexpr std::array<std::string_view, 25> kLanguages = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT", "ja_XX", "kk_KZ",
    "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"};
constexpr std::array<std::string_view, 27> kMoreLanguages = {"af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID",
                                                             "ka_GE", "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL",
                                                             "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN", "th_TH",
                                                             "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};

AddedToken special_token(std::string_view token_string) {
  return {.content = std::string(token_string), .is_normalized = false, .is_special = true};
}

void append(RenumberedPieces& pieces, std::string_view token_string, double score = 0.0) {
  pieces.tokens.emplace_back(token_string, score);
}

void append_special(RenumberedPieces& pieces, std::string_view token_string, double score = 0.0) {
  append(pieces, token_string, score);
  pieces.added.push_back(special_token(token_string));
}

/// The model's own pieces from `first` on.
void append_model(RenumberedPieces& pieces, const SentencePieceFile& model, std::size_t first) {
  for (std::size_t i = first; i < model.pieces.size(); ++i)
    append(pieces, model.pieces[i].token_string, static_cast<double>(model.pieces[i].score));
}

/// Includes the space before it, as fairseq's models were trained.
void append_mask(RenumberedPieces& pieces, bool is_normalized) {
  append(pieces, kMask);
  AddedToken mask = special_token(kMask);
  mask.left_strip = true;
  mask.is_normalized = is_normalized;
  pieces.added.push_back(std::move(mask));
}

RenumberedPieces make_fairseq() {
  RenumberedPieces pieces;
  pieces.unknown = 3;
  pieces.special = {.beginning = "<s>",
                    .end = "</s>",
                    .padding = "<pad>",
                    .unknown = "<unk>",
                    .mask = std::string(kMask),
                    .separator = "</s>",
                    .classification = "<s>"};
  pieces.before = {"<s>"};
  pieces.after = {"</s>"};
  pieces.between = {"</s>", "</s>"};
  return pieces;
}

RenumberedPieces make_xlm_roberta(const SentencePieceFile& model) {
  RenumberedPieces pieces = make_fairseq();
  for (const std::string_view token_string : {"<s>", "<pad>", "</s>", "<unk>"}) append_special(pieces, token_string);
  append_model(pieces, model, 3);
  append_mask(pieces, false);
  return pieces;
}

/// CamemBERT: the SentencePiece model has <s> and </s> of its own, and those are used.
RenumberedPieces make_camembert(const SentencePieceFile& model) {
  RenumberedPieces pieces = make_fairseq();
  for (const std::string_view token_string : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"})
    append_special(pieces, token_string);
  append_special(pieces, "<unk>NOTUSED", -100.0);
  append_model(pieces, model, 1);
  append_mask(pieces, false);
  return pieces;
}

/// XGLM: the end comes before a text, and seven tokens without meaning follow the pieces.
RenumberedPieces make_xglm(const SentencePieceFile& model) {
  RenumberedPieces pieces = make_fairseq();
  for (const std::string_view token_string : {"<s>", "<pad>", "</s>", "<unk>"}) append_special(pieces, token_string);
  append_model(pieces, model, 3);
  for (int i = 0; i < 7; ++i) append_special(pieces, fmt::format("<madeupword{}>", i));
  pieces.special.mask.reset();
  pieces.before = {"</s>"};
  pieces.after.clear();
  return pieces;
}

void expect_language(const RenumberedPieces& pieces, const std::string& language, std::string_view family) {
  if (std::ranges::find(pieces.added, language, &AddedToken::content) == pieces.added.end())
    throw Error("tokenizer_config.json: src_lang is \"{}\", which isn't among {}'s languages", language, family);
}

/// NLLB: the folder lists the languages among its special tokens.
RenumberedPieces make_nllb(const SentencePieceFile& model, const FolderNotes& notes) {
  RenumberedPieces pieces = make_fairseq();
  for (const std::string_view token_string : {"<s>", "<pad>", "</s>", "<unk>"}) append_special(pieces, token_string);
  append_model(pieces, model, 3);
  for (const AddedToken& token : notes.special_tokens) {
    const bool is_known = std::ranges::find(pieces.added, token.content, &AddedToken::content) != pieces.added.end();
    if (!is_known && token.content != kMask) append_special(pieces, token.content);
  }
  append_mask(pieces, true);
  const std::string language = notes.source_language.value_or("eng_Latn");
  expect_language(pieces, language, "this folder");
  pieces.before = {language};
  pieces.after = {"</s>"};
  pieces.between.clear();
  if (notes.puts_language_last.value_or(false)) {
    pieces.before.clear();
    pieces.after.push_back(language);
  }
  return pieces;
}

/// mBART puts the language token after the text, mBART-50 before it.
RenumberedPieces make_mbart(const SentencePieceFile& model, const FolderNotes& notes, bool is_larger) {
  RenumberedPieces pieces = make_fairseq();
  for (const std::string_view token_string : {"<s>", "<pad>", "</s>", "<unk>"}) append_special(pieces, token_string);
  append_model(pieces, model, 3);
  for (const std::string_view language : kLanguages) append_special(pieces, language);
  for (const std::string_view language : kMoreLanguages) {
    if (is_larger) append_special(pieces, language);
  }
  append_mask(pieces, is_larger);
  const std::string language = notes.source_language.value_or("en_XX");
  expect_language(pieces, language, "mBART");
  pieces.before.clear();
  pieces.between.clear();
  (is_larger ? pieces.before : pieces.after).push_back(language);
  return pieces;
}

RenumberedPieces make_pegasus(const SentencePieceFile& model, const FolderNotes& notes) {
  constexpr std::uint32_t kOffset = 103;
  if (notes.offset.value_or(kOffset) != kOffset)
    throw Error("tokenizer_config.json: offset is {}, but Headlight knows Pegasus' vocabularies with {}", *notes.offset,
                kOffset);
  RenumberedPieces pieces;
  for (const std::string_view token_string : {"<pad>", "</s>", "<mask_1>", "<mask_2>"}) append_special(pieces, token_string);
  for (std::uint32_t i = 2; i < kOffset; ++i) append_special(pieces, fmt::format("<unk_{}>", i), -100.0);
  append_model(pieces, model, 2);
  pieces.unknown = kOffset + static_cast<std::uint32_t>(std::max(model.unknown, 0));
  pieces.added.push_back(special_token("<unk>"));
  pieces.special = {.end = "</s>", .padding = "<pad>", .unknown = "<unk>", .mask = "<mask_2>"};
  pieces.after = {"</s>"};
  pieces.cuts_at_spaces = true;
  return pieces;
}

/// Classes that keep the ids of the SentencePiece model; "" is a folder that names none.
constexpr std::array<std::string_view, 8> kPlainClasses = {"",
                                                           "AlbertTokenizer",
                                                           "CodeLlamaTokenizer",
                                                           "GemmaTokenizer",
                                                           "LlamaTokenizer",
                                                           "MT5Tokenizer",
                                                           "PreTrainedTokenizer",
                                                           "T5Tokenizer"};

/// The tokenizer's class; where the folder names none, the class for its model type.
std::string class_of(const FolderNotes& notes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOfTypes = {
      {{"xlm-roberta", "XLMRobertaTokenizer"},
       {"xlm-roberta-xl", "XLMRobertaTokenizer"},
       {"camembert", "CamembertTokenizer"},
       {"mbart", "MBartTokenizer"},
       {"pegasus", "PegasusTokenizer"},
       {"xglm", "XGLMTokenizer"}}};
  if (!notes.tokenizer_class.empty()) return notes.tokenizer_class;
  for (const auto& [type, name] : kOfTypes) {
    if (notes.model_type == type) return std::string(name);
  }
  return {};
}

}  // namespace

std::optional<RenumberedPieces> renumber(const SentencePieceFile& model, const FolderNotes& notes) {
  const std::string name = class_of(notes);
  if (model.pieces.size() < 3) throw Error("the model has {} pieces: it is damaged", model.pieces.size());
  if (name == "XLMRobertaTokenizer") return make_xlm_roberta(model);
  if (name == "CamembertTokenizer") return make_camembert(model);
  if (name == "MBartTokenizer") return make_mbart(model, notes, false);
  if (name == "MBart50Tokenizer") return make_mbart(model, notes, true);
  if (name == "PegasusTokenizer") return make_pegasus(model, notes);
  if (name == "XGLMTokenizer") return make_xglm(model);
  if (name == "NllbTokenizer") return make_nllb(model, notes);
  if (std::ranges::find(kPlainClasses, name) != kPlainClasses.end()) return std::nullopt;
  throw Error("Headlight doesn't know how {} numbers the pieces of a SentencePiece model: {}", name, kWriteTokenizerJson);
}

}  // namespace headlight::text
