#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "app/reference_runner.h"
#include "app/run_source.h"
#include "panels/arithmetic.h"
#include "panels/cell_sources.h"
#include "panels/mask_reason.h"
#include "panels/matrix_plan.h"
#include "panels/thumbnail_layout.h"
#include "panels/tile_picture.h"

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

TEST_SUITE_BEGIN("cpu");

namespace {

constexpr Stage kAllStages[] = {Stage::X,      Stage::Q,       Stage::K,     Stage::V,      Stage::Scores, Stage::Scaled,
                                Stage::Masked, Stage::Weights, Stage::Heads, Stage::Merged, Stage::Output};

/// One head's numbers straight from the reference.
class ReferenceNumbers final : public NumberSource {
 public:
  ReferenceNumbers(ReferenceRunner& runner, model::BlockRef block, std::uint32_t batch, std::uint32_t head)
      : runner_(runner), block_(block), batch_(batch), head_(head) {}

  Numbers row(Stage stage, std::uint32_t row) override { return numbers(stage, row, 1, 0, extent(stage).columns); }
  Numbers column(Stage stage, std::uint32_t column) override { return numbers(stage, 0, extent(stage).rows, column, 1); }
  std::optional<float> value(Stage stage, std::uint32_t row, std::uint32_t column) override {
    return numbers(stage, row, 1, column, 1)->front();
  }
  std::optional<Softmax> softmax(std::uint32_t row) override {
    const attention::Tile tile = evaluate(Stage::Weights, row, 1, 0, 1);
    return Softmax{.max = tile.row_max.front(), .sum = tile.row_sum.front()};
  }

 private:
  inference::BlockShape::Extent extent(Stage stage) const { return *runner_.shape(block_).extent(stage); }
  attention::Tile evaluate(Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column, std::uint32_t columns) {
    const attention::TileRequest request{.block = block_,
                                         .batch = batch_,
                                         .head = head_,
                                         .stage = stage,
                                         .row = row,
                                         .rows = rows,
                                         .column = column,
                                         .columns = columns,
                                         .pool = 1};
    return std::move(runner_.evaluate(std::vector{request}).front());
  }
  Numbers numbers(Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column, std::uint32_t columns) {
    return evaluate(stage, row, rows, column, columns).values;
  }

  ReferenceRunner& runner_;
  model::BlockRef block_;
  std::uint32_t batch_, head_;
};

/// A state's run on the reference.
struct Run {
  explicit Run(const State& state) {
    source = sources.build(run_inputs(state));
    runner.run(source.network, *source.input, state.masks, {});
    masks = state.masks;
  }

  CellQuestion question(model::BlockRef block, std::uint32_t batch, std::uint32_t head) const {
    CellQuestion asked;
    asked.layer = &source.network->layer(block);
    asked.geometry = {.shape = runner.shape(block),
                      .merge = asked.layer->config.merge,
                      .is_self = block.kind != model::BlockKind::Cross,
                      .head = head};
    asked.kind = block.kind;
    asked.fill = masks[block.kind].fill;
    asked.mask_reason = {};
    static_cast<void>(batch);
    return asked;
  }

  RunSource sources;
  RunSource::Source source;
  ReferenceRunner runner;
  attention::MaskSet masks;
};

/// Largest difference between what a cell shows and what its written-out terms add up to, over every cell of a stage.
double largest_error(Run& run, model::BlockRef block, std::uint32_t batch, std::uint32_t head, Stage stage) {
  CellQuestion question = run.question(block, batch, head);
  const auto extent = question.geometry.shape.extent(stage);
  if (!extent) return 0.0;
  ReferenceNumbers numbers(run.runner, block, batch, head);
  double largest = 0.0;
  question.stage = stage;
  for (question.row = 0; question.row < extent->rows; ++question.row) {
    for (question.column = 0; question.column < extent->columns; ++question.column) {
      const Arithmetic arithmetic = explain_cell(question, numbers);
      REQUIRE(arithmetic.result);
      if (arithmetic.terms.empty()) continue;
      double sum = static_cast<double>(arithmetic.constant);
      for (const Product& term : arithmetic.terms) sum += term.value();
      largest = std::max(largest, std::abs(sum - static_cast<double>(*arithmetic.result)));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("a model's sums give its numbers too: heads that share keys, turned and normed queries") {
  for (const char* name : {"llama", "qwen3", "gpt2", "gemma2", "t5"}) {
    CAPTURE(name);
    State state;
    state.model.path = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name;
    state.model.ids = {{5, 7, 9, 11}};
    Run run(state);
    const model::BlockRef block = run.source.network->blocks().front();
    const std::uint32_t last = run.source.network->layer(block).config.heads - 1;
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Scores, Stage::Heads, Stage::Output}) {
      CAPTURE(attention::to_string(stage));
      CHECK(largest_error(run, block, 0, last, stage) < 1e-5);
    }
    CellQuestion question = run.question(block, 0, last);
    ReferenceNumbers numbers(run.runner, block, 0, last);
    question.stage = Stage::Q;
    const bool is_turned = question.layer->config.rotary.has_value();
    CHECK(explain_cell(question, numbers).terms.empty() == is_turned);
    question.stage = Stage::Scaled;
    const Arithmetic scaled = explain_cell(question, numbers);
    CHECK((scaled.formula.find("tanh") != std::string::npos) == (question.layer->config.softcap > 0.0F));
    CHECK((scaled.formula.find("bias") != std::string::npos) == question.layer->config.position_bias.has_value());
  }
}

TEST_CASE("written-out sums give the number on screen, in every stage that is a sum") {
  State state;
  state.text = "one two three\nfour five";
  state.playground.d_model = 12;
  state.playground.heads = 3;
  state.playground.d_k = 5;
  state.playground.d_v = 2;
  for (const model::MergeOrder merge : {model::MergeOrder::Concatenate, model::MergeOrder::WithoutTranspose}) {
    state.playground.merge = merge;
    Run run(state);
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Scores, Stage::Heads, Stage::Output}) {
      CAPTURE(attention::to_string(stage));
      const model::BlockRef block{.kind = model::BlockKind::EncoderSelf, .layer = LayerIndex{1}};
      CHECK(largest_error(run, block, 1, 2, stage) < 2e-6);  // seen: 6.3e-8, float32 of the reference's doubles
    }
  }
}

TEST_CASE("a merged cell is the cell that it says it copies, in both orders") {
  State state;
  state.text = "one two three four five";
  state.playground.d_model = 12;
  state.playground.heads = 3;
  state.playground.d_v = 2;
  const model::BlockRef block;
  for (const model::MergeOrder merge : {model::MergeOrder::Concatenate, model::MergeOrder::WithoutTranspose}) {
    state.playground.merge = merge;
    Run run(state);
    const BlockGeometry geometry = run.question(block, 0, 0).geometry;
    std::uint32_t in_slices = 0;
    for (std::uint32_t row = 0; row < 5; ++row) {
      for (std::uint32_t column = 0; column < 6; ++column) {
        const MergedOrigin origin = origin_of_merged(geometry, row, column);
        ReferenceNumbers numbers(run.runner, block, 0, origin.head);
        CHECK(*numbers.value(Stage::Merged, row, column) == *numbers.value(Stage::Heads, origin.token, origin.dimension));
        BlockGeometry of_head = geometry;
        of_head.head = origin.head;
        for (const MatrixPart& part : head_slices(of_head)) {
          const bool is_inside =
              row >= part.row && row < part.row + part.rows && column >= part.column && column < part.column + part.columns;
          in_slices += is_inside ? 1 : 0;
        }
      }
    }
    CHECK(in_slices == 30);  // each cell in exactly one rectangle of its head's slices
  }
}

TEST_CASE("a head's slice without transpose runs through the rows") {
  BlockGeometry geometry;
  geometry.merge = model::MergeOrder::WithoutTranspose;
  geometry.shape = {.batch = 1, .heads = 3, .queries = 5, .keys = 5, .d_v = 2, .d_merged = 6};
  geometry.head = 1;  // elements 10 … 19 of rows of six
  const std::vector<MatrixPart> expected = {{.stage = Stage::Merged, .row = 1, .rows = 1, .column = 4, .columns = 2},
                                            {.stage = Stage::Merged, .row = 2, .rows = 1, .column = 0, .columns = 6},
                                            {.stage = Stage::Merged, .row = 3, .rows = 1, .column = 0, .columns = 2}};
  CHECK(head_slices(geometry) == expected);
}

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
  const auto row = [](Stage stage, std::uint32_t index, std::uint32_t columns) {
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
  CHECK(sources_of(geometry, Stage::K, 5, 0).empty());
}

TEST_CASE("sums are written with their largest terms first and say what they leave out") {
  const std::vector<Product> terms = {{0.5F, 2.0F}, {-0.25F, 4.0F}, {3.0F, -1.0F}};
  CHECK(write_sum(terms, std::nullopt, 8) == "0.500·2.000 + (−0.250)·4.000 + 3.000·(−1.000)");
  CHECK(write_sum(terms, -0.125F, 8) == "0.500·2.000 + (−0.250)·4.000 + 3.000·(−1.000) − 0.125");
  CHECK(write_sum(terms, std::nullopt, 1) == "3.000·(−1.000) + … 2 more terms");
  CHECK(write_sum({}, std::nullopt, 8) == "0");
}

TEST_CASE("weights, scale and masks are written out with their real numbers") {
  State state;
  state.text = "one two three";
  state.playground.d_model = 4;
  state.playground.heads = 1;
  state.playground.layers = 1;
  state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
  state.masks[model::BlockKind::EncoderSelf].painted[{}][{.query = 0, .key = 0}] = false;
  Run run(state);
  const model::BlockRef block;
  ReferenceNumbers numbers(run.runner, block, 0, 0);
  const auto explain = [&](Stage stage, std::uint32_t row, std::uint32_t column) {
    CellQuestion question = run.question(block, 0, 0);
    question.stage = stage;
    question.row = row;
    question.column = column;
    question.mask_reason = mask_reason(state.masks[block.kind], {.cell = {.query = row, .key = column}, .keys = 3});
    return explain_cell(question, numbers);
  };
  const Arithmetic scaled = explain(Stage::Scaled, 1, 0);
  const float score = *numbers.value(Stage::Scores, 1, 0);
  CHECK(scaled.numbers == write_number(static_cast<double>(score)) + " / √4");
  CHECK(*scaled.result == doctest::Approx(score / 2.0F));
  CHECK(explain(Stage::Masked, 1, 2).note == "Masked by causal rule: the score becomes −∞.");
  CHECK(explain(Stage::Masked, 0, 0).note == "Masked by paint: the score becomes −∞.");
  CHECK(explain(Stage::Weights, 0, 0).note == "Query 0 sees no key, so its row has no weights; they are shown as 0.");
  const Arithmetic weight = explain(Stage::Weights, 1, 2);
  CHECK(weight.numbers.starts_with("exp(−∞ "));
  CHECK(*weight.result == 0.0F);
}

TEST_CASE("every stage of every preset can be explained") {
  for (const char* preset : {"notebook-000", "notebook-001", "notebook-002", "notebook-003", "notebook-004"}) {
    CAPTURE(preset);
    State state;
    select_preset(state, preset);
    Run run(state);
    for (const model::BlockRef block : run.runner.blocks()) {
      for (const Stage stage : kAllStages) {
        CAPTURE(attention::to_string(stage));
        CHECK(largest_error(run, block, 0, 0, stage) < 2e-5);  // seen: 1.6e-6, with 002's inputs scaled by √d_model
      }
    }
  }
}

TEST_CASE("a mask's reasons are named") {
  attention::MaskSpec mask;
  const auto reason = [&](std::uint32_t query, std::uint32_t key) {
    return mask_reason(mask, {.cell = {.query = query, .key = key}, .keys = 5});
  };
  CHECK(reason(0, 4).empty());
  CHECK(reason(0, 5) == "padding");
  mask.rule.causal = true;
  CHECK(reason(0, 5) == "causal rule and padding");
  mask.rule.window = 2;
  CHECK(reason(4, 1) == "window of 2");
  mask.rule.prefix = 2;
  CHECK(reason(4, 1).empty());
  mask.rule = {.prefix = 1};
  CHECK(reason(1, 3) == "prefix of 1");
  CHECK(mask_summary(mask, false) == "prefix 1");
  mask.painted[{}][{.query = 1, .key = 3}] = true;
  CHECK(reason(1, 3).empty());
  CHECK(mask_summary(mask, true) == "prefix 1, padding, paint");
  CHECK(mask_summary({}, false).empty());
}

TEST_CASE("matrices show numbers while they fit and a window of cells otherwise") {
  const PlanLimits limits;
  const MatrixPlan small = plan_matrix(Stage::Q, 8, 4, limits);
  CHECK(small.has_numbers);
  CHECK_FALSE(small.is_shortened());
  const MatrixPlan wide = plan_matrix(Stage::X, 8, 512, limits);
  CHECK_FALSE(wide.has_numbers);
  CHECK(wide.shown_columns == 64);
  CHECK(wide.cell_height == small.cell_height);  // tokens stand on one line
  PlanLimits at_slice = limits;
  at_slice.column_in_view = 500;
  CHECK(plan_matrix(Stage::Merged, 8, 512, at_slice).shows(0, 500));
  const MatrixPlan tall = plan_matrix(Stage::Q, 4096, 64, limits);
  CHECK(tall.shown_rows * 4 <= 256);
  const MatrixPlan one = plan_matrix(Stage::Weights, 1, 1, limits);
  CHECK(one.shows(0, 0));
}

TEST_CASE("thumbnails wrap, fill the width and only visible lines count") {
  const ThumbnailLayout layout(
      {.groups = 48, .per_group = 64, .width = 320.0F, .height = 800.0F, .gutter = 24.0F, .aspect = 1.0F, .caption = 16.0F});
  CHECK(layout.per_line() < 64);
  CHECK(layout.box(0, layout.per_line() - 1).x + layout.map_width() <= 320.0F);
  CHECK(layout.box(0, layout.per_line()).x == layout.box(0, 0).x);
  CHECK(layout.box(47, 63).y + layout.map_height() <= layout.height());
  const ThumbnailLayout::Lines lines = layout.visible_lines(1000.0F, 1300.0F);
  for (std::uint32_t line = 0; line < 48 * layout.lines_per_group(); ++line) {
    const float y = layout.box(line / layout.lines_per_group(), line % layout.lines_per_group() * layout.per_line()).y;
    const bool is_visible = y < 1300.0F && y + layout.map_height() >= 1000.0F;
    CHECK(is_visible == (line >= lines.first && line < lines.end));
  }
}

TEST_CASE("a large model's heads shrink only as far as it takes to see them all") {
  const ThumbnailLayout::Request request{
      .groups = 12, .per_group = 12, .width = 280.0F, .height = 800.0F, .gutter = 24.0F, .aspect = 1.0F, .caption = 16.0F};
  const ThumbnailLayout all(request);
  CHECK_FALSE(all.has_captions());
  CHECK(all.height() <= 800.0F);
  CHECK(all.caption() == 0.0F);
  CHECK(all.box(0, all.per_line() - 1).x + all.map_width() <= 280.0F);
  ThumbnailLayout::Request shallow = request;
  shallow.groups = 6;
  const ThumbnailLayout larger(shallow);
  CHECK(larger.height() <= 800.0F);
  CHECK(larger.map_width() > all.map_width());
  ThumbnailLayout::Request roomy = request;
  roomy.width = 900.0F;
  roomy.height = 1200.0F;
  CHECK(ThumbnailLayout(roomy).has_captions());
  // 48 × 64 heads don't fit; they stay large enough to be told apart, and scroll.
  ThumbnailLayout::Request most = request;
  most.groups = 48;
  most.per_group = 64;
  const ThumbnailLayout scrolled(most);
  CHECK_FALSE(scrolled.has_captions());
  CHECK(scrolled.height() > 800.0F);
  CHECK(scrolled.map_width() >= 14.0F);
  const ThumbnailLayout::Lines lines = scrolled.visible_lines(0.0F, 800.0F);
  CHECK(lines.first == 0);
  CHECK((lines.end - lines.first) * scrolled.per_line() < 900);
}

TEST_CASE("72 heads use the panel's height and have captions; a larger panel has larger ones") {
  const ThumbnailLayout::Request request{
      .groups = 6, .per_group = 12, .width = 268.0F, .height = 850.0F, .gutter = 26.0F, .aspect = 1.0F, .caption = 17.0F};
  const ThumbnailLayout usual(request);
  CHECK(usual.has_captions());
  CHECK(usual.map_width() >= 35.0F);
  CHECK(usual.height() >= 0.75F * 850.0F);
  CHECK(usual.height() <= 850.0F);
  ThumbnailLayout::Request large = request;
  large.width = 690.0F;
  large.height = 1300.0F;
  const ThumbnailLayout grown(large);
  CHECK(grown.map_width() >= 70.0F);
  CHECK(grown.height() >= 0.75F * 1300.0F);
  ThumbnailLayout::Request few = large;
  few.groups = 2;
  few.per_group = 4;
  CHECK(ThumbnailLayout(few).map_width() > 128.0F);
}

TEST_CASE("pooled rows are normalised by their largest weight, and empty rows don't count") {
  attention::Tile tile;
  tile.request.stage = Stage::Weights;
  tile.request.rows = 5;
  tile.request.columns = 4;
  tile.request.pool = 2;
  tile.row_sum = {2.0F, 4.0F, 0.0F, 8.0F, 0.0F};
  CHECK(row_normalizers(tile) == std::vector{2.0F, 8.0F, 0.0F});
  CHECK(largest_weight(tile) == 0.5F);
  CHECK(concentration(tile, 5, ~0U) == doctest::Approx((0.5 + 0.25 + 0.125) / 3.0));
  CHECK(concentration(tile, 1, ~0U) == 0.5F);
  tile.row_sum = {0.0F};
  CHECK(largest_weight(tile) == 0.0F);
}

TEST_CASE("the sharpest tile of the newest run that covers a region stands in for it") {
  EngineResult result;
  const auto add = [&](std::uint32_t column, std::uint32_t columns, std::uint32_t pool, std::uint64_t run) {
    attention::TileRequest request{.row = 0, .rows = 8, .column = column, .columns = columns, .pool = pool};
    auto tile = std::make_shared<attention::Tile>();
    tile->request = request;
    result.tiles[request] = {.tile = tile, .run = run};
  };
  add(0, 8, 4, 1);
  add(0, 4, 1, 1);
  const attention::TileRequest left{.row = 2, .rows = 2, .column = 1, .columns = 2, .pool = 1};
  const attention::TileRequest right{.row = 2, .rows = 2, .column = 3, .columns = 3, .pool = 1};
  CHECK(find_covering_tile(result, left).tile->request.pool == 1);
  CHECK(find_covering_tile(result, right).tile->request.pool == 4);
  attention::TileRequest other_head = left;
  other_head.head = 1;
  CHECK(find_covering_tile(result, other_head).tile == nullptr);
}

TEST_SUITE_END();
