#pragma once

#include "app/shapes/quantities/head_norms.h"
#include "app/shapes/quantities/task.h"
#include "app/shapes/quantities/tile_query.h"
#include "attention/stage.h"
#include "inference/counterparts.h"
#include "inference/intervention.h"
#include "inference/run.h"

namespace headlight::app {

/// The facts about the runs that an evaluation knows from its beginning. The runs' numbers are what its steps read.
struct EvaluationSubject {
  struct Side {
    std::shared_ptr<const model::Network> network = {};
    std::map<model::BlockKind, std::vector<attention::KeyRange>> queries = {};  ///< [item] real ones
    inference::Interventions interventions = {};
    std::map<model::BlockRef, std::uint64_t> versions = {};  ///< Run::version
    /// Only the baseline has these pairs, where its text has other tokens than the run's: they name the tokens that
    /// correspond.
    std::shared_ptr<const inference::InputCounterparts> pairs = {};
  };
  BlockShapes shapes = {};  ///< of both runs
  Side run = {};
  Side baseline = {};  ///< without a network where there is none
  std::shared_ptr<HeadNormsCache> norms = {};
  WhichRun of = WhichRun::Newest;                 ///< `run`, whose tiles are read
  std::size_t most_cells = std::size_t{1} << 20;  ///< of one step, about; at least one row of squares, or one head's strip
  std::shared_ptr<const inference::PassInputs> own_pass = {};  ///< Reads::own_pass, of tiles of one batch item
};

/// A tile of a quantity while it is made from tiles of runs. Its request is the query's rectangle of the quantity's stage.
using Evaluation = Task<attention::Tile>;

/// Returns the evaluation of a tile that a run has as it is.
Evaluation stage_tile(const TileQuery& query, const EvaluationSubject& subject);

/// Returns the evaluation of run − baseline for the base of the query's quantity. Where the base pools by the maximum, both
/// runs' exact cells are compared, and a square shows its difference that is farthest from 0; other stages pool by the mean,
/// and so the difference of both means is the mean difference.
///
/// A cell is masked where it is masked in both runs. Where its query or key has no counterpart in the baseline's text
/// (EvaluationSubject::Side::pairs), it is NaN and masked; before the mask those cells alone are masked. Where only one run
/// masks a cell, the difference of masked scores has the fill in it and may be infinite. There are no row statistics:
/// row_max and row_sum are empty.
Evaluation difference_tile(const TileQuery& query, const EvaluationSubject& subject);

/// Returns the evaluation of the base of the query's quantity in the baseline alone.
Evaluation baseline_tile(const TileQuery& query, const EvaluationSubject& subject);

/// Returns the evaluation of the exact mean of several heads' weights, kMeanOfLayer or kMeanOfKind: strips of whole rows
/// come from the device head by head and are added up in double precision on the host; pooling comes last. A head whose row
/// sees no key counts as zeros.
///
/// The tile's row_sum is 1 / the largest mean weight of the whole row, as for one head; row_max is 0. A cell is masked where
/// it is masked in all heads.
Evaluation head_mean_tile(const TileQuery& query, const EvaluationSubject& subject);

/// Returns the evaluation of kNorms, kNormsOfLayer and kNormsOfKind: of one head or as the mean of several
///   norm(i, j) = |gain| · weight(i, j) · ‖v_j W_O‖
/// with the product of the factors by which interventions scale the head's output; vectors that they add to it belong to no
/// key. Weights and values come from the device, the norms of v_j W_O from HeadNormsCache. Every cell is computed before
/// cells are pooled, so a square shows the largest or the mean of its norms, exactly. There are no row statistics: row_max
/// and row_sum are empty.
Evaluation norms_tile(const TileQuery& query, const EvaluationSubject& subject);

/// The runs that quantities are evaluated for.
struct Runs {
  const inference::Run& run;
  const inference::Run* baseline = nullptr;         ///< for differences; has the shapes of `run` (AlignedRun)
  const inference::Run* baseline_itself = nullptr;  ///< the same run with the shapes of its own text
  std::shared_ptr<HeadNormsCache> norms = nullptr;  ///< shared by the evaluations of several tiles; null: one is made
};
EvaluationSubject subject_of(const Runs& runs);

/// Called before each step of an evaluation with the cells that are asked for so far; throws to cancel.
using EvaluationObserver = std::function<void(std::size_t cells)>;

/// Evaluates several tiles, whose steps are read together: the device is waited for once a step and not once a tile.
/// Throws Error where a query isn't inside its matrix.
Task<std::vector<attention::Tile>> evaluate_together(std::vector<TileQuery> queries, EvaluationSubject subject,
                                                     EvaluationObserver observe);

/// Returns the end of a group of tiles that are evaluated together, one past the queries from `first` on: groups have about
/// as many cells.
std::size_t end_of_group(std::span<const TileQuery> queries, std::size_t first);

BlockShapes shapes_of(const inference::Run& run);

/// Returns the subject whose run is the baseline.
EvaluationSubject baseline_of(const EvaluationSubject& subject);

}  // namespace headlight::app
