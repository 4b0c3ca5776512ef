#pragma once

#include "evaluation/batches.h"
#include "evaluation/head_meter.h"
#include "evaluation/head_metric.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// Gets the attention of one head over one line.
using MapVisitor = std::function<void(model::BlockRef block, std::uint32_t head, std::size_t line, const WeightMap& map)>;

/// Gets the run of some lines.
using RunVisitor = std::function<void(const inference::Run& run, std::span<const std::size_t> lines)>;

/// Runs lines of ids in batches of similar length and visits the attention of every head over each, layer by layer of a
/// batch: of an encoder–decoder that of the encoder's heads, and where each line has `targets`, the decoder's input, also
/// that of the decoder's self-attention and of cross-attention. Which lines are run together depends on their lengths and
/// order alone. `visit` is called from a second thread, always in the same order, while the device computes the next layer;
/// what it throws is thrown here. Returns the seconds that the device took: the passes and the evaluation of weights.
/// `visit_run`: called on this thread after each pass; may be empty.
double visit_maps(inference::Session& session, const inference::LanguageModel& model,
                  std::span<const std::vector<std::uint32_t>> lines, const MapVisitor& visit, const Progress& progress = {},
                  const RunVisitor& visit_run = {}, std::span<const std::vector<std::uint32_t>> targets = {});

/// Throws Error for an encoder–decoder: scores of heads are defined for a model with one stack.
void check_has_one_stack(const inference::LanguageModel& model);

/// The metrics of a head's attention over a text whose tokens are `repeats`; null: cross-attention, between two texts.
HeadMetrics measure_map(const WeightMap& map, const TokenRepeats* repeats);

/// The tokens of a text whose heads are measured: as the model's tokenizer gives them, with one stack after its begin token,
/// if it has one; empty where the text has none of its own.
std::vector<std::uint32_t> text_ids(const inference::LanguageModel& model, const std::string& text);

}  // namespace headlight::evaluation
