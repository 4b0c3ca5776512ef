// Runs are values: several at once, each with its own numbers whatever is run later.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "inference/desk.h"
#include "inference/session.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/random.h"

namespace runs_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using test::Desk;
using test::open_golden_model;
using test::OpenModel;

namespace {

using RunPtr = std::shared_ptr<const Run>;

PassInputs pass(const OpenModel& model, const Desk& desk) {
  return {.network = model.network, .input = desk.input(), .masks = desk.masks, .interventions = desk.interventions};
}

/// Returns the numbers that a run computed: the stages of every block, of the first and the last head, and those after
/// the last block.
std::vector<std::vector<float>> numbers(const Run& run) {
  std::vector<attention::TileRequest> requests;
  for (const model::BlockRef block : run.blocks()) {
    const BlockShape shape = run.shape(block);
    for (const Stage stage : {Stage::X, Stage::Q, Stage::K, Stage::V, Stage::Weights, Stage::Merged, Stage::Output}) {
      const auto extent = shape.extent(stage);
      const std::uint32_t step = attention::is_per_head(stage) ? std::max(shape.heads - 1, 1U) : shape.heads;
      for (std::uint32_t head = 0; extent && head < shape.heads; head += step) {
        for (std::uint32_t item = 0; item < shape.batch; ++item) {
          requests.push_back({.block = block,
                              .batch = item,
                              .head = head,
                              .stage = stage,
                              .rows = extent->rows,
                              .columns = extent->columns});
        }
      }
    }
  }
  std::vector<std::vector<float>> all;
  for (attention::Tile& tile : run.evaluate(requests)) all.push_back(std::move(tile.values));
  if (run.has_logits()) {
    all.push_back(run.logits().values);
  } else {
    for (const Stack stack : {Stack::Encoder, Stack::Decoder}) all.push_back(run.hidden(stack).values);
  }
  return all;
}

/// Are the numbers the same? NaN is equal to nothing.
bool are_equal(const std::vector<std::vector<float>>& left, const std::vector<std::vector<float>>& right) {
  return left == right;
}

/// Memory that a run keeps beside scratch and weights.
struct Memory {
  gpu::Context& context;
  std::size_t before = context.allocated_bytes();

  std::size_t grown() const { return context.allocated_bytes() - before; }
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "two runs at once, asked in turn, are each what they are alone") {
    for (const std::string name : {"gpt2", "bert", "marian"}) {
      CAPTURE(name);
      const OpenModel model = open_golden_model(name);
      test::Random random(11);
      Desk first = make_desk(random, model), second = make_desk(random, model);
      second.masks[BlockKind::EncoderSelf].painted[{.layer = 0}].paint({3, 1}, false);
      Session together(context), alone(context);
      const RunPtr a = together.run(pass(model, first)), b = together.run(pass(model, second), a);
      const std::vector<std::vector<float>> of_a = numbers(*a), of_b = numbers(*b), of_a_again = numbers(*a);
      CHECK(are_equal(of_a, numbers(*alone.run(pass(model, first)))));
      CHECK(are_equal(of_b, numbers(*alone.run(pass(model, second)))));
      CHECK(are_equal(of_a, of_a_again));
      CHECK_FALSE(are_equal(of_a, of_b));
      CHECK(are_equal(of_b, numbers(*b)));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "500 sequences of random edits leave an old run's numbers as they were") {
    std::uint32_t sequences = 0, shared = 0, seed = 20;
    for (const std::string name : {"gpt2", "llama", "bert", "t5", "marian"}) {
      const OpenModel model = open_golden_model(name);
      test::Random random(++seed);
      Desk desk = make_desk(random, model);
      Session session(context);
      RunPtr newest = session.run(pass(model, desk));
      for (int i = 0; i < 100; ++i, ++sequences) {
        const RunPtr old = newest;
        const std::vector<std::vector<float>> before = numbers(*old);
        std::string edits;
        for (std::uint32_t edit = random.below(3) + 1; edit > 0; --edit) {
          edits += edit_at_random(random, model, desk) + "; ";
          // The old run is shared with; runs between are given away, and what they computed is overwritten.
          newest = session.run(pass(model, desk), std::move(newest));
          shared += newest->timing().reused_tokens + newest->timing().reused_layers > 0 ? 1u : 0u;
        }
        INFO(name, ", sequence ", i, ": ", edits);
        REQUIRE(are_equal(numbers(*old), before));
      }
    }
    CHECK(sequences == 500);
    CHECK(shared > 100);  // or the walk tests nothing
  }

  TEST_CASE_FIXTURE(test::OnGpu, "an appended token is computed into memory that both runs share, an edit into its own") {
    const OpenModel model = open_golden_model("gpt2");
    test::Random random(3);
    Desk desk = make_desk(random, model);
    Session session(context);
    const RunPtr first = session.run(pass(model, desk));
    const std::vector<std::vector<float>> of_first = numbers(*first);
    const Memory memory{context};
    desk.source[0].push_back(5);
    const RunPtr longer = session.run(pass(model, desk), first);
    CHECK(longer->timing().reused_tokens == 9);
    const std::size_t of_append = memory.grown();
    desk.source[0].back() = 6;  // the row is taken: by `longer`
    const RunPtr other = session.run(pass(model, desk), first);
    CHECK(other->timing().reused_tokens == 9);
    CHECK(memory.grown() > 10 * of_append);
    CHECK(are_equal(of_first, numbers(*first)));
    CHECK_FALSE(are_equal(numbers(*longer), numbers(*other)));
    Session alone(context);
    desk.source[0].back() = 5;
    const RunPtr anew = alone.run(pass(model, desk));
    for (const model::BlockRef block : anew->blocks()) {
      const Tensor found = longer->stage(block, Stage::Output), expected = anew->stage(block, Stage::Output);
      REQUIRE(found.shape == expected.shape);
      for (std::size_t i = 0; i < found.values.size(); ++i) {
        REQUIRE(std::abs(found.values[i] - expected.values[i]) < 1e-5F);  // seen: 0 on llvmpipe
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "the last handle frees a run, and a run that is given away makes room for the next") {
    const OpenModel model = open_golden_model("llama");
    test::Random random(5);
    Desk desk = make_desk(random, model);
    Session session(context);
    RunPtr run = session.run(pass(model, desk));
    const Memory memory{context};
    desk.source[0][2] = (desk.source[0][2] + 1) % model.description.vocabulary;
    RunPtr second = session.run(pass(model, desk), run);
    CHECK(memory.grown() > 0);
    RunPtr copy = second;
    second.reset();
    CHECK(memory.grown() > 0);
    copy.reset();
    CHECK(memory.grown() == 0);

    for (int i = 0; i < 5; ++i) {
      desk.source[0][2] = (desk.source[0][2] + 1) % model.description.vocabulary;
      RunPtr given = run;
      run.reset();
      run = session.run(pass(model, desk), std::move(given));
      CHECK(given == nullptr);  // NOLINT(bugprone-use-after-move): the session says so
      CHECK(memory.grown() == 0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a pass that is refused leaves every run whole, also the one that was given away") {
    const OpenModel model = open_golden_model("gpt2");
    test::Random random(7);
    Desk desk = make_desk(random, model);
    Session session(context);
    RunPtr run = session.run(pass(model, desk));
    const RunPtr other = session.run(pass(model, desk), run);
    const std::vector<std::vector<float>> of_run = numbers(*run), of_other = numbers(*other);
    desk.source[0][1] = model.description.vocabulary + 7;
    CHECK(test::is_one_line(test::error_message([&] { session.run(pass(model, desk), std::move(run)); })));
    REQUIRE(run != nullptr);  // NOLINT(bugprone-use-after-move): the session says so
    CHECK(are_equal(of_run, numbers(*run)));
    CHECK(are_equal(of_other, numbers(*other)));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "blocks that a run takes over keep their version, and their numbers") {
    for (const std::string name : {"llama", "bert", "t5"}) {
      CAPTURE(name);
      const OpenModel model = open_golden_model(name);
      test::Random random(9);
      Desk desk = make_desk(random, model);
      Session session(context);
      const RunPtr before = session.run(pass(model, desk));
      const std::uint32_t changed = model.description.layers - 1;
      desk.interventions.push_back(
          {.scope = scope_of({BlockKind::EncoderSelf, LayerIndex{changed}}, 0), .operation = Scale{0.5F}});
      const RunPtr after = session.run(pass(model, desk), before);
      for (const model::BlockRef block : after->blocks()) {
        const bool is_same = block.kind == BlockKind::EncoderSelf && block.layer.value < changed;
        CHECK((after->version(block) == before->version(block)) == is_same);
        if (is_same) CHECK(after->stage(block, Stage::Output).values == before->stage(block, Stage::Output).values);
      }
      const RunPtr same = session.run(pass(model, desk), after);
      CHECK(same->timing().dispatches == 0);
      for (const model::BlockRef block : after->blocks()) CHECK(same->version(block) == after->version(block));
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "nothing depends on what a buffer's memory held before") {
    test::WatchedContext poisoned({.poisons_memory = true});
    for (const std::string name :
         {"gpt2", "llama", "gemma2", "bloom", "bert", "t5", "marian", "deberta-v3", "esm", "blenderbot-small"}) {
      CAPTURE(name);
      const OpenModel model = open_golden_model(name);
      test::Random random(17);
      Desk desk = make_desk(random, model);
      Session plain(context), session(poisoned);
      RunPtr expected, found;
      for (int i = 0; i < 6; ++i) {
        expected = plain.run(pass(model, desk), std::move(expected));
        found = session.run(pass(model, desk), std::move(found));
        CHECK(are_equal(numbers(*expected), numbers(*found)));
        edit_at_random(random, model, desk);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a run of another session or of other weights is no base") {
    const OpenModel model = open_golden_model("gpt2"), other = open_golden_model("llama");
    test::Random random(13);
    const Desk desk = make_desk(random, model), other_desk = make_desk(random, other);
    Session session(context), foreign(context);
    const RunPtr base = foreign.run(pass(model, desk));
    CHECK(session.run(pass(model, desk), base)->timing().reused_tokens == 0);
    const RunPtr own = session.run(pass(model, desk));
    const std::vector<std::vector<float>> of_own = numbers(*own);
    const RunPtr next = session.run(pass(other, other_desk), own);
    CHECK(next->timing().reused_tokens == 0);
    CHECK(are_equal(of_own, numbers(*own)));  // its weights stay as long as it does
  }
}

}  // namespace runs_gpu_test
