#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "text/pipeline.h"

namespace headlight::text {

/// The configuration of a tokenizer: tokenizer_config.json, special_tokens_map.json, added_tokens.json, config.json. All may
/// be missing.
struct FolderNotes {
  std::string tokenizer_class;  ///< "LlamaTokenizer"; without "Fast"
  std::string model_type;       ///< "llama"
  SpecialTokenStrings special;
  std::vector<AddedToken> special_tokens;  ///< those of `special` and additional ones, with their matching rules
  std::optional<bool> adds_beginning, adds_end, adds_prefix_space, lowercases, strips_accents, spaces_out_chinese, is_legacy;
  std::optional<bool> keeps_accents, splits_punctuation, puts_language_last;
  std::optional<std::uint32_t> extra_ids, offset;
  std::optional<std::string> source_language;  ///< "en_XX": mBART's language token
  std::string language_codes;                  ///< of M2M-100's tokenizer: "wmt21"; else empty

  /// Is the tokenizer's class or the model's type of this family ("roberta": RobertaTokenizer or model_type roberta)?
  bool is(std::string_view family) const;
  /// `first`, then the special tokens that aren't among them.
  std::vector<AddedToken> added_after(std::vector<AddedToken> first) const;
};

/// The way out where a tokenizer's class cuts texts by rules that no file of the folder holds.
inline constexpr std::string_view kWriteTokenizerJson =
    "in Python, AutoTokenizer.from_pretrained(folder).save_pretrained(folder) writes a tokenizer.json, which holds them";

/// Throws Error naming file and place when one of the files is damaged.
FolderNotes read_folder_notes(const std::filesystem::path& folder);

}  // namespace headlight::text
