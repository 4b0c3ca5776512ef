#include <doctest/doctest.h>

#include "app/engine/tile_cache.h"

namespace tile_cache_test {

using namespace headlight;
using namespace headlight::app;

namespace {

TileQuery query_of(std::uint32_t tokens) {
  return {.quantity = attention::Stage::Weights,
          .block = {.kind = model::BlockKind::EncoderSelf, .layer = {0}},
          .batch = 0,
          .head = 0,
          .row = 0,
          .rows = tokens,
          .column = 0,
          .columns = tokens,
          .pool = 1};
}

attention::Tile tile_of(std::uint32_t tokens) {
  attention::Tile tile;
  tile.request = stage_request(query_of(tokens));
  tile.values.resize(std::size_t{tokens} * tokens);
  return tile;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("requests that were replaced before they were evaluated are forgotten") {
    TileCache cache(std::size_t{1} << 20);
    for (std::uint32_t tokens = 1; tokens <= 1000; ++tokens) {
      const std::vector<TileQuery> queries = {query_of(tokens)};
      CHECK(cache.missing(queries).size() == 1);
    }
    CHECK(cache.requests() == 1);
  }

  TEST_CASE("tiles beyond the budget go, the visible ones stay") {
    constexpr std::size_t kBudget = std::size_t{1} << 20;
    TileCache cache(kBudget);
    for (std::uint32_t tokens = 100; tokens < 200; ++tokens) {
      const std::vector<TileQuery> queries = {query_of(tokens)};
      cache.missing(queries);
      cache.add(query_of(tokens), tile_of(tokens));
      CHECK(cache.bytes() <= kBudget);
      CHECK(cache.missing(queries).empty());
    }
    CHECK(cache.requests() == cache.tiles().size());
    CHECK(cache.tiles().size() > 1);
  }
}

}  // namespace tile_cache_test
