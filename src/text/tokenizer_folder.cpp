#include "text/tokenizer_folder.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "text/folder_notes.h"
#include "text/sentence_piece_stages.h"
#include "text/tokenizer_json.h"
#include "text/vocabulary_files.h"

namespace headlight::text {
namespace {

Stages read_files(const std::filesystem::path& folder, const FolderNotes& notes, Side side) {
  const auto has = [&](const char* name) { return std::filesystem::exists(folder / name); };
  if (has("tokenizer.json")) {
    const std::filesystem::path file = folder / "tokenizer.json";
    return read_tokenizer_json(read_file(file), file.string());
  }
  if (has("source.spm") && has("target.spm") && has("vocab.json"))
    return read_marian(folder, side == Side::Source ? "source.spm" : "target.spm", notes);
  if (has("vocab.json") && has("merges.txt")) return read_byte_level_folder(folder, notes);
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model"}) {
    if (has(name)) return read_sentence_piece(folder / name, notes);
  }
  if (has("vocab.txt")) return read_bert_folder(folder, notes);
  throw Error(
      "{} has no tokenizer: it needs tokenizer.json, vocab.json with merges.txt, vocab.txt or a SentencePiece model "
      "(tokenizer.model, spiece.model)",
      folder.string());
}

}  // namespace

Stages read_tokenizer_folder(const std::filesystem::path& folder, Side side) {
  const FolderNotes notes = read_folder_notes(folder);
  Stages stages = read_files(folder, notes, side);
  const auto prefer = [](const std::optional<std::string>& noted, std::optional<std::string>& token_string) {
    if (noted) token_string = noted;
  };
  prefer(notes.special.beginning, stages.special.beginning);
  prefer(notes.special.end, stages.special.end);
  prefer(notes.special.padding, stages.special.padding);
  prefer(notes.special.unknown, stages.special.unknown);
  prefer(notes.special.mask, stages.special.mask);
  prefer(notes.special.separator, stages.special.separator);
  prefer(notes.special.classification, stages.special.classification);
  return stages;
}

}  // namespace headlight::text
