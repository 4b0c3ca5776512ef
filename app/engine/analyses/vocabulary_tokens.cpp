#include "app/engine/analyses/vocabulary_tokens.h"

#include "app/engine/analyses/head_circuits.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using attribution::TokenCircuit;
using Entry = VocabularyTokens::Entry;

/// Numbers of token vectors that are made in one step: some 10 ms.
constexpr std::uint32_t kChunkNumbers = 1U << 20;
constexpr std::uint32_t kMinChunk = 64;
/// Chunks after which an incomplete result is reported.
constexpr std::uint32_t kToldChunks = 4;

/// Adds the values of tokens from `found.known` on.
void take(VocabularyTokens& found, std::span<const double> values, std::uint32_t token) {
  const std::size_t first = found.known;
  const auto merge = [&](std::vector<Entry>& list, auto is_before) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      list.push_back({.id = static_cast<std::uint32_t>(first + i), .value = values[i]});
    }
    const auto middle = list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), kListedTokens));
    std::partial_sort(list.begin(), middle, list.end(), [&](const Entry& a, const Entry& b) {
      return is_before(a.value, b.value) || (a.value == b.value && a.id < b.id);
    });
    list.erase(middle, list.end());
  };
  merge(found.highest, std::greater<>());
  merge(found.lowest, std::less<>());
  if (token >= first && token - first < values.size()) found.own = values[token - first];
  found.known += values.size();
}

}  // namespace

Task<VocabularyTokens> analyse(VocabularyQuestion question, AnalysisSubject subject) {
  const std::shared_ptr<const model::Network> network = subject.network;
  const model::BlockRef block = question.head.block;
  const auto shape = subject.shapes.find(block);
  if (shape == subject.shapes.end() || question.head.head >= shape->second.heads) throw Error("this run has no such head");
  if (const std::string why = attribution::why_no_circuit(*network, block, question.circuit); !why.empty())
    throw Error("{}", why);
  auto& cache = CircuitCache<VocabularyQuestion, VocabularyTokens>::instance();
  if (const auto known = cache.find(network->layers, question)) co_return *known;
  VocabularyTokens found;
  found.all = attribution::circuit_vocabulary(*network, block, question.circuit);
  if (question.token >= attribution::circuit_vocabulary(*network, block, TokenCircuit::Keys))
    throw Error("the model has no such token");
  if (question.circuit == TokenCircuit::Written) {
    // A row of zeros beside it gives what the unembedding's bias alone gives.
    std::vector<float> direction = attribution::written_direction(*network, block, question.head.head, question.token);
    const auto width = static_cast<std::uint32_t>(direction.size());
    direction.resize(2 * direction.size());
    Reads reads;
    reads.products.push_back({.rows = Tensor({2, width}, std::move(direction))});
    const Answers read = co_await std::move(reads);
    std::vector<double> logits(found.all);
    for (std::size_t id = 0; id < logits.size(); ++id) {
      logits[id] = double{read.products.front().values[id]} - double{read.products.front().values[found.all + id]};
    }
    take(found, logits, question.token);
  } else {
    const attribution::CircuitScores scores(*network, block, question.head.head, question.circuit, question.token,
                                            question.positions);
    const auto weight = std::make_shared<const model::Linear>(scores.projection());
    const std::uint32_t chunk = std::max(kChunkNumbers / weight->in(), kMinChunk);
    for (std::uint32_t step = 1; !found.is_complete(); ++step) {
      const auto first = static_cast<std::uint32_t>(found.known);
      const std::uint32_t count = std::min(chunk, static_cast<std::uint32_t>(found.all) - first);
      Reads reads;
      reads.products.push_back(
          {.rows = attribution::read_vectors(*network, block, first, count, scores.position()), .weight = weight});
      const Answers read = co_await std::move(reads);
      take(found, scores.of(read.products.front()), question.token);
      if (step % kToldChunks == 1) co_yield found;
    }
  }
  cache.keep(network->layers, question, found);
  co_return found;
}

}  // namespace headlight::app
