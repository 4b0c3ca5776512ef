#include "attention/stage.h"

#include <doctest/doctest.h>

namespace stage_test {

using namespace headlight;
using namespace headlight::attention;

TEST_SUITE("cpu") {
  TEST_CASE("every stage has a name that is read back") {
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      REQUIRE(parse_stage(to_string(stage)).has_value());
      CHECK(parse_stage(to_string(stage)).value() == stage);
    }
    CHECK(to_string(Stage::X) == "x");
    CHECK(to_string(Stage::Weights) == "weights");
    CHECK(to_string(Stage::Output) == "output");
    CHECK(parse_stage("wieghts").error() ==
          "unknown stage 'wieghts': choose from residual, x, q, k, v, scores, scaled, masked, weights, heads, merged, "
          "output, attention_sum, attended, ffn_input, ffn_gate, ffn_hidden, ffn_active, ffn_output, ffn_sum, next");
  }

  TEST_CASE("maps are the four between query and key") {
    CHECK_FALSE(is_map(Stage::V));
    CHECK(is_map(Stage::Scores));
    CHECK(is_map(Stage::Weights));
    CHECK_FALSE(is_map(Stage::Heads));
    CHECK(is_per_head(Stage::Heads));
    CHECK_FALSE(is_per_head(Stage::X));
    CHECK_FALSE(is_per_head(Stage::Output));
  }

  TEST_CASE("a pooled tile covers the last, smaller square too") {
    const TileRequest request{.block = {}, .rows = 10, .columns = 9, .pool = 4};
    CHECK(request.tile_rows() == 3);
    CHECK(request.tile_columns() == 3);
    const TileRequest wide{.stage = Stage::Q, .rows = 10, .columns = 9, .pool = 4, .pooled_columns = 1};
    CHECK(wide.tile_rows() == 3);
    CHECK(wide.tile_columns() == 9);
  }
}

}  // namespace stage_test
