#pragma once

#include "inference/language_model.h"
#include "inference/prompt.h"
#include "inference/sampling.h"
#include "inference/session.h"

namespace headlight::inference {

/// Settings of decode(), which continues or translates lines.
struct DecodingSettings {
  SamplingSettings sampling = {};   ///< line i draws from seed + i, so that what comes beside it changes nothing
  std::uint32_t most_tokens = 256;  ///< for each line, its end token not counted; at least 1
  /// Lines that are computed together, those of similar length; at least 1. More save waiting until the device is busy: on
  /// a processor captions take about as long with 32, 64 and 96, and about five times as long one by one.
  std::uint32_t items_at_once = 64;
};

/// The tokens that a model wrote after one line, or as its translation.
struct Decoded {
  std::vector<std::uint32_t> ids = {};  ///< without the line (or the decoder's start token) and without the end token
  bool has_ended = false;  ///< the model chose an end token; else there were enough tokens, or no more positions
  /// Σ ln p of the chosen tokens, the end token among them; p is the softmax over all tokens that may be chosen at all, at
  /// temperature 1.
  double log_probability = 0.0;
};

/// The progress of decode().
struct DecodingProgress {
  std::size_t done = 0;            ///< lines that are finished; they aren't the first ones
  std::span<const Decoded> lines;  ///< all of them, as far as they are
};
/// Called after each step, which adds a token to each line of a batch. Returning false ends all lines as they are.
using DecodingObserver = std::function<bool(const DecodingProgress& progress)>;

/// Writes on, token by token, with the masks the model was trained with: a decoder-only model continues each line, an
/// encoder–decoder writes each line's target (after its start token, or after the target that `text` gives). Steps reuse
/// what the session computed before. Lines end at an end token (end_tokens), at `most_tokens`, or where the model has no
/// more positions. Tokens of suppressed_tokens() are never chosen. Greedy decoding chooses the likeliest token, of equal
/// ones the first in the vocabulary. Returns one result for each line. Throws Error in one line when the model can't write,
/// or a line is none for it (make_prompt). `text.padding` plays no part.
std::vector<Decoded> decode(Session& session, const LanguageModel& model, const PromptText& text,
                            const DecodingSettings& settings = {}, const DecodingObserver& observer = {});

/// Can the model write at all: does it predict what comes next?
bool can_write(const model::ModelDescription& description);
/// Ids that end a text: those that config.json and generation_config.json name, and the tokenizer's own.
std::vector<std::uint32_t> end_tokens(const LanguageModel& model);
/// Ids that belong into no text but that untrained logits may favour: padding, and the token that an encoder–decoder's
/// decoder (as in transformers' Marian, whose generation forbids it) or a decoder-only model's text starts with; none of
/// them where it also is an end token.
std::vector<std::uint32_t> suppressed_tokens(const LanguageModel& model);

}  // namespace headlight::inference
