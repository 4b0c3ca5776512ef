// The size of painting and documents in the mask's words, and that every cell is found there.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "attention/paint_words.h"
#include "ops/host_mask.h"
#include "support/error_message.h"
#include "support/random.h"

namespace paint_words_test {

using namespace headlight;
using namespace headlight::attention;

namespace {

/// Words at the place of a mask's fields (shaders/lib/expression.glsl), behind the table that append_paint() gave.
struct Packed {
  std::vector<std::uint32_t> words{0, 0};  // one item's key range, which isn't read
  ops::MaskParameters parameters = {};
};

Packed pack(const MaskSpec& mask, const MaskExtent& extent) {
  constexpr std::uint32_t kQueries = 3, kPaintTable = 11, kDocuments = 12;
  Packed packed;
  const std::uint32_t paint = append_paint(packed.words, mask, extent);
  const std::uint32_t documents = append_documents(packed.words, mask, extent);
  packed.parameters.expressions_at = static_cast<std::uint32_t>(packed.words.size());
  packed.words.resize(packed.words.size() + kDocuments + 1, 0);
  packed.words[packed.parameters.expressions_at + kQueries] = extent.queries;
  packed.words[packed.parameters.expressions_at + kPaintTable] = paint;
  packed.words[packed.parameters.expressions_at + kDocuments] = documents;
  return packed;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every painted bias is found, and no other cell has one") {
    test::Random random(31);
    for (const std::uint32_t cells : {1u, 2u, 3u, 10u, 100u, 2'000u}) {
      CAPTURE(cells);
      const MaskExtent extent{.layer = 0, .batch = 1, .heads = 2, .queries = 300, .keys = 320};
      MaskSpec mask;
      std::vector<Painted<float>> painted;
      for (std::uint32_t i = 0; i < cells; ++i) {
        painted.emplace_back(Cell{random.below(300), random.below(320)}, random.number(4.0f) + 5.0f);
      }
      mask.biases[{.head = 1}] = NumberRuns(std::move(painted));
      const Packed packed = pack(mask, extent);
      const ops::HostMask with(packed.parameters, packed.words.data(), 0, 1, 2, 320);
      const ops::HostMask without(packed.parameters, packed.words.data(), 0, 0, 2, 320);
      CHECK(with.has_paint());
      CHECK_FALSE(without.has_paint());
      std::size_t wrong = 0;
      for (std::uint32_t query = 0; query < 300; ++query) {
        for (std::uint32_t first = 0; first < 320; first += 64) {
          std::vector<float> scores(64, 0.5f);
          with.add_paint(query, first, scores.data());
          for (std::uint32_t i = 0; i < 64; ++i) {
            if (scores[i] != 0.5f + mask.bias(0, 0, 1, {query, first + i})) ++wrong;
          }
        }
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("filled squares on the diagonal and rectangles beside it take 27 bytes a cell, and every cell is found") {
    struct Area {
      std::uint32_t query, key, rows, columns;
    };
    for (const Area area : {Area{0, 0, 64, 64}, Area{10, 10, 200, 200}, Area{0, 100, 256, 100}, Area{255, 0, 1, 256}}) {
      CAPTURE(area.rows);
      const MaskExtent extent{.layer = 0, .batch = 1, .heads = 1, .queries = 256, .keys = 256};
      MaskSpec mask;
      std::vector<Painted<float>> painted;
      for (std::uint32_t query = area.query; query < area.query + area.rows; ++query) {
        for (std::uint32_t key = area.key; key < area.key + area.columns; ++key)
          painted.emplace_back(Cell{query, key}, 1.0f + static_cast<float>(query * 256 + key));
      }
      const std::size_t cells = painted.size();
      mask.biases[{}] = NumberRuns(std::move(painted));
      const Packed packed = pack(mask, extent);
      CHECK(static_cast<double>(packed.words.size() * sizeof(std::uint32_t)) <= 27.5 * static_cast<double>(cells) + 300.0);
      const ops::HostMask device(packed.parameters, packed.words.data(), 0, 0, 1, 256);
      std::size_t wrong = 0;
      for (std::uint32_t query = 0; query < 256; ++query) {
        std::vector<float> scores(256, 0.0f);
        for (std::uint32_t first = 0; first < 256; first += 64) device.add_paint(query, first, scores.data() + first);
        for (std::uint32_t key = 0; key < 256; ++key) {
          if (scores[key] != mask.bias(0, 0, 0, {query, key})) ++wrong;
        }
      }
      CHECK(wrong == 0);
    }
  }

  TEST_CASE("paints that ask for gigabytes are refused in words, before the memory is taken") {
    // 2 million cells everywhere, and one more in each head: 32 tables of 54 MB each.
    const MaskExtent extent{.layer = 0, .batch = 1, .heads = 32, .queries = 4'096, .keys = 4'096};
    MaskSpec mask;
    std::vector<Painted<float>> all;
    for (std::uint32_t query = 0; query < 512; ++query) {
      for (std::uint32_t key = 0; key < 4'096; ++key) all.emplace_back(Cell{query, key}, 1.0f);
    }
    mask.biases[{}] = NumberRuns(std::move(all));
    for (std::uint32_t head = 0; head < 32; ++head) mask.biases[{.head = head}].paint({4'000, head}, 2.0f);
    std::vector<std::uint32_t> words;
    CHECK(test::error_message([&] { static_cast<void>(append_paint(words, mask, extent)); }) ==
          "the mask's cells take more than 512 MiB for one layer; use fewer different masks or a shorter text");
    CHECK(words.empty());  // no table was built for it
    CHECK_NOTHROW(check_mask_words(kMaxMaskBytes / sizeof(std::uint32_t)));
  }

  TEST_CASE("at 32,768 tokens paint costs bytes for each painted cell, and documents for each token") {
    constexpr std::uint32_t kTokens = 32'768;
    const MaskExtent extent{.layer = 0, .batch = 1, .heads = 12, .queries = kTokens, .keys = kTokens};
    const auto bytes = [&](const MaskSpec& mask) { return pack(mask, extent).words.size() * sizeof(std::uint32_t); };
    MaskSpec one;
    one.biases[{}].paint({30'000, 17}, 1.0f);
    CHECK(bytes(one) < 300);  // observed 176
    MaskSpec column, corners;
    std::vector<Painted<float>> cells, ends;
    for (std::uint32_t query = 0; query < kTokens; ++query) {
      cells.emplace_back(Cell{query, 5}, -2.0f);
      ends.emplace_back(Cell{query, 0}, 1.0f);  // as far apart as can be
      ends.emplace_back(Cell{query, kTokens - 1}, 1.0f);
    }
    column.biases[{}] = NumberRuns(std::move(cells));
    corners.biases[{}] = NumberRuns(std::move(ends));
    CHECK(bytes(column) < std::size_t{kTokens} * 30);       // observed 27.3 a cell
    CHECK(bytes(corners) < std::size_t{kTokens} * 2 * 30);  // observed 27.1 a cell
    MaskSpec documents;
    set_documents(documents, 0, {100, 20'000});
    CHECK(bytes(documents) < kTokens * 8 + 200);
    CHECK(bytes({}) < 200);
  }

  TEST_CASE("a painted pattern leaves rows without paint alone") {
    const std::vector<std::optional<ReplacementPattern>> patterns{
        std::nullopt, ReplacementPattern{FixedPattern::Painted, NumberRuns{{{2, 0}, 0.5f}, {{2, 3}, 1.0f}, {{4, 1}, 0.0f}}}};
    const MaskExtent extent{.layer = 0, .batch = 1, .heads = 2, .queries = 6, .keys = 6, .layers = 1, .patterns = patterns};
    const Packed packed = pack({}, extent);
    const ops::HostMask map(packed.parameters, packed.words.data(), 0, 1, 2, 6);
    std::vector<float> scores(64, 7.0f);
    map.add_paint(1, 0, scores.data());
    CHECK(scores[0] == 7.0f);
    map.add_paint(2, 0, scores.data());
    CHECK(scores[0] == std::log(0.5f));
    CHECK(scores[3] == 0.0f);
    CHECK(shows(*patterns[1], 2, 3, 6));
    CHECK_FALSE(shows(*patterns[1], 2, 1, 6));
    CHECK_FALSE(shows(*patterns[1], 4, 1, 6));
    CHECK(shows(*patterns[1], 5, 1, 6));
    CHECK(score_of(*patterns[1], {2, 0}, 9.0) == std::log(0.5));
    CHECK(score_of(*patterns[1], {3, 0}, 9.0) == 9.0);
  }
}

}  // namespace paint_words_test
