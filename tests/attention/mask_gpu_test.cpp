// A mask on the device, compared cell by cell.
#include <doctest/doctest.h>

#include <limits>

#include "attention/mask_words.h"
#include "attention/run.h"
#include "support/gpu_tensors.h"
#include "support/random.h"

namespace mask_gpu_test {

using namespace headlight;
using namespace headlight::attention;

namespace {

constexpr std::uint32_t kLayer = 1;

struct Sizes {
  std::uint32_t batch, heads, queries, keys;
};

std::size_t cells_of(const Sizes& sizes) { return std::size_t{sizes.batch} * sizes.heads * sizes.queries * sizes.keys; }

/// A block whose scores are all zero, under this mask.
AttentionRun blank_run(const Sizes& sizes, const MaskSpec& mask, std::span<const std::uint32_t> key_lengths) {
  gpu::Stream stream(test::shared_context());
  BlockRun block;
  block.ref = {.layer = LayerIndex{kLayer}};
  block.config = {.d_model = sizes.heads, .heads = sizes.heads, .d_k = 1, .d_v = 1};
  block.shape = {.batch = sizes.batch,
                 .heads = sizes.heads,
                 .queries = sizes.queries,
                 .keys = sizes.keys,
                 .d_k = 1,
                 .d_v = 1,
                 .kv_heads = sizes.heads};
  const auto zeros = [&](std::uint32_t tokens) {
    return std::make_shared<const ops::DeviceTensor>(stream, sizes.batch, sizes.heads, tokens, 1, "a test");
  };
  block.q = zeros(sizes.queries);
  block.k = zeros(sizes.keys);
  block.v = zeros(sizes.keys);
  block.stats = std::make_shared<const ops::DeviceTensor>(ops::make_stats(stream, sizes.batch, sizes.heads, sizes.queries));
  std::vector<std::uint32_t> key_ranges;
  for (const std::uint32_t length : key_lengths) key_ranges.insert(key_ranges.end(), {0u, length});
  block.mask = std::make_shared<const DeviceMask>(
      upload_mask(stream, mask, {kLayer, sizes.batch, sizes.heads, sizes.queries, sizes.keys}, key_ranges));
  std::move(stream).submit().wait();
  AttentionRun run;
  run.blocks.push_back(std::move(block));
  return run;
}

/// The number of cells of the stage "masked" that differ from MaskSpec.
std::size_t wrong_cells(const Sizes& sizes, const MaskSpec& mask, std::span<const std::uint32_t> key_lengths) {
  const AttentionRun run = blank_run(sizes, mask, key_lengths);
  std::vector<TileRequest> requests;
  for (std::uint32_t map = 0; map < sizes.batch * sizes.heads; ++map) {
    requests.push_back({.block = run.blocks[0].ref,
                        .batch = map / sizes.heads,
                        .head = map % sizes.heads,
                        .stage = Stage::Masked,
                        .rows = sizes.queries,
                        .columns = sizes.keys});
  }
  std::size_t wrong = 0, seen = 0;
  for (const Tile& tile : evaluate(test::shared_kernels(), run, requests)) {
    for (std::uint32_t i = 0; i < sizes.queries; ++i) {
      for (std::uint32_t j = 0; j < sizes.keys; ++j, ++seen) {
        const bool shows =
            mask.is_visible(kLayer, tile.request.batch, tile.request.head, i, j, key_lengths[tile.request.batch]);
        if (tile.is_masked(i, j) == shows || tile.at(i, j) != (shows ? 0.0f : fill_value(mask.fill))) ++wrong;
      }
    }
  }
  return seen == cells_of(sizes) ? wrong : cells_of(sizes);
}

BooleanMask random_matrix(test::Random& random, std::uint32_t batch, std::uint32_t heads, const Sizes& sizes) {
  BooleanMask matrix{.batch = batch, .heads = heads, .queries = sizes.queries, .keys = sizes.keys, .keep = {}};
  for (std::size_t i = 0; i < std::size_t{batch} * heads * sizes.queries * sizes.keys; ++i) {
    matrix.keep.push_back(random.chance(0.6) ? 1 : 0);
  }
  return matrix;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a rule means the same on the device, alone and together with padding") {
    const Sizes sizes{3, 1, 20, 35};
    const std::vector<std::uint32_t> lengths{35, 1, 33};
    for (const char* rule : {"none", "causal", "window:1", "window:5", "window:40", "prefix:1", "prefix:6", "prefix:99",
                             "causal+window:4", "causal+prefix:3", "window:3+prefix:2", "causal+window:4+prefix:3"}) {
      for (const MaskFill fill : {MaskFill::NegativeInfinity, MaskFill::MinusOneBillion, MaskFill::MinusTenBillion}) {
        for (const bool key_padding : {true, false}) {
          MaskSpec mask{.rule = parse_rule(rule).value(), .fill = fill, .matrix = {}, .painted = {}};
          mask.rule.key_padding = key_padding;
          CAPTURE(rule);
          CHECK(wrong_cells(sizes, mask, lengths) == 0);
        }
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a matrix for all, per batch item, per head and for each map") {
    test::Random random(1);
    const Sizes sizes{2, 3, 5, 33};
    const std::vector<std::uint32_t> lengths{33, 20};
    for (const auto& batch_heads : {std::pair{1u, 1u}, {2u, 1u}, {1u, 3u}, {2u, 3u}}) {
      const auto& batch = batch_heads.first;
      const auto& heads = batch_heads.second;
      CAPTURE(batch);
      CAPTURE(heads);
      const MaskSpec mask{.rule = {},
                          .fill = MaskFill::NegativeInfinity,
                          .matrix = random_matrix(random, batch, heads, sizes),
                          .painted = {}};
      CHECK(wrong_cells(sizes, mask, lengths) == 0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "painted cells: narrower scopes win, other layers and cells beyond the text don't matter") {
    const Sizes sizes{2, 2, 6, 40};
    const std::vector<std::uint32_t> lengths{40, 10};
    MaskSpec mask{.rule = parse_rule("causal").value(), .fill = MaskFill::MinusOneBillion, .matrix = {}, .painted = {}};
    mask.painted[{}] = {{{0, 39}, true}, {{5, 0}, false}, {{50, 3}, true}, {{2, 400}, true}};
    mask.painted[{.head = 1}] = {{{5, 0}, true}, {{0, 20}, true}};
    mask.painted[{.batch = 1, .head = 1}] = {{{0, 20}, false}, {{4, 39}, true}};
    mask.painted[{.layer = kLayer, .batch = 0, .head = 0}] = {{{5, 0}, true}, {{5, 1}, false}};
    mask.painted[{.layer = kLayer + 1}] = {{{3, 3}, false}, {{3, 30}, true}};
    CHECK(wrong_cells(sizes, mask, lengths) == 0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "all kinds of masks together, at random") {
    test::Random random(2);
    for (int i = 0; i < 60; ++i) {
      const Sizes sizes{random.between(1, 3), random.between(1, 4), random.between(1, 40), random.between(1, 70)};
      std::vector<std::uint32_t> lengths;
      for (std::uint32_t item = 0; item < sizes.batch; ++item) lengths.push_back(random.between(0, sizes.keys));
      MaskSpec mask{.rule = {.causal = random.chance(0.5),
                             .window = random.chance(0.5) ? random.between(1, 50) : 0,
                             .prefix = random.chance(0.5) ? random.between(1, 50) : 0,
                             .key_padding = random.chance(0.5)},
                    .fill = random.pick({MaskFill::NegativeInfinity, MaskFill::MinusTenBillion}),
                    .matrix = {},
                    .painted = {}};
      if (random.chance(0.5))
        mask.matrix = random_matrix(random, random.pick({1u, sizes.batch}), random.pick({1u, sizes.heads}), sizes);
      for (std::uint32_t cells = random.below(30); cells > 0; --cells) {
        PaintScope scope;
        if (random.chance(0.5)) scope.layer = random.pick({kLayer, kLayer + 1});
        if (random.chance(0.5)) scope.batch = random.below(3);
        if (random.chance(0.5)) scope.head = random.below(4);
        const bool is_visible = random.chance(0.5);
        mask.painted[scope].paint({random.below(45), random.below(75)}, is_visible);
      }
      CAPTURE(i);
      CHECK(wrong_cells(sizes, mask, lengths) == 0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "maps that mask the same cells share one plane") {
    const Sizes sizes{4, 8, 64, 64};
    const std::vector<std::uint32_t> lengths(4, 64);
    const std::size_t plane = 12 + 64 * 8 + 64 * 64 / 8, table = 4 * 8 * 4, head_of_words = 4 * 2 * 4;
    test::Random random(3);
    MaskSpec mask;
    const auto words_bytes = [&] { return blank_run(sizes, mask, lengths).blocks[0].mask->words.size(); };
    CHECK(words_bytes() == head_of_words);
    mask.matrix = random_matrix(random, 1, 1, sizes);
    CHECK(words_bytes() == head_of_words + table + plane);
    mask.painted[{.head = 2}].paint({1, 1}, true);  // an allow plane for head 2 of every item
    CHECK(words_bytes() <= head_of_words + 2 * (table + 2 * plane));
    mask.matrix = random_matrix(random, 4, 8, sizes);
    mask.painted.clear();
    CHECK(words_bytes() == head_of_words + table + 32 * plane);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a painted cell costs bytes, however long the text is") {
    const Sizes sizes{1, 2, 32'768, 32'768};
    MaskSpec mask;
    mask.painted[{.head = 1}].paint({20'000, 31'999}, false);
    const std::vector<std::uint32_t> lengths{32'768};
    const AttentionRun run = blank_run(sizes, mask, lengths);
    CHECK(run.blocks[0].mask->words.size() <= 64);
    for (std::uint32_t head = 0; head < 2; ++head) {
      const TileRequest around{.block = run.blocks[0].ref,
                               .head = head,
                               .stage = Stage::Masked,
                               .row = 19'999,
                               .rows = 3,
                               .column = 31'990,
                               .columns = 20};
      const Tile tile = evaluate(test::shared_kernels(), run, std::span(&around, 1)).front();
      for (std::uint32_t i = 0; i < 3; ++i) {
        for (std::uint32_t j = 0; j < 20; ++j) CHECK(tile.is_masked(i, j) == (head == 1 && i == 1 && j == 9));
      }
    }
    // Two cells in opposite corners: the rows between take eight bytes each, not a word for every 32 keys.
    mask.painted[{.head = 1}].paint({0, 0}, false);
    mask.painted[{.head = 1}].paint({32'767, 32'767}, false);
    CHECK(blank_run(sizes, mask, lengths).blocks[0].mask->words.size() < 32'768 * 8 + 128);
  }
}

}  // namespace mask_gpu_test
