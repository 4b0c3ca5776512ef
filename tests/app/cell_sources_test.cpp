// The parts of matrices that a cell is made from.
#include <doctest/doctest.h>

#include "app/reference_numbers.h"
#include "app/widgets/cells/cell_sources.h"

namespace cell_sources_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

TEST_SUITE_BEGIN("cpu");

TEST_CASE("sources of a cell are the row and the column that made it") {
  BlockGeometry geometry;
  geometry.shape = {.batch = 1,
                    .heads = 2,
                    .queries = 4,
                    .keys = 7,
                    .d_model = 8,
                    .d_k = 3,
                    .d_v = 5,
                    .d_merged = 10,
                    .d_output = 8,
                    .has_input = true};
  const auto row = [](StepMatrix stage, std::uint32_t index, std::uint32_t columns) {
    return MatrixPart{.stage = stage, .row = index, .rows = 1, .column = 0, .columns = columns};
  };
  CHECK(sources_of(geometry, Stage::Scores, 2, 6) == std::vector{row(Stage::Q, 2, 3), row(Stage::K, 6, 3)});
  CHECK(sources_of(geometry, Stage::Weights, 2, 6) == std::vector{row(Stage::Masked, 2, 7)});
  CHECK(
      sources_of(geometry, Stage::Heads, 3, 4) ==
      std::vector{row(Stage::Weights, 3, 7), MatrixPart{.stage = Stage::V, .row = 0, .rows = 7, .column = 4, .columns = 1}});
  CHECK(sources_of(geometry, Stage::Output, 1, 0) == std::vector{row(Stage::Merged, 1, 10)});
  CHECK(sources_of(geometry, Stage::K, 5, 0) == std::vector{row(Stage::X, 5, 8)});
  CHECK(sources_of(geometry, Stage::Merged, 1, 7).empty());  // of head 1, not of head 0
  geometry.is_self = false;
  CHECK(sources_of(geometry, Stage::K, 5, 0) == std::vector{row(StepMatrix::Other::Memory, 5, 8)});
}

TEST_CASE("a projected cell comes from a row of its input and a column of its weight") {
  BlockGeometry geometry;
  geometry.shape = {.batch = 1, .heads = 2, .queries = 4, .keys = 7, .d_model = 8, .d_k = 3, .d_v = 5, .has_input = true};
  geometry.has_weights = true;
  using Other = StepMatrix::Other;
  const MatrixPart x{.stage = Stage::X, .row = 2, .rows = 1, .column = 0, .columns = 8};
  CHECK(sources_of(geometry, Stage::Q, 2, 1) ==
        std::vector{x, MatrixPart{.stage = Other::QueryWeight, .row = 0, .rows = 8, .column = 1, .columns = 1}});
  geometry.is_rotated = true;  // rotary positions mix the head's columns
  CHECK(sources_of(geometry, Stage::Q, 2, 1).back().columns == 3);
  CHECK(sources_of(geometry, Stage::V, 2, 1).back().columns == 1);
  geometry.is_self = false;
  CHECK(sources_of(geometry, Stage::K, 2, 1).front().stage == StepMatrix(Other::Memory));
}

TEST_CASE("cells of the residual stream and of the feed-forward say what they are made from") {
  BlockGeometry geometry;
  geometry.shape = {.heads = 2, .queries = 4, .keys = 4, .d_model = 8, .d_k = 4, .d_v = 4, .d_merged = 8, .d_output = 8};
  geometry.shape.has_input = geometry.shape.has_residual = geometry.shape.has_feed_forward = true;
  geometry.shape.norms_input = geometry.shape.norms_ffn_sum = geometry.shape.has_gate = true;
  geometry.shape.has_content_position = true;
  geometry.shape.d_ff = 6;
  geometry.has_weights = true;
  using Other = StepMatrix::Other;
  const auto cell = [](StepMatrix of) { return MatrixPart{.stage = of, .row = 2, .column = 3}; };
  const auto row = [](StepMatrix of, std::uint32_t columns) {
    return MatrixPart{.stage = of, .row = 2, .columns = columns};
  };
  const auto column = [](StepMatrix of, std::uint32_t rows) { return MatrixPart{.stage = of, .rows = rows, .column = 3}; };
  const auto sources = [&](Stage stage) { return sources_of(geometry, stage, 2, 3); };
  CHECK(sources(Stage::Residual).empty());
  CHECK(sources(Stage::X) == std::vector{row(Stage::Residual, 8)});
  CHECK(sources(Stage::ContentPosition) == std::vector{row(Stage::Q, 4)});
  CHECK(sources(Stage::Scaled) == std::vector{cell(Stage::Scores), cell(Stage::ContentPosition)});
  CHECK(sources(Stage::Masked) == std::vector{cell(Stage::Scaled)});
  CHECK(sources(Stage::Attended) == std::vector{cell(Stage::Residual), cell(Stage::Output)});
  CHECK(sources(Stage::FfnGate) == std::vector{row(Stage::Attended, 8), column(Other::GateWeight, 8)});
  CHECK(sources(Stage::FfnActive) == std::vector{cell(Stage::FfnGate), cell(Stage::FfnHidden)});
  CHECK(sources(Stage::FfnOutput) == std::vector{row(Stage::FfnActive, 6), column(Other::FfnWeight, 6)});
  CHECK(sources(Stage::FfnSum) == std::vector{cell(Stage::Attended), cell(Stage::FfnOutput)});
  CHECK(sources(Stage::Next) == std::vector{row(Stage::FfnSum, 8)});
  CHECK(sources(Stage::FfnInput).empty());  // which the layer doesn't have
  geometry.shape.d_ff = 0;
  geometry.shape.has_gate = false;
  geometry.shape.experts = 5;
  geometry.shape.is_parallel = geometry.shape.norms_ffn_input = true;
  CHECK(sources(Stage::FfnInput) == std::vector{row(Stage::Residual, 8)});
  CHECK(sources(Stage::FfnRouter) == std::vector{row(Stage::FfnInput, 8), column(Other::RouterWeight, 8)});
  CHECK(sources(Stage::FfnGates) == std::vector{row(Stage::FfnRouter, 5)});
  CHECK(sources(Stage::FfnOutput) == std::vector{row(Stage::FfnInput, 8), row(Stage::FfnGates, 5)});
}

TEST_SUITE_END();

}  // namespace cell_sources_test
