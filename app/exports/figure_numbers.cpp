#include "app/exports/figure_numbers.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"

namespace headlight::app {

RunNumbers::RunNumbers(Runs runs, AnalysisSubject subject, Checkpoint checkpoint)
    : runs_(std::move(runs)), subject_(std::move(subject)), checkpoint_(std::move(checkpoint)) {
  if (!runs_.norms) runs_.norms = std::make_shared<HeadNormsCache>();
}

void RunNumbers::tell(double more) const {
  if (checkpoint_) checkpoint_(expected_ > 0.0 ? std::min((read_ + more) / expected_, 1.0) : 0.0);
}

std::shared_ptr<const attention::Tile> RunNumbers::tile(const TileQuery& query) {
  double asked = static_cast<double>(query.rows) * query.columns;
  auto found = std::make_shared<attention::Tile>(evaluate(runs_, query, [&](std::size_t cells) {
    tell(static_cast<double>(cells));
    asked = std::max(asked, static_cast<double>(cells));
  }));
  read_ += asked;
  return found;
}

std::shared_ptr<const AnalysisResult> RunNumbers::analysis(const AnalysisQuery& query) {
  constexpr std::size_t kCellsAtOnce = std::size_t{1} << 21;
  const std::unique_ptr<AnalysisTask> task = query.analysis->begin(query, subject_);
  while (!task->is_done()) {
    const AnalysisTask::Reads reads = task->next(kCellsAtOnce);
    if (!reads.logits.empty() || !reads.residuals.empty() || !reads.changes.empty() || !reads.passes.empty() ||
        reads.is_of_reference) {
      throw Error("{} read more than tiles of one run: no figure has them", query.analysis->title);
    }
    tell(0.0);
    std::vector<attention::Tile> tiles = runs_.run.evaluate(reads.tiles);
    for (const attention::TileRequest& request : reads.tiles) read_ += static_cast<double>(request.cells());
    task->take({.tiles = tiles, .logits = {}, .residuals = {}});
  }
  return task->result();
}

std::shared_ptr<const Prediction> RunNumbers::prediction(const PredictionQuery& query) {
  const inference::StateRef state = query.state();
  const Tensor logits = runs_.run.logits(std::span(&state, 1));
  tell(0.0);
  return std::make_shared<const Prediction>(predict(logits.values, query.keeps_logits, 0));
}

}  // namespace headlight::app
