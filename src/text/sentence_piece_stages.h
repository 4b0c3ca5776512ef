#pragma once

#include <filesystem>

#include "text/folder_notes.h"
#include "text/sentence_piece_file.h"
#include "text/word_model.h"

namespace headlight::text {

/// A tokenizer around a SentencePiece model, as `transformers` converts it for the family in `notes`: Llama (and any BPE
/// without notes), Gemma, T5, ALBERT, or the general rules. Throws Error naming the file.
Stages read_sentence_piece(const std::filesystem::path& file, const FolderNotes& notes);

/// The merges of two tokens that form every third, in order of that token's `ranks` [id], lowest first.
Merges make_merges(const std::vector<std::string>& token_strings, const std::vector<std::uint32_t>& ranks);

/// The normalizer, the pre-tokenizer and the decoder of Llama.
void add_llama_stages(Stages& stages, bool adds_prefix_space, bool is_legacy);

/// All stages of T5: `end` after each text.
void add_t5_stages(Stages& stages, ScoredTokens tokens, std::optional<std::uint32_t> unknown, std::uint32_t end,
                   const std::string& character_map);

}  // namespace headlight::text
