#include "evaluation/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "core/error.h"
#include "evaluation/batches.h"
#include "inference/decoding.h"
#include "inference/prompt.h"
#include "text/regex.h"
#include "text/unicode.h"
#include "text/utf8_repair.h"

namespace headlight::evaluation {

std::vector<std::string> words_of(std::string_view text) {
  // Python's \w is str.isalnum() and the underscore, without the marks that other engines' \w has; its \s has the four
  // separators of ASCII (U+001C to U+001F) besides White_Space.
  static const text::Regex kWord(R"([\p{L}\p{N}_]+|[^\p{L}\p{N}_\s\x1C-\x1F])");
  const text::RepairedUtf8 repaired(text);
  const std::string lower = text::lower_cased(repaired.text());
  std::vector<std::string> words;
  for (const text::ByteRange& range : kWord.find_all(lower)) {
    words.push_back(lower.substr(range.begin, range.end - range.begin));
  }
  return words;
}

namespace {

using Ids = std::vector<std::uint32_t>;

/// Returns the text's ids; none where it has no token of its own.
Ids encode(const text::Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  const std::vector<text::Token> tokens = tokenizer.encode(text);
  if (!text::has_own_token(tokens)) return ids;
  for (const text::Token& token : tokens) ids.push_back(token.id);
  return ids;
}

/// Adds `first` before the ids and the end token after them, unless already present; nothing where there are no ids.
ScoredLine framed(const inference::LanguageModel& model, const Ids& ids, std::optional<std::uint32_t> first) {
  ScoredLine line;
  if (ids.empty()) return line;
  line.tokens.reserve(ids.size() + 2);
  if (first && ids.front() != *first) line.tokens.push_back(*first);
  line.tokens.insert(line.tokens.end(), ids.begin(), ids.end());
  const Ids ends = inference::end_tokens(model);
  if (ends.empty()) return line;
  // A begin token that is the end token too (GPT-2) doesn't end a text.
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

constexpr std::size_t kMaxLinesPerBatch = 32;
/// Logits that are in host memory at a time: 64 MiB.
constexpr std::size_t kMaxLogits = std::size_t{16} << 20;
constexpr std::size_t kMaxTokensPerBatch = 4096;  ///< of a batch, padding included

double negative_log_probability(std::span<const float> logits, std::uint32_t id) {
  const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return std::log(sum) + largest - static_cast<double>(logits[id]);
}

class Scorer {
 public:
  Scorer(inference::Session& session, const inference::LanguageModel& model, std::span<const ScoredLine> lines)
      : session_(session), model_(model), lines_(lines) {}

  /// Adds each line's sum to `totals` [line].
  void score(std::span<const std::size_t> batch, std::vector<double>& totals) {
    const inference::Prompt prompt = inference::make_prompt(model_, batch_of(batch));
    run_ = session_.run({.network = model_.network, .input = prompt.input, .masks = model_.masks}, std::move(run_));
    const std::vector<Wanted> wanted = predictions_of(batch);
    const std::size_t width = model_.network->layers->unembedding->linear.out();
    const std::size_t step = std::max<std::size_t>(1, kMaxLogits / width);
    for (std::size_t first = 0; first < wanted.size(); first += step) {
      const auto some = std::span(wanted).subspan(first, std::min(step, wanted.size() - first));
      std::vector<inference::StateRef> states;
      for (const Wanted& prediction : some) states.push_back(prediction.state);
      const Tensor logits = run_->logits(states);  // [state, vocabulary]
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto row = std::span(logits.values).subspan(i * width, width);
        totals[batch[some[i].state.batch]] += negative_log_probability(row, some[i].id);
      }
    }
  }

 private:
  /// The id to predict from a state of the last layer.
  struct Wanted {
    inference::StateRef state;
    std::uint32_t id = 0;
  };

  /// Token by token, of all lines together: states of one token are computed at once.
  std::vector<Wanted> predictions_of(std::span<const std::size_t> batch) const {
    std::size_t longest = 0;
    for (const std::size_t line : batch) longest = std::max(longest, lines_[line].read_tokens());
    std::vector<Wanted> wanted;
    for (std::uint32_t t = 0; t < longest; ++t) {
      for (std::uint32_t item = 0; item < batch.size(); ++item) {
        const ScoredLine& line = lines_[batch[item]];
        if (t < line.read_tokens()) wanted.push_back({{item, t, last_layer()}, line.tokens[t + 1]});
      }
    }
    return wanted;
  }

  inference::PromptText batch_of(std::span<const std::size_t> batch) const {
    inference::PromptText text;
    for (const std::size_t index : batch) {
      const ScoredLine& line = lines_[index];
      std::vector<std::uint32_t> read(line.tokens.begin(), line.tokens.end() - 1);
      if (line.source.empty()) {
        text.ids.push_back(std::move(read));
      } else {
        text.ids.push_back(line.source);
        text.target_ids.push_back(std::move(read));
      }
    }
    return text;
  }

  std::uint32_t last_layer() const {
    const model::Layers& layers = *model_.network->layers;
    return static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
  }

  inference::Session& session_;
  std::shared_ptr<const inference::Run> run_;
  const inference::LanguageModel& model_;
  std::span<const ScoredLine> lines_;
};

double quotient(double sum, std::uint64_t count) { return count == 0 ? 0.0 : sum / static_cast<double>(count); }

}  // namespace

double Likelihood::perplexity_per_token() const { return std::exp(quotient(nats, tokens)); }
double Likelihood::perplexity_per_word() const { return std::exp(quotient(nats, words)); }
double Likelihood::bits_per_byte() const { return quotient(nats / std::numbers::ln2, bytes); }

std::vector<double> negative_log_likelihoods(inference::Session& session, const inference::LanguageModel& model,
                                             std::span<const ScoredLine> lines, const Progress& progress) {
  if (!model.network->layers->unembedding) throw Error("{} predicts no token", model.description.name);
  std::vector<std::size_t> lengths;
  for (const ScoredLine& line : lines) lengths.push_back(std::max(line.read_tokens(), line.source.size()));
  std::vector<double> totals(lines.size(), 0.0);
  Scorer scorer(session, model, lines);
  std::size_t done = 0;
  for (std::vector<std::size_t>& batch : batches_by_length(lengths, kMaxLinesPerBatch, kMaxTokensPerBatch)) {
    done += batch.size();
    std::erase_if(batch, [&](std::size_t line) { return lines[line].read_tokens() == 0; });
    if (!batch.empty()) scorer.score(batch, totals);
    if (progress) progress(done, lines.size());
  }
  return totals;
}

Likelihood likelihood(inference::Session& session, const inference::LanguageModel& model,
                      std::span<const std::string> sources, std::span<const std::string> texts, const Progress& progress) {
  check_predicts_text(model);
  if (model.description.is_encoder_decoder && sources.size() != texts.size()) {
    throw Error("{} sources for {} targets: give one for each", sources.size(), texts.size());
  }
  Likelihood result;
  std::vector<ScoredLine> lines;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      lines.push_back(model.description.is_encoder_decoder ? scored_pair(model, sources[i], texts[i])
                                                           : scored_line(model, texts[i]));
    } catch (const Error& error) {
      throw Error("line {}: {}", i + 1, error.what());
    }
    if (lines.back().tokens.empty()) {
      lines.pop_back();
      continue;
    }
    const std::uint64_t end = lines.back().ends ? 1 : 0;
    result.tokens += lines.back().read_tokens();
    result.words += words_of(texts[i]).size() + end;
    result.bytes += texts[i].size() + end;
  }
  if (result.tokens == 0) throw Error("the text has nothing to predict: give more than one token");
  result.lines = lines.size();
  for (const double nats : negative_log_likelihoods(session, model, lines, progress)) result.nats += nats;
  return result;
}

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
  if (line.tokens.empty()) return line;
  line.source = encode(*model.tokenizer, source);
  if (line.source.empty()) throw Error("the source has no token");
  check_length(model, model.network->source_embedding.get(), line.source.size());
  check_length(model, model.network->target_embedding.get(), line.read_tokens());
  return line;
}

}  // namespace headlight::evaluation
