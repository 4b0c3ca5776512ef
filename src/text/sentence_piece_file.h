#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::text {

enum class PieceType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

/// What a SentencePiece model file holds (sentencepiece_model.proto), as far as encoding needs it.
struct SentencePieceFile {
  struct Entry {
    std::string spelling;
    float score = 0.0F;
    PieceType type = PieceType::Normal;
  };
  enum class Kind { Unigram = 1, Bpe = 2, Word = 3, Character = 4 };

  Kind kind = Kind::Unigram;
  std::vector<Entry> pieces;  ///< [id]
  std::string character_map;  ///< precompiled_charsmap, may be empty
  bool falls_back_to_bytes = false;
  std::int32_t unknown = 0, beginning = 1, end = 2, padding = -1;  ///< ids; −1: none
};

/// Throws Error naming the file when libsentencepiece can't load it.
SentencePieceFile read_sentence_piece_file(const std::filesystem::path& file);

}  // namespace headlight::text
