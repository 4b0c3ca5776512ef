#pragma once

#include <memory>

#include "app/quantities/evaluation.h"

namespace headlight::app {

/// Evaluation of the exact mean of several heads' weights, kMeanOfLayer or kMeanOfKind: strips of whole rows come from the
/// device head by head and are added up in double precision on the host; pooling comes
/// last. A head whose row sees no key counts as zeros.
///
/// The tile's row_sum is 1 / the largest mean weight of the whole row, as for one head; row_max is 0. A cell is masked where
/// it is masked in all heads.
std::unique_ptr<Evaluation> begin_head_mean(const TileQuery& query, const EvaluationSubject& subject);

/// Evaluation of kNorms, kNormsOfLayer and kNormsOfKind: of one head or as the mean of several
///   norm(i, j) = |gain| · weight(i, j) · ‖v_j W_O‖
/// with the product of the factors by which interventions scale the head's output; vectors that they add to it belong to no
/// key. Weights and values come from the device, the norms of v_j W_O from HeadNormsCache. Every cell is computed before
/// cells are pooled, so a square shows the largest or the mean of its norms, exactly. There are no row statistics: row_max
/// and row_sum are empty.
std::unique_ptr<Evaluation> begin_norms(const TileQuery& query, const EvaluationSubject& subject);

}  // namespace headlight::app
