#pragma once

#include "app/analyses/analysis_query.h"
#include "app/engine/predictions.h"
#include "app/exports/numbers.h"
#include "app/quantities/evaluation.h"

namespace headlight::app {

/// Where a figure's numbers come from: a run, at once, or a window, whose engine answers when it can.
class FigureNumbers {
 public:
  virtual ~FigureNumbers() = default;
  /// Null: it is being evaluated, and the figure can't be drawn yet. Ask for the others all the same.
  virtual std::shared_ptr<const attention::Tile> tile(const TileQuery& query) = 0;
  /// What an analysis of tiles found, complete; null likewise. Throws Error where it can't be done.
  virtual std::shared_ptr<const AnalysisResult> analysis(const AnalysisQuery& query) = 0;
  /// The logits of a position as a layer's state gives them; null likewise. Only where the run has any.
  virtual std::shared_ptr<const Prediction> prediction(const PredictionQuery& query) = 0;
  /// Values along an edge of each of so many matrices that are worth reading: fewer than `most` where the figure is drawn
  /// small.
  virtual std::uint32_t edge(std::uint32_t most, std::size_t /*maps*/) const { return most; }
  /// How many cells the figure reads in all, so that progress can be told.
  virtual void expect(double /*cells*/) {}

 protected:
  FigureNumbers() = default;
  FigureNumbers(const FigureNumbers&) = default;
  FigureNumbers& operator=(const FigureNumbers&) = default;
};

/// Of runs that are computed. The run's network and input are needed by analyses alone. Tiles are null until answer() has
/// evaluated all that were asked for, together.
class RunNumbers final : public FigureNumbers {
 public:
  explicit RunNumbers(Runs runs, AnalysisSubject subject = {}, Checkpoint checkpoint = {});

  std::shared_ptr<const attention::Tile> tile(const TileQuery& query) override;
  std::shared_ptr<const AnalysisResult> analysis(const AnalysisQuery& query) override;
  std::shared_ptr<const Prediction> prediction(const PredictionQuery& query) override;
  void expect(double cells) override { expected_ = cells; }
  /// Evaluates what was asked for and isn't known. False: there is nothing of that kind.
  bool answer();
  /// What `draw` returns once all that it asks for is known: a pointer or an optional.
  template <typename Draw>
  auto drawn(const Draw& draw) {
    auto result = draw();
    while (!result && answer()) result = draw();
    return result;
  }

 private:
  void tell(double more) const;

  Runs runs_;
  AnalysisSubject subject_;
  Checkpoint checkpoint_;
  std::map<TileQuery, std::shared_ptr<const attention::Tile>> known_;
  std::map<AnalysisQuery, std::shared_ptr<const AnalysisResult>> analysed_;
  std::vector<TileQuery> asked_;
  double expected_ = 0.0, read_ = 0.0;  ///< cells
};

}  // namespace headlight::app
