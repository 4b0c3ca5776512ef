#include "app/engine/analyses/patching.h"

#include "core/error.h"

namespace headlight::app {
namespace {

using model::Site;

/// Weights of a query that are patched together, each in a pass of its own.
constexpr std::size_t kMaxWeights = 32;
/// A head's output that is farther from its weighted values than this part of the largest of them was changed.
constexpr double kMaxOff = 1e-3;

/// A head's numbers in the run that is patched, and its weights in the other one.
struct HeadParts {
  std::vector<float> weights, other;   ///< [query, key]
  std::vector<float> values, outputs;  ///< v [key, d_v] and z [query, d_v]
  std::size_t keys = 0, width = 0;

  std::span<const float> row(const std::vector<float>& of, std::size_t at, std::size_t length) const {
    return std::span(of).subspan(at * length, length);
  }
  /// Returns z of a query where one weight is the other run's.
  std::vector<float> patched(std::size_t query, std::size_t key) const {
    const std::size_t at = query * keys + key;
    return output_with_weight(row(outputs, query, width), double{other[at]} - double{weights[at]}, row(values, key, width));
  }
};

/// Throws Error where a query's output isn't the sum of its weighted values.
void check_output(const HeadParts& parts, std::size_t query) {
  double largest = 0.0, off = 0.0;
  for (std::size_t i = 0; i < parts.width; ++i) {
    double sum = 0.0;
    for (std::size_t key = 0; key < parts.keys; ++key) {
      const double value = double{parts.values[key * parts.width + i]};
      if (std::isnan(value)) continue;  // a key that the text of this run doesn't have
      largest = std::max(largest, std::abs(value));
      sum += double{parts.weights[query * parts.keys + key]} * value;
    }
    off = std::max(off, std::abs(sum - double{parts.outputs[query * parts.width + i]}));
  }
  if (!(off <= kMaxOff * largest)) {
    throw Error("this head's output isn't the sum of its weighted values: take back its gain, dropout or kept changes");
  }
}

/// Reads them for queries and keys that aren't padding.
Task<HeadParts> read_parts(HeadRef head, std::uint32_t batch, TokenRange queries, TokenRange keys, WhichRun target,
                           WhichRun source, inference::BlockShape shape) {
  const auto place = [&](Site site, TokenRange tokens) {
    return PatchPlace{
        .site = site, .block = head.block, .batch = batch, .head = head.head, .first = tokens.first, .count = tokens.count};
  };
  const auto read_weights = [&](Reads& reads) {
    read_place(place(Site::Weights, queries), shape, reads);
    reads.tiles.back().column = keys.first;
    reads.tiles.back().columns = keys.count;
  };
  Reads of_target{.of = target}, of_source{.of = source};
  read_weights(of_target);
  read_place(place(Site::Value, keys), shape, of_target);
  read_place(place(Site::HeadOutput, queries), shape, of_target);
  read_weights(of_source);
  HeadParts parts;
  parts.keys = keys.count;
  parts.width = shape.d_v;
  Answers read = co_await std::move(of_target);
  parts.weights = std::move(read.tiles[0].values);
  parts.values = std::move(read.tiles[1].values);
  parts.outputs = std::move(read.tiles[2].values);
  Answers other = co_await std::move(of_source);
  parts.other = std::move(other.tiles[0].values);
  match_missing(parts.other, parts.weights);
  co_return parts;
}

}  // namespace

std::vector<float> output_with_weight(std::span<const float> output, double change, std::span<const float> value) {
  std::vector<float> changed;
  for (std::size_t i = 0; i < output.size(); ++i) {
    changed.push_back(static_cast<float>(double{output[i]} + change * double{value[i]}));
  }
  return changed;
}

WeightPatchingQuestion weight_patching_query(const PatchingChoices& choices, const HeadRef& head, MeasuredToken measured) {
  return {.head = head, .into_baseline = choices.into_baseline, .measured = measured};
}

Task<PatchEffects> analyse(WeightPatchingQuestion question, AnalysisSubject subject) {
  const inference::StateRef state = measured_state(question.measured, subject);
  const std::uint32_t batch = question.measured.batch;
  const HeadRef head = question.head;
  const auto found_shape = subject.shapes.find(head.block);
  if (found_shape == subject.shapes.end() || head.head >= found_shape->second.heads)
    throw Error("this run has no such head");
  const inference::BlockShape shape = found_shape->second;
  const auto range = [&](const model::TokenBatch& tokens) {
    if (batch >= tokens.batch || tokens.lengths[batch] == 0) throw Error("this line has no tokens");
    return TokenRange{.first = tokens.start(batch), .count = tokens.lengths[batch]};
  };
  const TokenRange queries = range(subject.input->queries(head.block.kind)),
                   keys = range(subject.input->keys(head.block.kind));
  if (std::max(queries.count, keys.count) > kMaxPatchedWeights) {
    throw Error("each weight takes a pass of its own, and this line has {} tokens: choose a text of at most {}",
                std::max(queries.count, keys.count), kMaxPatchedWeights);
  }
  const WhichRun target = question.into_baseline ? WhichRun::Baseline : WhichRun::Newest;
  const WhichRun source = question.into_baseline ? WhichRun::Newest : WhichRun::Baseline;
  if (question.into_baseline && !subject.covers_baseline) {
    throw Error("the other text has tokens without a counterpart here, whose weights aren't known: patch into this run");
  }
  PatchEffects found;
  found.first_query = queries.first;
  found.first = keys.first;
  found.columns = keys.count;
  found.all = std::size_t{queries.count} * keys.count;
  found.patched.resize(found.all);
  found.target = co_await prediction_in(target, state, question.measured);
  found.source = co_await prediction_in(source, state, question.measured);
  co_yield found;
  const HeadParts parts = co_await read_parts(head, batch, queries, keys, target, source, shape);
  for (std::uint32_t query = 0; query < queries.count; ++query) {
    std::vector<std::uint32_t> differing;
    for (std::uint32_t key = 0; key < keys.count; ++key) {
      const std::size_t at = std::size_t{query} * keys.count + key;
      if (parts.weights[at] == 0.0F && parts.other[at] == 0.0F) {
        ++found.known;  // hidden in both runs: there is nothing to put
      } else if (parts.other[at] == parts.weights[at]) {
        found.keep(query, key, found.target);
      } else {
        differing.push_back(key);
      }
    }
    if (!differing.empty()) check_output(parts, query);
    const PatchPlace place{.site = Site::HeadOutput,
                           .block = head.block,
                           .batch = batch,
                           .head = head.head,
                           .first = queries.first + query,
                           .count = 1};
    for (std::size_t next = 0; next < differing.size();) {
      Reads reads{.of = target};
      reads.logits.push_back(state);
      for (std::size_t i = next; i < std::min(next + kMaxWeights, differing.size()); ++i) {
        reads.passes.push_back({replaced(place, shape, parts.patched(query, differing[i]))});
      }
      const Answers read = co_await std::move(reads);
      const std::size_t width = read.logits.size() / read.passes;
      for (std::size_t i = 0; i < read.passes; ++i) {
        found.keep(query, differing[next + i], patched_numbers(read.logits.subspan(i * width, width), question.measured));
      }
      next += read.passes;
      co_yield found;
    }
  }
  co_return found;
}

}  // namespace headlight::app
