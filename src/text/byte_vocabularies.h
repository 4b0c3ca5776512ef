#pragma once

#include <filesystem>

#include "text/folder_notes.h"

namespace headlight::text {

/// Mistral's tekken.json: byte strings by rank, the pattern that cuts words, and special tokens before them.
/// Throws Error naming file and place.
Stages read_tekken(const std::filesystem::path& file);

/// Do the file's first lines have the form of tiktoken, "IQ== 0"? Llama 3's tokenizer.model does, Llama 2's is a
/// SentencePiece model.
bool is_tiktoken(const std::filesystem::path& file);
/// A tiktoken file: base64 of a token's bytes and its rank on each line. Words are cut and special tokens follow as the
/// folder's family (Llama 3, Qwen, ChatGLM) or the file's name (cl100k, o200k) has it. Throws Error naming file and line,
/// and where none of them is known.
Stages read_tiktoken(const std::filesystem::path& file, const FolderNotes& notes);

/// ByT5: three special tokens, a token for each byte, and <extra_id_0> …; its folders hold no vocabulary.
Stages make_byt5_stages(const FolderNotes& notes);

}  // namespace headlight::text
