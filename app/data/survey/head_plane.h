#pragma once

#include <utility>
#include <vector>

namespace headlight::app {

/// Computes classical multidimensional scaling into a plane (Torgerson 1952): coordinates whose distances are as near as two
/// axes allow to those of the points, the first axis the longer one, each pointing to where its largest coordinate is above
/// 0. `points`: all with as many numbers. Empty where there are fewer than three points, more than the plane is made of in a
/// few seconds, or no numbers.
std::vector<std::pair<double, double>> head_plane(const std::vector<std::vector<double>>& points);

}  // namespace headlight::app
