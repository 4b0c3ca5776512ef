#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace headlight::text {

/// Ids of the special tokens; empty where the tokenizer's files name none.
struct SpecialTokens {
  std::optional<std::uint32_t> beginning, end, padding, unknown, mask, separator, classification;
};

/// The properties of a tokenizer in a GGUF file (keys tokenizer.ggml.*).
struct GgufVocabulary {
  std::string model;          ///< "gpt2", "llama", "bert", "t5"
  std::string pre_tokenizer;  ///< "default", "llama-bpe", "qwen2", …; empty where the file doesn't say
  std::vector<std::string> tokens;
  std::vector<float> scores;              ///< [token] or empty
  std::vector<std::int32_t> token_types;  ///< [token] or empty: 1 normal, 2 unknown, 3 control, 4 user, 5 unused, 6 byte
  std::vector<std::string> merges;        ///< "left right", in order of rank
  std::string character_map;              ///< tokenizer.ggml.precompiled_charsmap, of t5; may be empty
  SpecialTokens special = {};
  std::optional<bool> adds_beginning, adds_end, adds_space_prefix;
};

/// Converts text to token ids and back exactly as the `tokenizers` package does with the same files.
/// Immutable; may be used from several threads.
class Tokenizer {
 public:
  /// Reads a model's folder: tokenizer.json, else vocab.json + merges.txt, vocab.txt, or a SentencePiece *.model; with
  /// tokenizer_config.json and special_tokens_map.json where they exist. Throws Error naming file, place and reason.
  static Tokenizer load(const std::filesystem::path& folder);
  /// The tokenizer for the output of an encoder–decoder: Marian's target.spm; the same as load() for every other folder.
  static Tokenizer load_target(const std::filesystem::path& folder);
  /// Reads the text of a tokenizer.json.
  static Tokenizer parse(std::string_view tokenizer_json);
  static Tokenizer from_gguf(const GgufVocabulary& vocabulary);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// Each maximal invalid part of UTF-8 counts as one U+FFFD (as Python's errors="replace"); byte ranges are those of the
  /// original text.
  std::vector<Token> encode(std::string_view text, bool adds_special = true) const;
  /// A pair of sentences as one sequence (BERT: [CLS] first [SEP] second [SEP]); byte ranges refer to each token's own text.
  std::vector<Token> encode_pair(std::string_view first, std::string_view second, bool adds_special = true) const;
  /// The text of the ids; ids outside the vocabulary are skipped.
  std::string decode(std::span<const std::uint32_t> ids, bool skips_special = true) const;

  std::uint32_t vocabulary_size() const;  ///< including added tokens
  /// The token's string in the vocabulary, "Ġthe"; empty for an id without a token.
  std::string_view token_string(std::uint32_t id) const;
  std::optional<std::uint32_t> find(std::string_view token_string) const;
  /// Returns the label for axes: bytes decoded, word marks as "·the", "##ing" unchanged, newlines as "⏎".
  std::string label(std::uint32_t id) const;
  /// Labels of consecutive tokens; a character that several make is broken: "語¦", "¦語". Empty for unknown ids.
  std::vector<std::string> labels(std::span<const std::uint32_t> ids) const;
  const SpecialTokens& special() const;
  /// Guesses about what its file doesn't say, in one line each.
  const std::vector<std::string>& notes() const;
  /// "BPE", "WordPiece", "Unigram", "WordLevel".
  std::string_view kind() const;

 private:
  struct Pipeline;
  explicit Tokenizer(std::unique_ptr<const Pipeline> pipeline);
  std::unique_ptr<const Pipeline> pipeline_;
};

}  // namespace headlight::text
