// The block view's parts that need no window: the flow of each family, its layout, the walk, and the residual stream.
#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "app/analyses/block_states.h"
#include "app/reference_numbers.h"
#include "app/views/block/block_arithmetic.h"
#include "app/views/block/block_layout.h"
#include "app/views/block/block_plan.h"
#include "app/views/block/block_walk.h"
#include "app/views/block/residual_chart.h"
#include "core/error.h"
#include "model/reference_layers.h"
#include "support/deviation.h"

namespace block_test {

using namespace headlight;
using namespace headlight::app;
using model::BlockKind;

namespace {

State golden_state(const std::string& model) {
  State state;
  change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model);
  state.model().ids = {{5, 7, 9, 11, 3}};
  state.model().target_ids = {{2, 6, 4}};
  return state;
}

BlockPlan plan_of(const ReferenceScene& scene, model::BlockRef block) {
  return plan_block(block, &scene.source.network->layer(block), scene.run->shape(block));
}

std::vector<std::string> ids_of(const BlockPlan& plan) {
  std::vector<std::string> ids;
  for (const BlockNode& node : plan.nodes) ids.emplace_back(node.id);
  return ids;
}

/// What the analysis finds in a run, asked as the engine asks.
std::shared_ptr<const BlockStates> find_states(const ReferenceScene& scene, model::BlockRef block) {
  AnalysisSubject subject;
  subject.network = scene.source.network;
  subject.input = scene.source.input;
  for (const model::BlockRef each : scene.run->blocks()) subject.shapes[each] = scene.run->shape(each);
  const std::unique_ptr<AnalysisTask> task = kBlockStates.begin({.analysis = &kBlockStates, .block = block}, subject);
  while (!task->is_done()) {
    const AnalysisTask::Reads reads = task->next(1);
    std::vector<attention::Tile> tiles = scene.run->evaluate(reads.tiles);
    const std::vector<Tensor> residuals = scene.run->residuals(reads.residuals);
    task->take({.tiles = tiles, .logits = {}, .residuals = residuals});
  }
  return std::dynamic_pointer_cast<const BlockStates>(task->result());
}

double largest_error(std::span<const float> found, std::span<const double> expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) test::widen(largest, static_cast<double>(found[i]), expected[i]);
  return largest;
}

model::reference::Array array_of(const BlockStates& states, std::span<const float> values) {
  return {.shape = {1, states.tokens, states.width}, .values = std::vector<double>(values.begin(), values.end())};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("each family's layer is planned as it computes") {
    const std::vector<std::string> whole = {"before",  "x",     "q",      "k",      "v",        "scores", "scaled", "masked",
                                            "weights", "heads", "merged", "output", "attended", "mlp",    "next"};
    const ReferenceScene gpt2(golden_state("gpt2"));
    const BlockPlan pre_norm = plan_of(gpt2, {});
    CHECK(ids_of(pre_norm) == whole);
    CHECK(pre_norm.find("x")->operation == "LayerNorm");
    CHECK(pre_norm.find("attended")->operation == "+ x");
    CHECK(pre_norm.find("mlp")->operation == "LayerNorm, MLP");
    CHECK(pre_norm.find("mlp")->inputs == std::vector<std::string_view>{"attended"});

    const BlockPlan post_norm = plan_of(ReferenceScene(golden_state("bert")), {});
    CHECK(ids_of(post_norm) == whole);
    CHECK(post_norm.find("x")->operation == "as it is");
    CHECK(post_norm.find("attended")->operation == "+ x, LayerNorm");
    CHECK(post_norm.find("next")->operation == "+ y, LayerNorm");

    const BlockPlan parallel = plan_of(ReferenceScene(golden_state("gpt_neox")), {});
    CHECK(parallel.find("mlp")->inputs == std::vector<std::string_view>{"before"});
    CHECK(parallel.find("q")->operation == "X · W_Q, RoPE");

    const BlockPlan capped = plan_of(ReferenceScene(golden_state("gemma2")), {});
    CHECK(capped.find("scaled")->operation.find("cap") != std::string::npos);
    CHECK(capped.find("attended")->operation == "RMSNorm, + x");

    const ReferenceScene marian(golden_state("marian"));
    const BlockPlan cross = plan_of(marian, {.kind = BlockKind::Cross});
    CHECK(cross.find("k")->operation == "E · W_K");
    CHECK(cross.find("k")->inputs.empty());
    const BlockPlan self = plan_of(marian, {.kind = BlockKind::DecoderSelf});
    CHECK(self.find("attended") != nullptr);
    CHECK(self.find("mlp") == nullptr);  // it is behind the cross-attention

    State given;
    select_preset(given, "notebook-003");
    const BlockPlan attention_alone = plan_of(ReferenceScene(given), {});
    CHECK(attention_alone.find("x") == nullptr);
    CHECK(attention_alone.find("before") == nullptr);
    CHECK(attention_alone.nodes.front().id == "q");
  }

  TEST_CASE("boxes of the flow never overlap and stay in their room, and every arrow ends at its matrix") {
    for (const char* name : {"gpt2", "gpt_neox", "llama"}) {
      const BlockPlan plan = plan_of(ReferenceScene(golden_state(name)), {});
      for (const glm::vec2 size : {glm::vec2(480.0F, 300.0F), glm::vec2(860.0F, 640.0F), glm::vec2(2600.0F, 1500.0F)}) {
        const view::Rect room{.origin = {10.0F, 20.0F}, .size = size};
        const BlockLayout layout = lay_out_block(plan, room);
        REQUIRE(layout.nodes.size() == plan.nodes.size());
        for (const PlacedNode& a : layout.nodes) {
          CHECK(a.box.origin.x >= room.origin.x);
          CHECK(a.box.origin.y >= room.origin.y);
          CHECK(a.box.end().x <= room.end().x + 0.5F);
          CHECK(a.box.end().y <= room.end().y + 0.5F);
          CHECK(a.cells.end().x <= a.box.end().x + 0.5F);
          CHECK(a.cells.end().y <= a.box.end().y + 0.5F);
          for (const PlacedNode& b : layout.nodes) {
            if (a.node == b.node) continue;
            const bool is_apart = a.box.end().x <= b.box.origin.x || b.box.end().x <= a.box.origin.x ||
                                  a.box.end().y <= b.box.origin.y || b.box.end().y <= a.box.origin.y;
            CHECK(is_apart);
          }
        }
        std::size_t inputs = 0;
        for (const BlockNode& node : plan.nodes) inputs += node.inputs.size();
        CHECK(layout.arrows.size() == inputs);
        for (const PlacedArrow& arrow : layout.arrows) {
          REQUIRE(arrow.points.size() >= 2);
          const view::Rect& box = layout.nodes[arrow.to].box;
          const glm::vec2 tip = arrow.points.back();
          CHECK(tip.x >= box.origin.x - 4.0F);
          CHECK(tip.x <= box.end().x);
          CHECK(tip.y >= box.origin.y - 4.0F);
          CHECK(tip.y <= box.end().y);
        }
      }
    }
  }

  TEST_CASE("in a low room maps get the most of the height, and there is a height at which they can be read") {
    for (const std::uint32_t tokens : {1U, 5U, 71U, 1'000U}) {
      CAPTURE(tokens);
      const ReferenceScene scene(golden_state("gpt2"));
      inference::BlockShape shape = scene.run->shape({});
      shape.queries = shape.keys = tokens;
      const BlockPlan plan = plan_block({}, &scene.source.network->layer({}), shape);
      const auto map_edge = [&](glm::vec2 room) {
        const BlockLayout layout = lay_out_block(plan, {.origin = {0.0F, 0.0F}, .size = room});
        const auto weights = std::ranges::find_if(
            layout.nodes, [&](const PlacedNode& placed) { return plan.nodes[placed.node].id == "weights"; });
        REQUIRE(weights != layout.nodes.end());
        CHECK(weights->cells.size.x == weights->cells.size.y);
        return weights->cells.size.x;
      };
      // A third of the height less titles and gutters would leave 45 units.
      CHECK(map_edge({664.0F, 303.0F}) >= 66.0F);  // observed 67
      CHECK(map_edge({664.0F, least_block_height(plan, 664.0F)}) >= 87.0F);
      CHECK(map_edge({2600.0F, least_block_height(plan, 2600.0F)}) >= 87.0F);
      CHECK(least_block_height(plan, 664.0F) < 360.0F);
      // Where there is room, maps are as wide as their column.
      CHECK(map_edge({664.0F, 700.0F}) == std::floor((664.0F - 12.0F - 4.0F * 26.0F) / 5.0F));
    }
  }

  TEST_CASE("a matrix keeps its proportions as far as it stays visible") {
    const view::Rect room{.origin = {0.0F, 0.0F}, .size = {100.0F, 50.0F}};
    const view::Rect wide = fit_matrix(10, 20, room);
    CHECK(wide.size == glm::vec2(100.0F, 50.0F));
    const view::Rect square = fit_matrix(7, 7, room);
    CHECK(square.size == glm::vec2(50.0F, 50.0F));
    CHECK(fit_matrix(1, 1000, room).size.y >= 20.0F);
    CHECK(fit_matrix(0, 0, room).size.x >= 1.0F);
  }

  TEST_CASE("the walk plays, pauses, is scrubbed and ends") {
    BlockWalk walk(4);
    CHECK(walk.is_at_end());
    CHECK(walk.is_done(3));
    walk.play();
    CHECK(walk.is_playing());
    CHECK(walk.step() == 0);
    walk.advance(BlockWalk::kStepSeconds * 1.5F, 1.0F);
    CHECK(walk.step() == 1);
    CHECK(walk.part() == doctest::Approx(0.5F));
    CHECK(walk.is_done(0));
    CHECK_FALSE(walk.is_done(1));
    walk.go(1);
    CHECK_FALSE(walk.is_playing());
    CHECK(walk.position() == 2.0F);
    walk.advance(10.0F, 1.0F);
    CHECK(walk.position() == 2.0F);  // paused
    walk.go(-1);
    CHECK(walk.position() == 1.0F);
    walk.play();
    walk.advance(BlockWalk::kStepSeconds, 4.0F);
    CHECK(walk.is_at_end());
    CHECK_FALSE(walk.is_playing());
    CHECK(walk.step() == 3);
    walk.scrub(std::nanf(""));
    CHECK(walk.position() == 0.0F);
    walk.scrub(99.0F);
    CHECK(walk.is_at_end());
    walk.scrub(1.0F);
    walk.set_steps(7);
    CHECK(walk.is_at_end());
    BlockWalk none;
    none.play();
    CHECK_FALSE(none.is_playing());
    CHECK(ease(0.0F) == 0.0F);
    CHECK(ease(0.5F) == 0.5F);
    CHECK(ease(2.0F) == 1.0F);
  }

  TEST_CASE("the residual stream's curve is the mean over real tokens, of whole layers only") {
    const std::vector<float> lengths = {1.0F, 3.0F, 100.0F, 2.0F, 6.0F, 100.0F, 9.0F};
    const ResidualCurve curve = residual_curve(lengths, 3, 0, 2, 1);
    CHECK(curve.mean == std::vector<float>{2.0F, 4.0F});
    CHECK(curve.token == std::vector<float>{3.0F, 6.0F});
    CHECK(residual_curve(lengths, 3, 2, 2, 0).mean.empty());
    CHECK(residual_curve({}, 0, 0, 0, 0).mean.empty());
  }

  TEST_CASE("the residual stream through a block is what its family computes") {
    for (const char* name : {"gpt2", "llama", "gemma2", "gpt_neox", "t5", "qwen3", "opt", "bert", "marian"}) {
      CAPTURE(name);
      const ReferenceScene scene(golden_state(name));
      for (const model::BlockRef block : scene.run->blocks()) {
        const model::AttentionLayer& layer = scene.source.network->layer(block);
        const std::shared_ptr<const BlockStates> states = find_states(scene, block);
        REQUIRE(states);
        const std::string kind(to_string(block.kind));
        CAPTURE(kind);
        // Its own norm makes of what it reads the matrix that attention reads.
        ReferenceNumbers numbers(*scene.run, block, 0, 0);
        const model::reference::Array normed =
            model::reference::apply(layer.norms.before, array_of(*states, states->before));
        for (std::uint32_t token = 0; token < states->tokens; ++token) {
          const std::vector<float> x = *numbers.row(attention::Stage::X, token);
          const std::span<const double> row =
              std::span(normed.values).subspan(std::size_t{token} * states->width, states->width);
          CHECK(largest_error(x, row) < 1e-4);
        }
        if (!layer.feed_forward) {
          CHECK_FALSE(states->no_feed_forward.empty());
          continue;
        }
        const std::vector<float>& read = layer.is_parallel ? states->before : states->after_attention;
        model::reference::Array inner = model::reference::apply(layer.feed_forward_norms.before, array_of(*states, read));
        inner = model::reference::apply(*layer.feed_forward, inner);
        inner = model::reference::apply(layer.feed_forward_norms.inside, std::move(inner));
        CHECK(largest_error(states->feed_forward, inner.values) < 1e-4);
        CHECK(states->no_feed_forward.empty());
      }
    }
  }

  TEST_CASE("what can't be had of a decoder's first attention or of attention alone is said in words") {
    const ReferenceScene marian(golden_state("marian"));
    const std::shared_ptr<const BlockStates> self = find_states(marian, {.kind = BlockKind::DecoderSelf});
    CHECK(self->next.empty());
    CHECK(self->no_feed_forward == "The layer's cross-attention comes next; its MLP is behind that.");
    // The cross-attention of a layer reads what its self-attention wrote.
    const std::shared_ptr<const BlockStates> cross = find_states(marian, {.kind = BlockKind::Cross});
    CHECK(cross->before == self->after_attention);
    State given;
    select_preset(given, "notebook-003");
    CHECK_THROWS_AS(find_states(ReferenceScene(given), {}), Error);
  }

  TEST_CASE("a cell of the residual stream is written out as the sum that it is") {
    const ReferenceScene scene(golden_state("gpt2"));
    const std::shared_ptr<const BlockStates> states = find_states(scene, {});
    BlockSource source;
    source.states = states.get();
    source.subject.layer = &scene.source.network->layer({});
    const attention::Cell cell{.query = 2, .key = 3};
    const Arithmetic attended = explain_state(source, StateMatrix::AfterAttention, cell);
    CHECK(attended.cell == "y[2,3]");
    CHECK(attended.formula == "x + attention");
    CHECK_FALSE(attended.numbers.empty());
    const std::size_t at = std::size_t{2} * states->width + 3;
    REQUIRE(attended.result);
    CHECK(std::abs(*attended.result - (states->before[at] + states->attention[at])) < 1e-5F);
    const Arithmetic next = explain_state(source, StateMatrix::Next, cell);
    CHECK(std::abs(*next.result - (states->after_attention[at] + states->feed_forward[at])) < 1e-5F);
    CHECK_FALSE(explain_state(source, StateMatrix::Next, {.query = 99, .key = 3}).result);
  }
}

}  // namespace block_test
