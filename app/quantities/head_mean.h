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
std::unique_ptr<Evaluation> begin_head_mean(const TileQuery& query, const BlockShapes& shapes);

}  // namespace headlight::app
