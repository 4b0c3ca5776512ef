#pragma once

#include <filesystem>

#include "text/folder_notes.h"

namespace headlight::text {

/// A folder of Marian or M2M-100: libsentencepiece itself normalizes and cuts texts by `model` (source.spm, target.spm,
/// sentencepiece.bpe.model), and vocab.json has the ids of the pieces. Throws Error naming file and place.
Stages read_piece_vocabulary(const std::filesystem::path& folder, const std::string& model, const FolderNotes& notes);

}  // namespace headlight::text
