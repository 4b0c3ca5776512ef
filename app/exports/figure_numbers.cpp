#include "app/engine/query_queue.h"
#include "app/exports/figure_kind.h"

namespace headlight::app {

Task<void> FigureNumbers::begin() {
  Reads facts;
  facts.visit = [this](const FoundRuns& found) {
    evaluated = subject_of({.run = *found.run, .baseline = found.baseline.get(), .norms = evaluated.norms});
    subject = found.subject;
  };
  co_await std::move(facts);
}

Task<std::vector<std::shared_ptr<const attention::Tile>>> FigureNumbers::tiles_of(std::vector<TileQuery> queries) {
  std::vector<TileQuery> asked;
  for (const TileQuery& query : queries) {
    const auto [known, is_new] = tiles.try_emplace(query);
    if (known->second) continue;
    if (subject) {
      asked.push_back(query);
      continue;
    }
    auto blank = std::make_shared<attention::Tile>();
    blank->request = stage_request(query);
    blank->values.resize(std::size_t{query.tile_rows()} * query.tile_columns());
    known->second = std::move(blank);
  }
  for (std::size_t first = 0, end = 0; first < asked.size(); first = end) {
    end = end_of_group(asked, first);
    const std::vector<TileQuery> group(asked.begin() + static_cast<std::ptrdiff_t>(first),
                                       asked.begin() + static_cast<std::ptrdiff_t>(end));
    double cells = 0.0;
    const EvaluationObserver observe = [&](std::size_t evaluated_cells) {
      cells = static_cast<double>(evaluated_cells);
      if (checkpoint) checkpoint(expected > 0.0 ? std::min((read + cells) / expected, 1.0) : 0.0);
    };
    Task<std::vector<attention::Tile>> evaluation = evaluate_together(group, evaluated, observe);
    std::vector<attention::Tile> found = co_await std::move(evaluation);
    read += cells;
    for (std::size_t i = 0; i < found.size(); ++i)
      tiles[group[i]] = std::make_shared<const attention::Tile>(std::move(found[i]));
  }
  std::vector<std::shared_ptr<const attention::Tile>> known;
  for (const TileQuery& query : queries) known.push_back(tiles.at(query));
  co_return known;
}

Task<std::shared_ptr<const AnalysisResult>> FigureNumbers::analysis(AnalysisQuery query) {
  std::shared_ptr<const AnalysisResult>& result = analyses[query];
  if (!result && subject) result = co_await analyse_any(query, *subject);
  co_return result;
}

Task<std::shared_ptr<const Prediction>> FigureNumbers::prediction(PredictionQuery query) {
  if (!subject) co_return nullptr;
  Reads reads;
  reads.logits.push_back(query.state());
  const Answers read_logits = co_await std::move(reads);
  co_return std::make_shared<const Prediction>(predict(read_logits.logits, query.keeps_logits, 0));
}

}  // namespace headlight::app
