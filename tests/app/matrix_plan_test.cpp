// The cells of a matrix that the view Steps shows.
#include <doctest/doctest.h>

#include "app/views/steps/matrix_plan.h"

namespace matrix_plan_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

TEST_SUITE_BEGIN("cpu");

TEST_CASE("matrices show numbers while they fit and a window of cells otherwise") {
  const PlanLimits limits;
  const MatrixPlan small = plan_matrix(Stage::Q, 8, 4, limits);
  CHECK(small.has_numbers);
  CHECK_FALSE(small.is_shortened());
  const MatrixPlan wide = plan_matrix(Stage::X, 8, 512, limits);
  CHECK_FALSE(wide.has_numbers);
  CHECK(wide.shown_columns == 160);
  CHECK(wide.cell.y == small.cell.y);  // tokens stand on one line
  PlanLimits at_slice = limits;
  at_slice.column_in_view = 500;
  CHECK(plan_matrix(Stage::Merged, 8, 512, at_slice).shows(0, 500));
  CHECK_FALSE(plan_matrix(Stage::Q, 30, 4, limits).has_numbers);  // lower than a number
  const MatrixPlan one = plan_matrix(Stage::Weights, 1, 1, limits);
  CHECK(one.shows(0, 0));
}

TEST_CASE("a matrix never leaves its room, and a map without numbers has squares") {
  for (const glm::vec2 room : {glm::vec2(60.0F, 48.0F), glm::vec2(300.0F, 250.0F), glm::vec2(2'000.0F, 1'000.0F)}) {
    for (const std::uint32_t tokens : {1U, 7U, 18U, 400U, 8'000U}) {
      for (const Stage stage : {Stage::X, Stage::Q, Stage::Weights}) {
        PlanLimits limits;
        limits.room = room;
        const MatrixPlan plan = plan_matrix(stage, tokens,
                                            stage == Stage::X   ? 768
                                            : stage == Stage::Q ? 64
                                                                : tokens,
                                            limits);
        CAPTURE(tokens);
        CAPTURE(room.x);
        CHECK(plan.size().x <= room.x);
        CHECK(plan.size().y <= room.y);
        CHECK(plan.shown_rows > 0);
        if (stage == Stage::Weights && !plan.has_numbers) CHECK(plan.cell.x == plan.cell.y);
      }
    }
  }
}

TEST_CASE("a scrolled matrix begins where the user has left it, and never runs past its end") {
  PlanLimits limits;
  limits.first_row = 100;
  limits.row_in_view = 3;  // what is scrolled counts more
  const MatrixPlan scrolled = plan_matrix(Stage::Q, 4096, 8, limits);
  CHECK(scrolled.first_row == 100);
  limits.first_row = 5000;
  const MatrixPlan last = plan_matrix(Stage::Q, 4096, 8, limits);
  CHECK(last.first_row + last.shown_rows == 4096);
}

TEST_SUITE_END();

}  // namespace matrix_plan_test
