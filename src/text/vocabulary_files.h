#pragma once

#include <filesystem>

#include "text/folder_notes.h"
#include "text/word_model.h"

namespace headlight::text {

/// vocab.json and merges.txt of GPT-2 and models with such files, with the stages that `transformers` adds. Throws Error
/// naming file and place.
Stages read_merges_folder(const std::filesystem::path& folder, const FolderNotes& notes);

/// vocab.txt of BERT, MPNet and ESM: one token per line. Throws Error naming file and place.
Stages read_word_list(const std::filesystem::path& folder, const FolderNotes& notes);

/// The stages of a byte-level BPE from any kind of file; `words` splits the text.
Stages make_byte_level_stages(Vocabulary vocabulary, const Merges& merges, BpeOptions options, PreTokenizer words);
/// The stages of BERT's WordPiece. Throws Error when [CLS] or [SEP] is missing.
Stages make_bert_stages(Vocabulary vocabulary, const FolderNotes& notes);

/// <beginning> A <end>, and for pairs the same around B, its tokens of type 1.
PostProcessor make_enclosing_post_processor(std::optional<std::uint32_t> beginning, std::optional<std::uint32_t> end);

}  // namespace headlight::text
