#include "app/engine/analyses/token_losses.h"

#include <numeric>

#include "core/error.h"

namespace headlight::app {
namespace {

/// Logits of one step: some milliseconds.
constexpr std::size_t kLossStepLogits = std::size_t{1} << 20;
constexpr std::size_t kMaxStepStates = 64;

}  // namespace

Task<TokenLosses> analyse(TokenLossesQuestion question, AnalysisSubject subject) {
  const model::Layers& layers = *subject.network->layers;
  const model::TokenBatch& tokens = subject.input->target ? *subject.input->target : subject.input->source;
  if (!subject.has_logits || question.batch >= tokens.batch) throw Error("this run predicts no tokens");
  if (tokens.ids.size() < std::size_t{question.batch + 1} * tokens.length) throw Error("the tokens have no ids");
  const attention::KeyRange real = real_tokens(tokens, question.batch, tokens.length);
  if (real.end - real.begin < 2) throw Error("a loss takes two tokens at least: one to predict from, one that is predicted");
  const std::uint32_t vocabulary = layers.unembedding->linear.out();
  const auto depth = static_cast<std::uint32_t>(layers.decoder.empty() ? layers.encoder.size() : layers.decoder.size());
  const std::size_t at_once = std::clamp<std::size_t>(kLossStepLogits / vocabulary, 1, kMaxStepStates);
  TokenLosses found;
  found.first = real.begin + 1;
  found.tokens = real.end - found.first;
  for (std::uint32_t token = found.first; token < real.end;) {
    Reads reads;
    for (std::uint32_t at = token; at < real.end && reads.logits.size() < at_once; ++at) {
      reads.logits.push_back({.batch = question.batch, .token = at - 1, .layer = depth});
    }
    const std::size_t count = reads.logits.size();
    const Answers read = co_await std::move(reads);
    const std::size_t width = read.logits.size() / count;
    for (std::size_t i = 0; i < count; ++i, ++token) {
      const std::span<const float> logits = read.logits.subspan(i * width, width);
      const std::uint32_t id = tokens.ids[std::size_t{question.batch} * tokens.length + token];
      if (id >= logits.size()) throw Error("token {} isn't in the vocabulary that is predicted", token);
      found.losses.push_back(log_sum_exp(logits) - double{logits[id]});
    }
    co_yield found;
  }
  co_return found;
}

std::optional<InContextScore> in_context_score(std::span<const double> losses) {
  constexpr std::size_t kLate = 500, kEarly = 50;  // tokens, whose losses begin with that of token 1
  if (losses.size() >= kLate) return InContextScore{.score = losses[kLate - 1] - losses[kEarly - 1], .is_of_tokens = true};
  if (losses.size() < kMinScoredLosses) return std::nullopt;
  const auto tenth = [&](std::size_t number) {
    const std::size_t begin = number * losses.size() / 10, end = (number + 1) * losses.size() / 10;
    return mean_loss(losses.subspan(begin, end - begin));
  };
  return InContextScore{.score = tenth(9) - tenth(1)};
}

double mean_loss(std::span<const double> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

std::vector<double> running_means(std::span<const double> losses) {
  std::vector<double> means;
  double sum = 0.0;
  for (const double loss : losses) {
    sum += loss;
    means.push_back(sum / static_cast<double>(means.size() + 1));
  }
  return means;
}

}  // namespace headlight::app
