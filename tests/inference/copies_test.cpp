// Lines, masks and interventions of a batch of which one line is copied.
#include <doctest/doctest.h>

#include <vector>

#include "inference/copies.h"
#include "inference/random_network.h"
#include "support/error_message.h"

namespace copies_test {

using namespace headlight;
using namespace headlight::inference;
using model::BlockKind;

namespace {

const model::BlockRef kFirst{.kind = BlockKind::EncoderSelf, .layer = LayerIndex{0}};

/// Two lines of three tokens.
PassInputs two_lines() {
  PassInputs pass;
  pass.input.source = {.batch = 2,
                       .length = 3,
                       .lengths = {3, 2},
                       .starts = {0, 1},
                       .ids = {1, 2, 3, model::kPaddingId, 4, 5},
                       .positions = {0, 1, 2, 0, 0, 1},
                       .texts = {{"a", "b", "c"}, {"<pad>", "d", "e"}}};
  attention::MaskSpec& mask = pass.masks[BlockKind::EncoderSelf];
  mask.painted[{}].paint({0, 0}, false);
  mask.painted[{.batch = 0}].paint({1, 1}, false);
  mask.painted[{.layer = 1, .batch = 1}].paint({2, 2}, true);
  mask.biases[{.batch = 1, .head = 0}].paint({2, 0}, 3.0f);
  mask.matrix = attention::BooleanMask{.batch = 2, .heads = 1, .queries = 1, .keys = 3, .keep = {1, 1, 1, 1, 0, 1}};
  mask.documents = attention::Documents{{1, {2}}};
  return pass;
}

const Intervention kHalf{.scope = scope_of(kFirst, 0), .operation = Scale{0.5f}};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a line's tokens and masks are there once for each list, those of other lines aren't") {
    const PassInputs copies = copies_of(two_lines(), 1, std::vector<Interventions>(3));
    const model::TokenBatch& tokens = copies.input.source;
    CHECK(tokens.batch == 3);
    CHECK(tokens.length == 3);
    CHECK(tokens.lengths == std::vector<std::uint32_t>{2, 2, 2});
    CHECK(tokens.starts == std::vector<std::uint32_t>{1, 1, 1});
    CHECK(tokens.ids ==
          std::vector<std::uint32_t>{model::kPaddingId, 4, 5, model::kPaddingId, 4, 5, model::kPaddingId, 4, 5});
    CHECK(tokens.positions == std::vector<std::uint32_t>{0, 0, 1, 0, 0, 1, 0, 0, 1});
    CHECK(tokens.types.empty());
    CHECK(tokens.texts == std::vector<std::vector<std::string>>(3, {"<pad>", "d", "e"}));
    const attention::MaskSpec& mask = copies.masks[BlockKind::EncoderSelf];
    for (std::uint32_t copy = 0; copy < 3; ++copy) {
      CAPTURE(copy);
      CHECK(mask.painted_state(0, copy, 0, {0, 0}) == false);
      CHECK(mask.painted_state(0, copy, 0, {1, 1}) == std::nullopt);
      CHECK(mask.painted_state(1, copy, 0, {2, 2}) == true);
      CHECK(mask.bias(0, copy, 0, {2, 0}) == 3.0f);
      CHECK_FALSE(mask.is_same_document(copy, 2, 1));
      CHECK_FALSE(mask.matrix->is_kept(copy, 0, 0, 1));
    }
  }

  TEST_CASE("what concerns the line is of every copy, what is changed about a copy of that one alone") {
    PassInputs pass = two_lines();
    const Intervention rows{.scope = scope_of(kFirst, 1), .operation = Replace{.item = 1, .first = 1, .rows = {1.0f}}},
        elsewhere{.scope = scope_of(kFirst, 1), .operation = Replace{.item = 0, .first = 1, .rows = {1.0f}}};
    pass.interventions = {kHalf, rows, elsewhere};
    const PassInputs copies = copies_of(pass, 1, std::vector<Interventions>{{kHalf}, {rows, elsewhere}});
    const auto moved = [](Intervention one, std::optional<std::uint32_t> scope, std::uint32_t item) {
      one.scope.item = scope;
      if (auto* replace = std::get_if<Replace>(&one.operation)) replace->item = item;
      return one;
    };
    const Interventions expected{kHalf, moved(rows, {}, 0), moved(rows, {}, 1), moved(kHalf, 0, 0), moved(rows, 1, 1)};
    CHECK(copies.interventions == expected);
  }

  TEST_CASE("a pass of copies begins at the first layer that a copy changes") {
    test::Random random(94);
    for (int i = 0; i < 40; ++i) {
      const test::NetworkCase one = test::random_network(random);
      PassInputs pass{.network = one.network, .input = one.input, .masks = one.masks};
      pass.interventions.push_back({.scope = {}, .operation = Scale{2.0f}});  // of every layer, but the base has it too
      const auto blocks = one.network->blocks();
      const model::BlockRef block = blocks[random.below(static_cast<std::uint32_t>(blocks.size()))];
      const PassInputs copies =
          copies_of(pass, 0, std::vector<Interventions>{{{.scope = scope_of(block, 0), .operation = Scale{0.0f}}}});
      const PassPlan plan = plan_copies(copies);
      const bool is_encoder = block.kind == BlockKind::EncoderSelf;
      const auto layers = static_cast<std::uint32_t>(one.network->layers->encoder.size());
      CHECK(plan.encoder.copied_layers == (is_encoder ? block.layer.value : layers));
      if (!one.network->layers->decoder.empty()) {
        CHECK(plan.decoder.copied_layers == (is_encoder ? 0 : block.layer.value));
        CHECK(plan.memory.back().count == copies.input.source.length);
      }
      const StackPlan& changed = is_encoder ? plan.encoder : plan.decoder;
      for (std::uint32_t layer = 0; layer < changed.layers.size(); ++layer) {
        CHECK((changed.layers[layer].count > 0) == (layer >= block.layer.value));
      }
    }
  }

  TEST_CASE("a pattern of one item, and Q, K and V that are given, can't be copied") {
    const Interventions pattern{{.site = model::Site::Weights, .scope = {}, .operation = ReplacePattern{}}};
    CHECK(can_copy(two_lines(), std::vector<Interventions>{{kHalf}}));
    CHECK_FALSE(can_copy(two_lines(), std::vector<Interventions>{{kHalf}, pattern}));
    PassInputs given = two_lines();
    given.input.qkv.emplace();
    CHECK_FALSE(can_copy(given, std::vector<Interventions>{{kHalf}}));
    test::Random random(95);
    Interventions of_item = pattern;
    of_item.front().scope.item = 0;
    CHECK(test::error_message([&] { check(*test::random_network(random).network, of_item); }).find("every batch item") !=
          std::string::npos);
  }
}

}  // namespace copies_test
