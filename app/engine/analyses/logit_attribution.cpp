#include "app/engine/analyses/logit_attribution.h"

#include <numeric>

#include "attribution/additive_stack.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step.
constexpr std::size_t kSourceCells = std::size_t{1} << 21;

std::uint32_t layers_of(const AnalysisSubject& subject) {
  return static_cast<std::uint32_t>(subject.network->layers->encoder.size());
}

/// Throws Error where the question asks for what there isn't.
void check(const LogitQuestion& question, const AnalysisSubject& subject) {
  const std::string why = attribution::why_not_attributable(*subject.network);
  if (!why.empty()) throw Error("the logit of this model has no parts: {}", why);
  const inference::BlockShape& shape = subject.shapes.at(encoder_block(0));
  const std::uint32_t vocabulary = subject.network->layers->unembedding->linear.out();
  const bool has_tokens = question.token < vocabulary && question.other.value_or(0) < vocabulary;
  if (question.batch >= shape.batch || question.position >= shape.queries || !has_tokens) {
    throw Error("this run has no such prediction");
  }
}

attribution::LogitTarget target_of(const LogitQuestion& question) {
  attribution::LogitTarget target{.token = question.token};
  if (question.other) target.other = *question.other;
  return target;
}

inference::ResidualRows state_after(const LogitQuestion& question, std::uint32_t layers) {
  return {.layer = layers, .batch = question.batch, .first = question.position, .count = 1};
}

}  // namespace

Task<LogitAttribution> analyse(LogitQuestion question, AnalysisSubject subject) {
  check(question, subject);
  LogitAttribution found;
  found.all_layers = layers_of(subject);
  attribution::LogitDirection direction;
  // A layer at a time; the first step reads what gives the direction too.
  for (std::uint32_t layer = 0; layer < found.all_layers; ++layer) {
    const model::BlockRef block = encoder_block(layer);
    Reads reads;
    reads.tiles.push_back({.block = block,
                           .batch = question.batch,
                           .stage = attention::Stage::Merged,
                           .row = question.position,
                           .rows = 1,
                           .column = 0,
                           .columns = subject.shapes.at(block).d_merged});
    reads.residuals.push_back(state_after(question, layer));
    reads.residuals.push_back(state_after(question, layer + 1));
    if (layer == 0) {
      reads.residuals.push_back(state_after(question, found.all_layers));
      reads.logits.push_back({.batch = question.batch, .token = question.position, .layer = found.all_layers});
    }
    const Answers read = co_await std::move(reads);
    const std::vector<float>& before = read.residuals[0].values;
    if (layer == 0) {
      direction = attribution::logit_direction(*subject.network->layers, read.residuals[2].values, target_of(question));
      found.constant = direction.constant;
      found.embedding = direction.of(before);
      found.logit = double{read.logits[question.token]};
      if (question.other) found.logit -= double{read.logits[*question.other]};
    }
    const model::AttentionLayer& weights = subject.network->layer(block);
    const std::vector<double> directions = attribution::head_directions(weights, direction.direction);
    found.layers.push_back(attribution::layer_logits(weights, direction, directions, read.tiles.front().values, before,
                                                     read.residuals[1].values));
  }
  co_return found;
}

Task<LogitSources> analyse(LogitSourcesQuestion question, AnalysisSubject subject) {
  check(question, subject);
  const bool is_one = question.head.has_value();
  const auto shape = is_one ? subject.shapes.find(question.head->block) : subject.shapes.begin();
  if (shape == subject.shapes.end() || (is_one && question.head->head >= shape->second.heads)) {
    throw Error("this run has no such head");
  }
  Reads last_state;
  last_state.residuals.push_back(state_after(question, layers_of(subject)));
  const Answers last = co_await std::move(last_state);
  const attribution::LogitDirection direction =
      attribution::logit_direction(*subject.network->layers, last.residuals.front().values, target_of(question));
  LogitSources found;
  const std::uint32_t end_layer = is_one ? question.head->block.layer.value + 1 : layers_of(subject);
  for (std::uint32_t layer = is_one ? end_layer - 1 : 0; layer < end_layer; ++layer) {
    const model::BlockRef block = encoder_block(layer);
    const inference::BlockShape& of_layer = subject.shapes.at(block);
    found.tokens.resize(of_layer.keys);
    const std::vector<double> directions = gained_directions(subject, block, direction.direction);
    const std::uint32_t end_head = is_one ? question.head->head + 1 : of_layer.heads;
    // The values of some heads, each with its weights.
    for (std::uint32_t head = is_one ? end_head - 1 : 0; head < end_head;) {
      const std::size_t cells = std::size_t{of_layer.keys} * (of_layer.d_v + 1);
      const auto at_once = static_cast<std::uint32_t>(std::max<std::size_t>(kSourceCells / cells, 1));
      Reads reads;
      for (std::uint32_t at = head; at < std::min(head + at_once, end_head); ++at) {
        attention::TileRequest request{.block = block, .batch = question.batch, .head = at};
        request.stage = attention::Stage::V;
        request.rows = of_layer.keys;
        request.columns = of_layer.d_v;
        reads.tiles.push_back(request);
        request.stage = attention::Stage::Weights;
        request.row = question.position;
        request.rows = 1;
        request.columns = of_layer.keys;
        reads.tiles.push_back(request);
      }
      const Answers read = co_await std::move(reads);
      for (std::size_t i = 0; i + 1 < read.tiles.size(); i += 2, ++head) {
        attribution::add_source_logits(std::span(directions).subspan(std::size_t{head} * of_layer.d_v, of_layer.d_v),
                                       read.tiles[i + 1].values, read.tiles[i].values, found.tokens);
      }
    }
  }
  co_return found;
}

double LogitAttribution::sum() const {
  return std::accumulate(
      layers.begin(), layers.end(), constant + embedding,
      [](double sum, const attribution::LayerLogits& layer) { return sum + layer.attention() + layer.mlp; });
}

LogitAttribution LogitAttribution::operator-(const LogitAttribution& other) const {
  LogitAttribution change = *this;
  change.logit -= other.logit;
  change.constant -= other.constant;
  change.embedding -= other.embedding;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    attribution::LayerLogits& parts = change.layers[layer];
    const attribution::LayerLogits& others = other.layers[layer];
    std::ranges::transform(parts.heads, others.heads, parts.heads.begin(), std::minus());
    parts.attention_bias -= others.attention_bias;
    parts.mlp -= others.mlp;
  }
  return change;
}

LogitSources LogitSources::operator-(const LogitSources& other) const {
  LogitSources change = *this;
  std::ranges::transform(tokens, other.tokens, change.tokens.begin(), std::minus());
  return change;
}

std::vector<double> gained_directions(const AnalysisSubject& subject, model::BlockRef block,
                                      std::span<const double> direction) {
  std::vector<double> directions = attribution::head_directions(subject.network->layer(block), direction);
  const std::size_t d_v = subject.shapes.at(block).d_v;
  for (const auto& [head, gain] : subject.inputs->gains) {
    if (head.first != block || head.second >= subject.shapes.at(block).heads) continue;
    for (double& part : std::span(directions).subspan(head.second * d_v, d_v)) part *= double{gain};
  }
  return directions;
}

}  // namespace headlight::app
