#include "app/data/survey/head_plane.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

namespace headlight::app {
namespace {

constexpr Eigen::Index kMaxEdge = 1'200;  // of the matrix whose eigenvectors are the axes: three seconds

}  // namespace

std::vector<std::pair<double, double>> head_plane(const std::vector<std::vector<double>>& points) {
  const auto count = static_cast<Eigen::Index>(points.size());
  const auto size = points.empty() ? 0 : static_cast<Eigen::Index>(points.front().size());
  if (count < 3 || size == 0 || std::min(count, size) > kMaxEdge) return {};
  Eigen::MatrixXd centred(count, size);
  for (Eigen::Index i = 0; i < count; ++i) {
    centred.row(i) = Eigen::Map<const Eigen::RowVectorXd>(points[static_cast<std::size_t>(i)].data(), size);
  }
  centred.rowwise() -= centred.colwise().mean().eval();
  // The scalar products of centred points are the doubly centred squares of their distances times −½, whose eigenvectors
  // are the axes; the smaller of both products has the same eigenvalues.
  const bool is_by_point = count <= size;
  const Eigen::MatrixXd product =
      is_by_point ? Eigen::MatrixXd(centred * centred.transpose()) : Eigen::MatrixXd(centred.transpose() * centred);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(product);
  std::vector<std::pair<double, double>> plane(points.size());
  for (Eigen::Index axis = 0; axis < std::min<Eigen::Index>(2, product.rows()); ++axis) {
    const Eigen::Index at = product.rows() - 1 - axis;  // eigenvalues ascend
    Eigen::VectorXd along =
        is_by_point ? Eigen::VectorXd(solver.eigenvectors().col(at) * std::sqrt(std::max(solver.eigenvalues()[at], 0.0)))
                    : Eigen::VectorXd(centred * solver.eigenvectors().col(at));
    Eigen::Index farthest = 0;
    along.cwiseAbs().maxCoeff(&farthest);
    if (along[farthest] < 0.0) along = -along;
    for (Eigen::Index i = 0; i < count; ++i) {
      auto& [first, second] = plane[static_cast<std::size_t>(i)];
      (axis == 0 ? first : second) = along[i];
    }
  }
  return plane;
}

}  // namespace headlight::app
