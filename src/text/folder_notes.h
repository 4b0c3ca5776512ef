#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "text/pipeline.h"

namespace headlight::text {

/// The configuration of a tokenizer: tokenizer_config.json, special_tokens_map.json, config.json. All may be missing.
struct FolderNotes {
  std::string tokenizer_class;  ///< "LlamaTokenizer"; without "Fast"
  std::string model_type;       ///< "llama"
  SpecialTokenStrings special;
  std::vector<AddedToken> special_tokens;  ///< those of `special` and additional ones, with their matching rules
  std::optional<bool> adds_beginning, adds_end, adds_prefix_space, lowercases, strips_accents, spaces_out_chinese, is_legacy;
  std::optional<bool> keeps_accents;
  std::optional<std::uint32_t> extra_ids, offset;
  std::optional<std::string> source_language;  ///< "en_XX": mBART's language token

  /// Is the tokenizer's class or the model's type of this family ("roberta": RobertaTokenizer or model_type roberta)?
  bool is(std::string_view family) const;
};

/// Throws Error naming file and place when one of the files is damaged.
FolderNotes read_folder_notes(const std::filesystem::path& folder);

}  // namespace headlight::text
