#pragma once

#include "app/engine/model_cache.h"
#include "app/engine/runner.h"
#include "app/state/state.h"
#include "export/figures.h"
#include "inference/prompt.h"

namespace headlight::app {

/// A weight, or the difference of two, drawn as a line from its query to its key.
using WeightLine = exporting::LinesFigure::Line;

/// Which weights are drawn.
struct LineFilter {
  float threshold = 0.0F;                 ///< the least size
  std::optional<LockedToken> token = {};  ///< only those of its row or column
  /// [query] and [key]: 0 for tokens of sentence A, 1 for those of B, kNoSentence for padding. Empty: there is no pair, and
  /// `part` is ignored.
  std::span<const std::uint8_t> query_sentences = {}, key_sentences = {};
  PairPart part = PairPart::All;
  std::size_t most = 8'000;  ///< of more, only the strongest are kept
};
inline constexpr std::uint8_t kNoSentence = 2;

struct LineSet {
  std::vector<WeightLine> lines;  ///< ascending by size, so that strong ones are drawn over weak ones
  std::size_t found = 0;          ///< that pass the filter, kept or not
};

/// By token which sentence it belongs to, as LineFilter has it; empty where there is no second one. `prompt`: null without a
/// model. `is_source`: the tokens are the source's, else the target's.
std::vector<std::uint8_t> sentences_of(const inference::Prompt* prompt, const model::TokenBatch& tokens, bool is_source,
                                       std::uint32_t batch);

/// The lines of exact tiles of weights or of their differences, of one head each, that don't overlap within a head. Masked
/// cells and NaN have none.
LineSet select_lines(std::span<const attention::Tile* const> tiles, const LineFilter& filter);

/// The lines of one token, for printing: of each token at their other ends the strongest, descending by size.
/// [tokens of the other side][at most `most`].
std::vector<std::vector<WeightLine>> lines_by_end(std::span<const WeightLine> lines, LockedToken token, std::uint32_t ends,
                                                  std::size_t most);

/// Which weights have lines, for a figure whose tokens and lines are known: "weights from 0.05 on, of query 3 “cat”, the
/// 8000 largest of 9000". `token`: of which alone there are lines.
std::string lines_in_words(const exporting::LinesFigure& figure, std::size_t found, float threshold,
                           const std::optional<LockedToken>& token);

/// Writes a model's attention on one line into a folder, which is created if missing; each file is renamed to its path when
/// complete:
///   weights.npy, or encoder_weights.npy, decoder_weights.npy and cross_weights.npy [layer, 1, head, query, key], and
///   run.json with tokens and masks, as `headlight export --stages weights --format npy` writes them;
///   layer-00_heads.png …, or those of the cross-attention, cross_layer-00_heads.png …: all heads of a layer;
///   of an encoder–decoder alignment.json (inference::align of the last layer) and alignment.png, the mean of that layer's
///   heads with the tokens on its axes.
/// `inputs` name a model, whose weights the runner has loaded. Throws Error in one line.
void write_line_attention(Runner& runner, const std::shared_ptr<ModelCache>& models, const RunInputs& inputs,
                          const std::filesystem::path& directory);

}  // namespace headlight::app
