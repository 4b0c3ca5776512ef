// Which parts of which matrices a cell is made from.
#include <doctest/doctest.h>

#include "app/cells/cell_sources.h"
#include "app/reference_numbers.h"

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

TEST_SUITE_END();

}  // namespace cell_sources_test
