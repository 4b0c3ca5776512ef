#include "app/analyses/logit_attribution.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attribution/additive_stack.h"
#include "core/error.h"

namespace headlight::app {
namespace {

std::uint32_t layers_of(const AnalysisSubject& subject) {
  return static_cast<std::uint32_t>(subject.network->layers->encoder.size());
}

/// Throws Error where the query asks for what there isn't.
void check(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const std::string why = attribution::why_not_attributable(*subject.network);
  if (!why.empty()) throw Error("the logit of this model has no parts: {}", why);
  const inference::BlockShape& shape = subject.shapes.at(encoder_block(0));
  const std::uint32_t vocabulary = subject.network->layers->unembedding->linear.out();
  const bool has_tokens = query.tokens[0] < vocabulary && (query.options[0] == 0 || query.tokens[1] < vocabulary);
  if (query.batch >= shape.batch || query.query >= shape.queries || !has_tokens) {
    throw Error("this run has no such prediction");
  }
}

attribution::LogitTarget target_of(const AnalysisQuery& query) {
  attribution::LogitTarget target{.token = query.tokens[0]};
  if (query.options[0] == 1) target.other = query.tokens[1];
  return target;
}

inference::ResidualRows state_after(const AnalysisQuery& query, std::uint32_t layers) {
  return {.layer = layers, .batch = query.batch, .first = query.query, .count = 1};
}

class AttributionTask final : public AnalysisTask {
 public:
  AttributionTask(const AnalysisQuery& query, AnalysisSubject subject) : query_(query), subject_(std::move(subject)) {
    found_.all_layers = layers_of(subject_);
  }

  /// A layer at a time; the first step reads what gives the direction too.
  Reads next(std::size_t /*most_cells*/) override {
    const auto layer = static_cast<std::uint32_t>(found_.layers.size());
    const inference::BlockShape& shape = subject_.shapes.at(encoder_block(layer));
    Reads reads{.tiles = {{.block = encoder_block(layer),
                           .batch = query_.batch,
                           .stage = attention::Stage::Merged,
                           .row = query_.query,
                           .rows = 1,
                           .column = 0,
                           .columns = shape.d_merged}},
                .residuals = {state_after(query_, layer), state_after(query_, layer + 1)}};
    if (layer == 0) {
      reads.residuals.push_back(state_after(query_, found_.all_layers));
      reads.logits = {{.batch = query_.batch, .token = query_.query, .layer = found_.all_layers}};
    }
    return reads;
  }

  void take(const Answers& answers) override {
    const auto layer = static_cast<std::uint32_t>(found_.layers.size());
    const std::vector<float>& before = answers.residuals[0].values;
    if (layer == 0) {
      direction_ = attribution::logit_direction(*subject_.network->layers, answers.residuals[2].values, target_of(query_));
      found_.constant = direction_.constant;
      found_.embedding = direction_.of(before);
      found_.logit = double{answers.logits[query_.tokens[0]]};
      if (query_.options[0] == 1) found_.logit -= double{answers.logits[query_.tokens[1]]};
    }
    const model::AttentionLayer& weights = subject_.network->layer(encoder_block(layer));
    const std::vector<double> directions = attribution::head_directions(weights, direction_.direction);
    found_.layers.push_back(attribution::layer_logits(weights, direction_, directions, answers.tiles.front().values, before,
                                                      answers.residuals[1].values));
  }
  bool is_done() const override { return found_.is_complete(); }
  std::shared_ptr<const AnalysisResult> result() const override {
    return found_.is_complete() ? std::make_shared<const LogitAttribution>(found_) : nullptr;
  }

 private:
  AnalysisQuery query_;
  AnalysisSubject subject_;
  attribution::LogitDirection direction_;
  LogitAttribution found_;
};

class SourcesTask final : public AnalysisTask {
 public:
  SourcesTask(const AnalysisQuery& query, AnalysisSubject subject) : query_(query), subject_(std::move(subject)) {
    layer_ = query.options[1] == 1 ? query.block.layer.value : 0;
    found_.tokens.resize(subject_.shapes.at(encoder_block(layer_)).keys);
    begin_layer();
  }

  /// The values of some KV heads with the weights of the heads that read them.
  Reads next(std::size_t most_cells) override {
    Reads reads;
    if (direction_.direction.empty()) reads.residuals = {state_after(query_, layers_of(subject_))};
    const inference::BlockShape& shape = subject_.shapes.at(encoder_block(layer_));
    std::size_t cells = 0;
    for (std::uint32_t head = head_; head < end_ && (head == head_ || cells < most_cells); ++head) {
      attention::TileRequest request{.block = encoder_block(layer_), .batch = query_.batch, .head = head};
      request.stage = attention::Stage::V;
      request.rows = shape.keys;
      request.columns = shape.d_v;
      reads.tiles.push_back(request);
      request.stage = attention::Stage::Weights;
      request.row = query_.query;
      request.rows = 1;
      request.columns = shape.keys;
      reads.tiles.push_back(request);
      cells += std::size_t{shape.keys} * (shape.d_v + 1);
    }
    return reads;
  }

  void take(const Answers& answers) override {
    if (!answers.residuals.empty()) {
      direction_ = attribution::logit_direction(*subject_.network->layers, answers.residuals[0].values, target_of(query_));
    }
    if (directions_.empty()) directions_ = gained_directions(subject_, encoder_block(layer_), direction_.direction);
    const std::size_t d_v = subject_.shapes.at(encoder_block(layer_)).d_v;
    for (std::size_t i = 0; i + 1 < answers.tiles.size(); i += 2, ++head_) {
      attribution::add_source_logits(std::span<const double>(directions_).subspan(head_ * d_v, d_v),
                                     answers.tiles[i + 1].values, answers.tiles[i].values, found_.tokens);
    }
    if (head_ < end_) return;
    ++layer_;
    is_done_ = query_.options[1] == 1 || layer_ == layers_of(subject_);
    if (!is_done_) begin_layer();
  }
  bool is_done() const override { return is_done_; }
  std::shared_ptr<const AnalysisResult> result() const override {
    return is_done_ ? std::make_shared<const LogitSources>(found_) : nullptr;
  }

 private:
  void begin_layer() {
    const bool is_one = query_.options[1] == 1;
    head_ = is_one ? query_.head : 0;
    end_ = is_one ? query_.head + 1 : subject_.shapes.at(encoder_block(layer_)).heads;
    directions_.clear();
  }

  AnalysisQuery query_;
  AnalysisSubject subject_;
  attribution::LogitDirection direction_;
  std::vector<double> directions_;  ///< of the layer; empty: not computed yet
  std::uint32_t layer_ = 0;
  std::uint32_t head_ = 0, end_ = 0;  ///< of the layer: the next one, and behind the last
  bool is_done_ = false;
  LogitSources found_;
};

std::unique_ptr<AnalysisTask> begin_attribution(const AnalysisQuery& query, const AnalysisSubject& subject) {
  check(query, subject);
  return std::make_unique<AttributionTask>(query, subject);
}

std::unique_ptr<AnalysisTask> begin_sources(const AnalysisQuery& query, const AnalysisSubject& subject) {
  check(query, subject);
  const auto shape = subject.shapes.find(query.block);
  const bool has_head = shape != subject.shapes.end() && query.head < shape->second.heads;
  if (query.options[1] == 1 && !has_head) throw Error("this run has no such head");
  return std::make_unique<SourcesTask>(query, subject);
}

}  // namespace

double LogitAttribution::sum() const {
  return std::accumulate(
      layers.begin(), layers.end(), constant + embedding,
      [](double sum, const attribution::LayerLogits& layer) { return sum + layer.attention() + layer.mlp; });
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

constexpr Analysis kLogitAttribution{.id = "logit-attribution", .title = "parts of a logit", .begin = &begin_attribution};
constexpr Analysis kLogitSources{.id = "logit-sources", .title = "source tokens of a logit", .begin = &begin_sources};

}  // namespace headlight::app
