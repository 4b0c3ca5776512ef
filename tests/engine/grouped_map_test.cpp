// Maps of words instead of tokens, and without special tokens.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/shapes/quantities/grouped_map.h"
#include "support/golden.h"

namespace grouped_map_test {

using namespace headlight;
using namespace headlight::app;
using nlohmann::json;

namespace {

attention::Tile tile_of(const std::vector<std::vector<float>>& rows) {
  attention::Tile tile;
  tile.request = {.rows = static_cast<std::uint32_t>(rows.size()),
                  .columns = rows.empty() ? 0U : static_cast<std::uint32_t>(rows.front().size())};
  for (const std::vector<float>& row : rows) tile.values.insert(tile.values.end(), row.begin(), row.end());
  return tile;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("words, special tokens and both are grouped as products of matrices have it") {
    for (const json& some : test::golden("grouped_map.json")) {
      std::vector<GroupedToken> tokens;
      for (const json& token : some["tokens"]) tokens.push_back({.begins_word = token[0] == 1, .is_special = token[1] == 1});
      const attention::Tile weights = tile_of(some["weights"].get<std::vector<std::vector<float>>>());
      for (const json& expected : some["grouped"]) {
        CAPTURE(expected["special"].get<std::string>());
        const bool leaves_out = expected["special"] != "shown";
        const TokenGroups groups = group_tokens(tokens, expected["joins_words"].get<bool>(), leaves_out);
        REQUIRE(groups.of_token.size() == tokens.size());
        REQUIRE(groups.count == expected["groups"].size());
        std::vector<std::uint32_t> of_token(tokens.size(), TokenGroups::kLeftOut);
        for (std::uint32_t group = 0; group < groups.count; ++group) {
          for (const json& token : expected["groups"][group]) of_token[token.get<std::size_t>()] = group;
        }
        CHECK(groups.of_token == of_token);
        const GroupedMap map = group_weights(weights, groups, groups, expected["special"] == "renormalized");
        REQUIRE(map.values.size() == std::size_t{groups.count} * groups.count);
        for (std::size_t cell = 0; cell < map.values.size(); ++cell) {
          const double value = expected["values"][cell / groups.count][cell % groups.count].get<double>();
          CHECK(std::abs(double{map.values[cell]} - value) <= 1e-6);  // observed: 6e-8, float32's rounding of weights near 1
        }
      }
    }
  }

  TEST_CASE("rows of words still sum to 1; of hidden tokens only where they are renormalised") {
    const attention::Tile weights = tile_of({{0.25F, 0.5F, 0.25F}, {0.5F, 0.25F, 0.25F}, {0.75F, 0.125F, 0.125F}});
    const std::vector<GroupedToken> tokens = {{true, true}, {true, false}, {false, false}};
    const TokenGroups words = group_tokens(tokens, true, false);
    CHECK(words.of_token == std::vector<std::uint32_t>{0, 1, 1});
    const GroupedMap map = group_weights(weights, words, words, false);
    CHECK(map.values == std::vector<float>{0.25F, 0.75F, 0.625F, 0.375F});
    CHECK(map.largest == 0.75F);
    const TokenGroups without = group_tokens(tokens, true, true);
    CHECK(group_weights(weights, without, without, false).values == std::vector<float>{0.375F});
    CHECK(group_weights(weights, without, without, true).values == std::vector<float>{1.0F});
  }

  TEST_CASE("a cell is masked where all of its cells are; a query without weights counts as zeros; NaN stays NaN") {
    attention::Tile weights = tile_of({{0.0F, 0.0F}, {0.5F, 0.5F}});
    weights.masked = {1, 1, 0, 1};
    const TokenGroups one = group_tokens(std::vector<GroupedToken>{{true, false}, {false, false}}, true, false);
    const TokenGroups two = group_tokens(std::vector<GroupedToken>(2), true, false);
    const GroupedMap map = group_weights(weights, one, two, true);
    CHECK(map.masked == std::vector<std::uint8_t>{0, 1});
    CHECK(map.values == std::vector<float>{0.25F, 0.25F});
    weights.values[3] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(group_weights(weights, one, two, false).values[1]));
    CHECK(std::isnan(group_weights(weights, one, two, true).values[0]));
    CHECK(group_weights(weights, {}, {}, false).values.empty());
  }

  TEST_CASE("marginals are the mean that keys receive and the sum that queries give") {
    const std::vector<float> values = {0.5F, 0.25F, 0.0F, 0.25F, 0.5F, 0.25F};
    const Marginals all = marginals_of(values, 2, 3, 0, 2, false);
    CHECK(all.received == std::vector<float>{0.375F, 0.375F, 0.125F});
    CHECK(all.given == std::vector<float>{0.75F, 1.0F});
    CHECK(marginals_of(values, 2, 3, 1, 2, true).received == std::vector<float>{0.25F, 0.5F, 0.25F});
    CHECK(marginals_of(values, 2, 3, 1, 2, true).given == std::vector<float>{0.25F, 0.5F});
    CHECK(marginals_of({}, 0, 0, 0, 0, true).given.empty());
  }
}

}  // namespace grouped_map_test
