// Largest flows whose values are known.
#include <doctest/doctest.h>

#include <limits>

#include "attribution/dense_flow.h"
#include "attribution/rollout.h"

namespace largest_flow_test {

using namespace headlight::attribution;
using headlight::test::largest_flow;

TEST_SUITE("cpu") {
  TEST_CASE("two layers: the flow is what the narrowest cut lets through, and edges say what they carry") {
    // Token 1 reads 0.5 of each; below, token 1 reads all of token 1, token 0 all of itself.
    const std::vector<std::vector<double>> capacities{{1.0, 0.0, 0.25, 0.75}, {1.0, 0.0, 0.5, 0.5}};
    const TokenFlow to_first = largest_flow(capacities, 1, 0, 0.01);
    CHECK(to_first.value == doctest::Approx(0.75));  // 0.5 straight and 0.25 of the 0.5 that stays at token 1
    double into_first = 0.0;
    for (const FlowEdge& edge : to_first.edges) into_first += edge.layer == 0 && edge.from == 0 ? edge.share : 0.0;
    CHECK(into_first == doctest::Approx(0.75));
    CHECK(largest_flow(capacities, 1, 1, 0.01).value == doctest::Approx(0.5));
    CHECK(largest_flow(capacities, 0, 1, 0.01).value == 0.0);
    CHECK(largest_flow(capacities, 0, 1, 0.01).edges.empty());
  }

  TEST_CASE("a path that was taken first is given back where a larger flow needs it") {
    // The flow from token 2 goes all through token 0 or 1; the second layer's capacities force the flow apart.
    const std::vector<std::vector<double>> capacities{{0.3, 0.0, 0.0, 0.3, 0.7, 0.0, 0.0, 0.0, 1.0},
                                                      {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.4, 0.1}};
    CHECK(largest_flow(capacities, 2, 0, 0.0).value == doctest::Approx(0.6));
    CHECK(largest_flow(capacities, 2, 1, 0.0).value == doctest::Approx(0.4));
    CHECK(largest_flow(capacities, 2, 2, 0.0).value == doctest::Approx(0.1));
  }

  TEST_CASE("a capacity that is no number is none") {
    const std::vector<std::vector<double>> capacities{{1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), 0.75}};
    CHECK(largest_flow(capacities, 1, 0, 0.01).value == 0.0);
    CHECK(largest_flow(capacities, 1, 1, 0.01).value == doctest::Approx(0.75));
  }

  TEST_CASE("rollout's step keeps the mass and lists edges from the least share on") {
    std::vector<double> below(3);
    std::vector<FlowEdge> edges;
    const double weights[] = {0.25, 0.75, 0.0};
    roll_down(0.8, 4, 1, weights, 0.5, 0.2, below, edges);
    CHECK(below[0] == doctest::Approx(0.1));
    CHECK(below[1] == doctest::Approx(0.7));
    CHECK(below[2] == 0.0);
    REQUIRE(edges.size() == 2);
    CHECK(edges[0].from == 1);
    CHECK(edges[0].share == doctest::Approx(0.3));
    CHECK_FALSE(edges[0].is_residual);
    CHECK(edges[1].is_residual);
    CHECK(edges[1].share == doctest::Approx(0.4));
    CHECK(edges[1].layer == 4);
  }
}

}  // namespace largest_flow_test
