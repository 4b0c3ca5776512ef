#include "app/exports/figure_kind.h"

#include "app/engine/query_queue.h"

namespace headlight::app {

RunNumbers::RunNumbers(Runs runs, AnalysisSubject subject, Checkpoint checkpoint)
    : runs_(std::move(runs)), subject_(std::move(subject)), checkpoint_(std::move(checkpoint)) {
  if (!runs_.norms) runs_.norms = std::make_shared<HeadNormsCache>();
}

void RunNumbers::tell(double more) const {
  if (checkpoint_) checkpoint_(expected_ > 0.0 ? std::min((read_ + more) / expected_, 1.0) : 0.0);
}

std::shared_ptr<const attention::Tile> RunNumbers::tile(const TileQuery& query) {
  const auto [found, is_new] = known_.try_emplace(query);
  if (is_new) asked_.push_back(query);
  return found->second;
}

bool RunNumbers::answer() {
  const std::vector<TileQuery> asked = std::exchange(asked_, {});
  for (std::size_t first = 0, end = 0; first < asked.size(); first = end) {
    end = end_of_group(asked, first);
    double cells = 0.0;
    std::vector<attention::Tile> tiles =
        evaluate(runs_, std::span(asked).subspan(first, end - first), [&](std::size_t evaluated) {
          cells = static_cast<double>(evaluated);
          tell(cells);
        });
    read_ += cells;
    for (std::size_t i = 0; i < tiles.size(); ++i)
      known_[asked[first + i]] = std::make_shared<const attention::Tile>(std::move(tiles[i]));
  }
  return !asked.empty();
}

std::shared_ptr<const AnalysisResult> RunNumbers::analysis(const AnalysisQuery& query) {
  std::shared_ptr<const AnalysisResult>& result = analysed_[query];
  if (result) return result;
  return result = answer_at_once(query, subject_, runs_, [&] { tell(0.0); });
}

std::shared_ptr<const Prediction> RunNumbers::prediction(const PredictionQuery& query) {
  const inference::StateRef state = query.state();
  const Tensor logits = runs_.run.logits(std::span(&state, 1));
  tell(0.0);
  return std::make_shared<const Prediction>(predict(logits.values, query.keeps_logits, 0));
}

}  // namespace headlight::app
