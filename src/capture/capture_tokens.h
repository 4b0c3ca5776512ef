#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <span>

#include "capture/patch_grid.h"
#include "model/network.h"
#include "text/token.h"

namespace headlight::capture {

/// Tokens as a file has them: a list for each line of the batch, or one list.
struct TokenLists {
  std::string where;  ///< file and key, for messages: "run.json, query_tokens"
  std::vector<std::vector<std::string>> lines = {};
};

/// A number for each line of the batch.
struct LineNumbers {
  std::string where;
  std::vector<std::uint32_t> numbers = {};
};

/// An image of the capture, by its number, among the tokens of a line.
struct ImageSpan {
  std::uint32_t image = 0;
  PatchGrid grid = {};
};
/// The images of each line, or of all lines alike.
struct Positions {
  std::string where;
  std::vector<std::vector<ImageSpan>> lines = {};
};

/// The metadata of a file about the tokens of one side.
struct SideWords {
  std::optional<TokenLists> tokens = {};
  std::optional<LineNumbers> lengths = {}, starts = {};  ///< how many are no padding, and the first of them
  std::optional<Positions> positions = {};
};
/// Returns `words`, with the members that they lack taken from `others`.
SideWords with_missing(SideWords words, const SideWords& others);

/// The metadata of an image whose patches are the capture's tokens.
struct ImageMetadata {
  std::vector<std::string> files = {};                       ///< as the capture names them
  std::optional<std::array<std::uint32_t, 2>> patches = {};  ///< rows and columns
  std::optional<std::uint32_t> first_patch = {};             ///< the token of the first one
  std::string problem = {};                                  ///< in one line what of this can't be read; empty: nothing
};

/// A number for all layers, or one for each.
struct LayerNumbers {
  std::string where;
  std::vector<double> numbers = {};
};

/// The numbers by which the scores of one kind of block are made of queries and keys; a number that is missing has its
/// usual value.
struct ScoreWords {
  std::optional<LayerNumbers> scale = {}, softcap = {}, window = {};
};

/// The metadata of a capture.
struct CaptureWords {
  SideWords plain = {}, queries = {}, keys = {};  ///< by the names "tokens", "query_tokens", "key_tokens" and so on
  bool is_causal = false;
  std::uint32_t cached = 0;  ///< tokens that were in a cache: their rows are missing
  /// The model's own numbers of the layers of the only stack, or of the decoder's: of a hybrid, some of whose layers have no
  /// attention. Empty: they are 0, 1, …
  std::vector<std::uint32_t> model_layers = {};
  ImageMetadata image = {};
  std::string note = {};                                           ///< what its program says of it, in one line
  ScoreWords scores = {};                                          ///< of all kinds: "scale", "softcap", "window"
  std::array<ScoreWords, model::kBlockKinds> scores_of_kind = {};  ///< "decoder_scale" and so on, which win

  /// Returns the scale, softcap or window that the metadata has for this block; nullopt where it has none. `layers`:
  /// the number of layers of its kind. Throws Error where a list has another number of numbers.
  std::optional<double> number(std::optional<LayerNumbers> ScoreWords::*what, model::BlockRef block,
                               std::size_t layers) const;
};

/// Reads the file's own metadata and the JSON file beside it (run.npz: run.json), whose members win.
/// Throws Error in one line where one of them isn't what docs/CAPTURES.md says; an image's problem is in
/// ImageMetadata::problem.
CaptureWords read_words(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata);

/// The tokens of one side, as of a prompt.
struct SideTokens {
  model::TokenBatch batch;
  std::vector<std::vector<text::Token>> tokens = {};  ///< [batch][real token]; none without lists
};
/// Returns the tokens of `batch` lines of `length`; without lists their positions are their names. Throws Error where a
/// list has another length, or a line's real tokens are none or more than it has.
SideTokens side_tokens(const SideWords& words, std::uint32_t batch, std::uint32_t length);

/// The ways in which a capture's tokens spell spaces and bytes.
enum class Spelling : std::uint8_t {
  Words,        ///< plain texts, each a word: "the", "cat"
  Spaces,       ///< decoded texts: " cat" begins a word, "s" goes on
  ByteLetters,  ///< GPT-2's alphabet: "Ġcat", "Ċ", "Ã©"
  WordMarks,    ///< SentencePiece: "▁cat", "<0x0A>"
  WordPieces,   ///< BERT: "cat", "##s"
};

/// Recognises the spelling of all lines of a side. Byte letters are recognised by their decoded bytes: UTF-8, but for
/// characters cut off at a line's ends.
Spelling spelling_of(std::span<const std::vector<std::string>> lines);

/// The tokens of a line as a model's tokenizer would give them, and their labels (text/label.h).
struct SpelledLine {
  std::vector<text::Token> tokens;  ///< with byte ranges that say which go on where the one before ends; no ids
  std::vector<std::string> labels;  ///< each printable, in one line
};
SpelledLine spell(std::span<const std::string> line, Spelling spelling);

}  // namespace headlight::capture
