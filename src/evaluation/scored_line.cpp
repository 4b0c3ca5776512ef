#include "evaluation/scored_line.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "inference/decoding.h"
#include "inference/prompt.h"

namespace headlight::evaluation {
namespace {

using Ids = std::vector<std::uint32_t>;

Ids encode(const text::Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  for (const text::Token& token : tokenizer.encode(text)) ids.push_back(token.id);
  return ids;
}

/// Adds `first` before the ids and the end token after them, unless already present.
ScoredLine framed(const inference::LanguageModel& model, const Ids& ids, std::optional<std::uint32_t> first) {
  ScoredLine line;
  line.tokens.reserve(ids.size() + 2);
  if (first && (ids.empty() || ids.front() != *first)) line.tokens.push_back(*first);
  line.tokens.insert(line.tokens.end(), ids.begin(), ids.end());
  const Ids ends = inference::end_tokens(model);
  if (ends.empty()) return line;
  // A begin token that is the end token too (GPT-2) doesn't end an empty text.
  const bool has_end = line.tokens.size() > (first ? 1u : 0u) && std::ranges::find(ends, line.tokens.back()) != ends.end();
  if (!has_end) line.tokens.push_back(ends.front());
  line.ends = line.tokens.size() > 1;
  return line;
}

void check_length(const inference::LanguageModel& model, const model::Embedding* embedding, std::size_t tokens) {
  const std::uint32_t limit = inference::position_limit(model, embedding);
  if (limit == 0 || tokens <= limit) return;
  throw Error("{} tokens, but the model has positions for {}: cut it into shorter lines", tokens, limit);
}

}  // namespace

void check_predicts_text(const inference::LanguageModel& model) {
  const model::ModelDescription& about = model.description;
  if (!about.is_encoder_decoder && !about.is_causal) {
    throw Error("{} sees tokens on both sides: perplexity needs a model that predicts the next token", about.family);
  }
  if (!about.has_logits) throw Error("{} comes without a head over the vocabulary: it predicts no token", about.name);
  if (!model.tokenizer) throw Error("{}; texts can't be scored without it", model.tokenizer_problem);
}

ScoredLine scored_line(const inference::LanguageModel& model, const std::string& text) {
  std::optional<std::uint32_t> begin = model.description.ids.bos;
  if (!begin) begin = model.tokenizer->special().beginning;
  ScoredLine line = framed(model, encode(*model.tokenizer, text), begin);
  check_length(model, model.network->source_embedding.get(), line.read_tokens());
  return line;
}

ScoredLine scored_pair(const inference::LanguageModel& model, const std::string& source, const std::string& target) {
  std::optional<std::uint32_t> start = model.description.ids.decoder_start;
  if (!start) start = model.predicted_tokenizer()->special().beginning;
  if (!start) start = model.predicted_tokenizer()->special().padding;
  if (!start) throw Error("the model doesn't say which token starts its decoder");
  ScoredLine line = framed(model, encode(*model.predicted_tokenizer(), target), start);
  line.source = encode(*model.tokenizer, source);
  if (line.source.empty()) throw Error("the source has no token");
  check_length(model, model.network->source_embedding.get(), line.source.size());
  check_length(model, model.network->target_embedding.get(), line.read_tokens());
  return line;
}

}  // namespace headlight::evaluation
