#pragma once

#include "app/frame.h"

namespace headlight::app {

// Views whose numbers come from an analysis show it of the baseline as well, and what it changed by since.

/// Do maps of this quantity show the present run minus the baseline? Of a capture and a network's run those of weights and
/// of their means do.
bool shows_difference_of(const Frame& frame, QuantityId shown);
/// The same of the quantity that the view Head shows.
bool head_map_shows_difference(const Frame& frame);

/// The same question about the baseline. Null: views show no differences, or it isn't answered yet.
const Analysed* ask_of_baseline(Frame& frame, AnalysisQuery query);
/// Of a question that names tokens: an error where the two texts have different numbers of them.
const Analysed* ask_of_same_tokens(Frame& frame, const AnalysisQuery& query);
/// Of a question whose `query` is a token of the last stack: about its counterpart. An error where there is none.
const Analysed* ask_of_counterpart(Frame& frame, AnalysisQuery query);

/// The baseline's answer where both are whole, so that it can be subtracted, or where it is an error; else null.
const Analysed* subtractable(const Analysed* now, const Analysed* baseline);

/// One line where there is a baseline and differences are shown: what the numbers are, that the baseline's aren't known yet,
/// or why the two can't be compared. `of`: what changed, such as "each part of the logit"; marked "<view>.compared".
void draw_comparison(Frame& frame, const std::string& view, const std::string& of, const Analysed* baseline);

/// "+0.500 (now +1.200, baseline +0.700)"; without a number of the baseline "+1.200".
std::string change_text(double now, std::optional<double> baseline);

/// Adds the baseline's number, and the difference, to what is told about the present one.
void add_baseline(NumberRef& number, double now, std::optional<double> baseline);

}  // namespace headlight::app
