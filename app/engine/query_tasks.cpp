#include <iterator>
#include <limits>
#include <utility>

#include "app/engine/query_queue.h"
#include "core/error.h"

namespace headlight::app {
namespace {

class TileTask final : public QueryTask {
 public:
  TileTask(std::unique_ptr<Evaluation> evaluation, std::function<void(attention::Tile)> sink)
      : evaluation_(std::move(evaluation)), sink_(std::move(sink)) {}

  /// Of what comes next, at most: a mean's strip from all heads.
  Cost cost() const override {
    Cost cost;
    for (const attention::TileRequest& tile : evaluation_->next(std::numeric_limits<std::size_t>::max()).requests) {
      cost.cells += tile.cells();
    }
    return cost;
  }
  QueryStep next(std::size_t most_cells) override {
    Evaluation::Step step = evaluation_->next(most_cells);
    return {.of = step.of, .tiles = std::move(step.requests)};
  }
  void take(const QueryAnswer& answer) override {
    evaluation_->take({std::make_move_iterator(answer.tiles.begin()), std::make_move_iterator(answer.tiles.end())});
    if (evaluation_->is_done()) sink_(evaluation_->result());
  }
  bool is_done() const override { return evaluation_->is_done(); }

 private:
  std::unique_ptr<Evaluation> evaluation_;
  std::function<void(attention::Tile)> sink_;
};

class PredictionTask final : public QueryTask {
 public:
  PredictionTask(const PredictionQuery& query, std::size_t vocabulary, std::function<void(std::span<const float>)> sink)
      : query_(query), vocabulary_(vocabulary), sink_(std::move(sink)) {}

  Cost cost() const override { return {.logits = vocabulary_}; }
  QueryStep next(std::size_t /*most_cells*/) override {
    return {.of = query_.is_of_reference ? Evaluation::Of::ReferenceItself : Evaluation::Of::Run,
            .states = {query_.state()}};
  }
  void take(const QueryAnswer& answer) override {
    sink_(answer.logits);
    is_done_ = true;
  }
  bool is_done() const override { return is_done_; }

 private:
  PredictionQuery query_;
  std::size_t vocabulary_;
  std::function<void(std::span<const float>)> sink_;
  bool is_done_ = false;
};

class MemoryTask final : public QueryTask {
 public:
  explicit MemoryTask(std::function<void(Tensor)> sink) : sink_(std::move(sink)) {}

  Cost cost() const override { return {}; }
  QueryStep next(std::size_t /*most_cells*/) override { return {.reads_encoder_output = true}; }
  void take(const QueryAnswer& answer) override {
    sink_(answer.encoder_output);
    is_done_ = true;
  }
  bool is_done() const override { return is_done_; }

 private:
  std::function<void(Tensor)> sink_;
  bool is_done_ = false;
};

class AnalysisQueryTask final : public QueryTask {
 public:
  AnalysisQueryTask(const AnalysisQuery& query, const AnalysisSubject& subject, std::size_t vocabulary,
                    std::function<void(Analysed)> sink)
      : is_of_reference_(query.is_of_reference), vocabulary_(vocabulary), sink_(std::move(sink)) {
    try {
      task_ = query.analysis->begin(query, subject);
    } catch (const Error& error) {
      error_ = error.what();
    }
  }

  Cost cost() const override {
    Cost cost;
    if (is_done()) return cost;
    const AnalysisTask::Reads reads = task_->next(1);
    for (const attention::TileRequest& tile : reads.tiles) cost.cells += tile.cells();
    cost.logits = reads.logits.size() * vocabulary_;
    return cost;
  }
  QueryStep next(std::size_t most_cells) override {
    if (is_done()) return {};
    AnalysisTask::Reads reads = task_->next(most_cells);
    return {.of = is_of_reference_        ? Evaluation::Of::ReferenceItself
                  : reads.is_of_reference ? Evaluation::Of::Reference
                                          : Evaluation::Of::Run,
            .tiles = std::move(reads.tiles),
            .states = std::move(reads.logits),
            .residuals = std::move(reads.residuals),
            .changes = std::move(reads.changes),
            .passes = std::move(reads.passes)};
  }
  void take(const QueryAnswer& answer) override {
    try {
      if (!is_done()) {
        task_->take(
            {.tiles = answer.tiles, .logits = answer.logits, .residuals = answer.residuals, .passes = answer.passes});
      }
    } catch (const Error& error) {
      error_ = error.what();
    }
    sink_({.result = error_.empty() ? task_->result() : nullptr, .error = error_, .is_done = is_done()});
  }
  void fail(const std::string& why) override {
    error_ = why;
    sink_({.result = nullptr, .error = error_, .is_done = true});
  }
  bool is_done() const override { return !error_.empty() || task_->is_done(); }

 private:
  bool is_of_reference_;
  std::size_t vocabulary_;
  std::function<void(Analysed)> sink_;
  std::unique_ptr<AnalysisTask> task_;
  std::string error_;  ///< of an analysis that can't be done
};

}  // namespace

std::unique_ptr<QueryTask> make_tile_task(std::unique_ptr<Evaluation> evaluation,
                                          std::function<void(attention::Tile tile)> sink) {
  return std::make_unique<TileTask>(std::move(evaluation), std::move(sink));
}

std::unique_ptr<QueryTask> make_prediction_task(const PredictionQuery& query, std::size_t vocabulary,
                                                std::function<void(std::span<const float> logits)> sink) {
  return std::make_unique<PredictionTask>(query, vocabulary, std::move(sink));
}

std::unique_ptr<QueryTask> make_memory_task(std::function<void(Tensor encoder_output)> sink) {
  return std::make_unique<MemoryTask>(std::move(sink));
}

std::unique_ptr<QueryTask> make_analysis_task(const AnalysisQuery& query, const AnalysisSubject& subject,
                                              std::size_t vocabulary, std::function<void(Analysed answer)> sink) {
  return std::make_unique<AnalysisQueryTask>(query, subject, vocabulary, std::move(sink));
}

}  // namespace headlight::app
