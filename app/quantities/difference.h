#pragma once

#include <memory>

#include "app/quantities/evaluation.h"

namespace headlight::app {

/// Evaluation of run − reference, of the base of the query's quantity. Where the base pools by the maximum, both runs'
/// exact cells are compared, and a square shows its difference that is farthest from 0; other stages pool by the mean, and
/// so the difference of both means is the mean difference.
///
/// A cell is masked where it is masked in both runs. Where its query or key has no counterpart in the reference's text
/// (EvaluationSubject::Side::pairs), it is NaN and masked; before the mask those cells alone are masked. Of a cell that
/// only one of them masks, the difference of
/// masked scores has the fill in it and may be infinite. There are no row statistics: row_max and row_sum are empty.
std::unique_ptr<Evaluation> begin_difference(const TileQuery& query, const EvaluationSubject& subject);

/// Evaluation of the base of the query's quantity, of the reference alone.
std::unique_ptr<Evaluation> begin_baseline(const TileQuery& query, const EvaluationSubject& subject);

}  // namespace headlight::app
