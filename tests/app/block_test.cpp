// The block view's parts that need no window: the flow of each family, its layout, the walk, and the residual stream.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "app/reference_numbers.h"
#include "app/views/block/block_parts.h"
#include "app/widgets/block_layout.h"
#include "app/widgets/block_walk.h"

namespace block_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
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
  for (const BlockNode& node : plan.nodes) ids.emplace_back(node.id());
  return ids;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("each family's layer is planned as it computes") {
    const std::vector<std::string> attention = {"residual", "x",      "q",       "k",     "v",      "scores",
                                                "scaled",   "masked", "weights", "heads", "merged", "output"};
    const auto whole = [&](const std::vector<std::string>& after) {
      std::vector<std::string> ids = attention;
      ids.insert(ids.end(), after.begin(), after.end());
      return ids;
    };
    const ReferenceScene gpt2(golden_state("gpt2"));
    const BlockPlan pre_norm = plan_of(gpt2, {});
    CHECK(ids_of(pre_norm) == whole({"attended", "ffn_input", "ffn_hidden", "ffn_active", "ffn_output", "next"}));
    CHECK(pre_norm.find("x")->operation == "LayerNorm");
    CHECK(pre_norm.find("attended")->operation == "+ x");
    CHECK(pre_norm.find("ffn_input")->operation == "LayerNorm");
    CHECK(pre_norm.find("ffn_active")->operation == "GELU");
    CHECK(pre_norm.find("ffn_hidden")->inputs == std::vector{Stage::FfnInput});

    const BlockPlan post_norm = plan_of(ReferenceScene(golden_state("bert")), {});
    CHECK(ids_of(post_norm) ==
          whole({"attention_sum", "attended", "ffn_hidden", "ffn_active", "ffn_output", "ffn_sum", "next"}));
    CHECK(post_norm.find("x")->operation == "as it is");
    CHECK(post_norm.find("attention_sum")->operation == "+ x");
    CHECK(post_norm.find("attended")->operation == "LayerNorm");
    CHECK(post_norm.find("ffn_hidden")->inputs == std::vector{Stage::Attended});
    CHECK(post_norm.find("next")->operation == "LayerNorm");

    const BlockPlan gated = plan_of(ReferenceScene(golden_state("llama")), {});
    CHECK(gated.find("ffn_active")->operation == "SiLU(g) ⊙ h");
    CHECK(gated.find("ffn_active")->inputs == std::vector{Stage::FfnGate, Stage::FfnHidden});

    const BlockPlan parallel = plan_of(ReferenceScene(golden_state("gpt_neox")), {});
    CHECK(parallel.find("ffn_input")->inputs == std::vector{Stage::Residual});
    CHECK(parallel.find("q")->operation == "X · W_Q, RoPE");

    const BlockPlan mixture = plan_of(ReferenceScene(golden_state("mixtral")), {});
    CHECK(ids_of(mixture) == whole({"attended", "ffn_input", "router", "gates", "ffn_output", "next"}));
    CHECK(mixture.find("router")->operation == "n · W_R");
    CHECK(mixture.find("ffn_output")->inputs == std::vector{Stage::FfnInput, Stage::FfnGates});

    const BlockPlan capped = plan_of(ReferenceScene(golden_state("gemma2")), {});
    CHECK(capped.find("scaled")->operation.find("cap") != std::string::npos);
    CHECK(capped.find("attended")->operation == "RMSNorm, + x");

    const ReferenceScene marian(golden_state("marian"));
    const BlockPlan cross = plan_of(marian, {.kind = BlockKind::Cross});
    CHECK(cross.find("k")->operation == "E · W_K");
    CHECK(cross.find("k")->inputs.empty());
    const BlockPlan self = plan_of(marian, {.kind = BlockKind::DecoderSelf});
    CHECK(self.find("attended") != nullptr);
    CHECK(self.find("ffn_hidden") == nullptr);  // it comes after the cross-attention

    State given;
    select_preset(given, "notebook-003");
    const BlockPlan attention_alone = plan_of(ReferenceScene(given), {});
    CHECK(attention_alone.find("x") == nullptr);
    CHECK(attention_alone.find("residual") == nullptr);
    CHECK(attention_alone.nodes.front().id() == "q");
  }

  TEST_CASE("boxes of the flow never overlap and stay in their room, and every arrow ends at its matrix") {
    for (const char* name : {"gpt2", "gpt_neox", "llama"}) {
      const BlockPlan plan = plan_of(ReferenceScene(golden_state(name)), {});
      for (const glm::vec2 size : {glm::vec2(480.0F, 300.0F), glm::vec2(860.0F, 640.0F), glm::vec2(2600.0F, 1500.0F)}) {
        const chart::Rect room{.origin = {10.0F, 20.0F}, .size = size};
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
          const chart::Rect& box = layout.nodes[arrow.to].box;
          const glm::vec2 tip = arrow.points.back();
          CHECK(tip.x >= box.origin.x - 4.0F);
          CHECK(tip.x <= box.end().x);
          CHECK(tip.y >= box.origin.y - 4.0F);
          CHECK(tip.y <= box.end().y);
        }
      }
    }
  }

  TEST_CASE("a strip has all matrices in order, equally high, none over another, and arrows from one to what it makes") {
    for (const char* name : {"gpt2", "gpt_neox", "llama", "t5"}) {
      const BlockPlan plan = plan_of(ReferenceScene(golden_state(name)), {});
      for (const glm::vec2 size : {glm::vec2(440.0F, 200.0F), glm::vec2(960.0F, 240.0F), glm::vec2(2'400.0F, 460.0F)}) {
        CAPTURE(size.x);
        const chart::Rect room{.origin = {10.0F, 20.0F}, .size = size};
        const BlockLayout layout = lay_out_strip(plan, room);
        REQUIRE(layout.nodes.size() == plan.nodes.size());
        CHECK(layout.height <= size.y);
        for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
          const PlacedNode& placed = layout.nodes[i];
          CHECK(placed.node == i);
          CHECK(placed.cells.size.y == layout.nodes.front().cells.size.y);
          CHECK(placed.box.end().x <= room.end().x);
          CHECK(placed.box.end().y <= room.origin.y + layout.height + 1.0F);
          if (i == 0) continue;
          const chart::Rect& before = layout.nodes[i - 1].box;
          CHECK((placed.box.origin.x > before.end().x || placed.box.origin.y >= before.end().y));
        }
        const bool leads = std::ranges::all_of(layout.arrows, [&](const PlacedArrow& arrow) {
          const std::vector<Stage>& inputs = plan.nodes[arrow.to].inputs;
          return arrow.from + 1 == arrow.to && std::ranges::find(inputs, plan.nodes[arrow.from].stage) != inputs.end();
        });
        CHECK(leads);
        CHECK(layout.arrows.size() >= 6);
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
            layout.nodes, [&](const PlacedNode& placed) { return plan.nodes[placed.node].id() == "weights"; });
        REQUIRE(weights != layout.nodes.end());
        CHECK(weights->cells.size.x == weights->cells.size.y);
        return weights->cells.size.x;
      };
      // A quarter of the height less titles and gutters would leave 13 units.
      CHECK(map_edge({664.0F, 303.0F}) >= 28.0F);  // observed 29
      CHECK(map_edge({664.0F, least_block_height(plan, 664.0F)}) >= 87.0F);
      CHECK(map_edge({2600.0F, least_block_height(plan, 2600.0F)}) >= 87.0F);
      CHECK(least_block_height(plan, 664.0F) < 460.0F);  // observed 449
      // Maps are as wide as their column where there is room.
      CHECK(map_edge({664.0F, 700.0F}) == std::floor((664.0F - 12.0F - 4.0F * 26.0F) / 5.0F));
    }
  }

  TEST_CASE("a matrix keeps its proportions as far as it stays visible") {
    const chart::Rect room{.origin = {0.0F, 0.0F}, .size = {100.0F, 50.0F}};
    const chart::Rect wide = fit_matrix(10, 20, room);
    CHECK(wide.size == glm::vec2(100.0F, 50.0F));
    const chart::Rect square = fit_matrix(7, 7, room);
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
}

}  // namespace block_test
