#include "attention/stage.h"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

namespace stage_test {

using namespace headlight;
using namespace headlight::attention;

TEST_SUITE("cpu") {
  TEST_CASE("every stage has a name of its own") {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kStages; ++i) names.insert(to_string(static_cast<Stage>(i)));
    CHECK(names.size() == kStages);
    CHECK(!names.contains(""));
    CHECK(to_string(Stage::X) == "x");
    CHECK(to_string(Stage::Weights) == "weights");
    CHECK(to_string(Stage::Output) == "output");
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
