#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "text/folder_notes.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace headlight::text {

enum class PieceType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

/// The content of a SentencePiece model file (sentencepiece_model.proto) that encoding needs.
struct SentencePieceFile {
  struct Entry {
    std::string token_string;
    float score = 0.0F;
    PieceType type = PieceType::Normal;
  };
  enum class Kind { Unigram = 1, Bpe = 2, Word = 3, Character = 4 };

  Kind kind = Kind::Unigram;
  std::vector<Entry> pieces;  ///< [id]
  std::string character_map;  ///< precompiled_charsmap, may be empty
  bool falls_back_to_bytes = false;
  bool adds_prefix_space = true;                                   ///< add_dummy_prefix
  std::int32_t unknown = 0, beginning = 1, end = 2, padding = -1;  ///< ids; −1: none
};

/// Loads a model's bytes into libsentencepiece, after checking what the library doesn't: the map of characters, which
/// could make it read out of bounds, and the pieces' token strings. Throws Error.
SentencePieceFile load_sentence_piece(std::string_view content, sentencepiece::SentencePieceProcessor& processor);

/// Throws Error naming the file when libsentencepiece can't load it.
SentencePieceFile read_sentence_piece_file(const std::filesystem::path& file);

}  // namespace headlight::text

namespace headlight::text {

/// A folder of Marian or M2M-100: libsentencepiece itself normalizes and cuts texts by `model` (source.spm, target.spm,
/// sentencepiece.bpe.model), and vocab.json has the ids of the pieces. Throws Error naming file and place.
Stages read_piece_vocabulary(const std::filesystem::path& folder, const std::string& model, const FolderNotes& notes);

}  // namespace headlight::text
