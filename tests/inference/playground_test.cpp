#include "inference/playground.h"

#include <doctest/doctest.h>

#include <ctime>
#include <limits>

#include "core/error.h"
#include "inference/reference_run.h"
#include "support/golden.h"
#include "support/playground_cases.h"
#include "support/visibility.h"

namespace playground_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

std::string error(const PlaygroundSettings& settings, const std::string& text = "a b", const std::string& key_text = "") {
  try {
    make_playground(settings, text, key_text);
  } catch (const Error& thrown) {
    return thrown.what();
  }
  return "";
}

std::string repeat(std::string_view word, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += word;
  return text;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the playground equals PyTorch's results of the same procedure, stage by stage") {
    const std::vector<test::PlaygroundCase> cases = test::playground_cases();
    REQUIRE(cases.size() == 5);
    for (const test::PlaygroundCase& one : cases) {
      const Playground playground = make_playground(one.settings, one.text, one.key_text);
      const model::reference::Run pass =
          model::reference::run(*playground.network, playground.input, test::visibility(one.masks, playground.input),
                                static_cast<double>(attention::fill_value(one.masks.by_kind[0].fill)));
      const model::reference::Array& last = one.key_text.empty() ? pass.encoder_output : pass.decoder_output;
      CHECK(test::max_difference(last.values, test::flatten(one.result)) < 2e-6);  // observed 3.4e-7
      REQUIRE(pass.stages.size() == one.stages.size());
      for (std::size_t layer = 0; layer < pass.stages.size(); ++layer) {
        const model::reference::AttentionStages& stages = pass.stages[layer];
        const std::pair<const char*, const model::reference::Array*> named[] = {
            {"x", &stages[attention::Stage::X]},           {"q", &stages[attention::Stage::Q]},
            {"k", &stages[attention::Stage::K]},           {"v", &stages[attention::Stage::V]},
            {"scores", &stages[attention::Stage::Scores]}, {"scaled", &stages[attention::Stage::Scaled]},
            {"masked", &stages[attention::Stage::Masked]}, {"weights", &stages[attention::Stage::Weights]},
            {"heads", &stages[attention::Stage::Heads]},   {"merged", &stages[attention::Stage::Merged]},
            {"output", &stages[attention::Stage::Output]}};
        for (const auto& stage : named) {
          const auto& name = stage.first;
          const auto& array = stage.second;
          INFO(one.name, ", layer ", layer, ", ", name);
          if (!one.stages[layer].contains(name)) {
            CHECK(array->values.empty());
            continue;
          }
          CHECK(test::max_difference(array->values, test::flatten(one.stages[layer][name])) < 2e-6);  // observed 8.3e-7
        }
      }
    }
  }

  TEST_CASE("invalid settings are refused in one line that says what to do") {
    CHECK(error({.d_model = 10, .heads = 3}) ==
          "d_model 10 can't be split into 3 heads: choose heads that divide it (1, 2, 5, 10) or set d_k and d_v");
    CHECK(error({.d_model = 10, .heads = 3, .d_k = 4}) == error({.d_model = 10, .heads = 3}));
    CHECK(error({.d_model = 10, .heads = 3, .d_k = 4, .d_v = 2}) == "");
    CHECK(error({.d_model = 0}) == "d_model is 0, but must be 1 … 8192");
    CHECK(error({.d_model = 8193}) == "d_model is 8193, but must be 1 … 8192");
    CHECK(error({.d_model = 128, .heads = 65}) == "the number of heads is 65, but must be 1 … 64");
    CHECK(error({.heads = 0}) == "the number of heads is 0, but must be 1 … 64");
    CHECK(error({.layers = 7}) == "the number of layers is 7, but must be 1 … 6");
    CHECK(error({.d_k = 9000}) == "d_k is 9000, but must be 1 … 8192");
    CHECK(error({.heads = 64, .d_v = 1000}) ==
          "64 heads of d_v 1000 are 64000 wide together, but at most 32768 is possible: choose a smaller d_v");
    CHECK(error({.d_model = 16, .heads = 4, .d_v = 3, .layers = 2, .output_projection = false}) ==
          "without an output projection 2 layers need heads·d_v = d_model, but 4·3 = 12 is not 16: turn the projection on, "
          "use "
          "one layer or change d_v");
    CHECK(error({.d_model = 16, .heads = 4, .d_v = 3, .layers = 1, .output_projection = false}) == "");
    CHECK(error({.scale = {.kind = model::Scale::Kind::Value, .value = std::numeric_limits<float>::infinity()}}) ==
          "the scale is inf, but must be a finite number");
  }

  TEST_CASE("invalid texts are refused in one line that says what to do") {
    CHECK(error({}, "") == "there is no word in the text: type at least one");
    CHECK(error({}, " ,\n") == "there is no word in the text: type at least one");
    CHECK(error({}, "a", " ") == "there is no word in the second text: type at least one or clear it");
    CHECK(error({}, "a\nb \xff") == "the text is not valid UTF-8: line 2, byte 3 is 0xFF; save the text as UTF-8");
    CHECK(error({}, "a\nb\nc", "d\ne") ==
          "3 lines of text attend to 2 lines of keys: give both texts the same number of lines");
    CHECK(error({}, "a", "d\ne") == "1 line of text attends to 2 lines of keys: give both texts the same number of lines");
    CHECK(error({}, "a\n" + repeat("b ", 32'769)) ==
          "line 2 has 32769 tokens, but at most 32768 fit: shorten it or break it into several lines");
    CHECK(error({}, repeat(repeat("b ", 32'768) + "\n", 9)) ==
          "9 lines padded to 32768 tokens make 294912 tokens, but at most 262144 fit: shorten the text");
  }

  TEST_CASE("a text far too long is refused at once") {
    CHECK(error({}, repeat("w ", 100'000)).starts_with("line 1 has 100000 tokens"));
    const std::string text = repeat("w ", 5'000'000);
    const std::clock_t start = std::clock();  // CPU time: other programs' load doesn't count
    CHECK(error({}, text).starts_with("line 1 has 5000000 tokens"));
    CHECK(std::clock() - start < 2 * CLOCKS_PER_SEC);  // observed 0.1 s for ten million characters
  }

  TEST_CASE("lines become a batch padded to the longest") {
    const Playground playground = make_playground({}, "a b c\nd", "");
    const model::TokenBatch& tokens = playground.input.source;
    CHECK(tokens.batch == 2);
    CHECK(tokens.length == 3);
    CHECK(tokens.lengths == std::vector<std::uint32_t>{3, 1});
    CHECK(tokens.ids == std::vector<std::uint32_t>{0, 1, 2, 3, model::kPaddingId, model::kPaddingId});
    CHECK(tokens.texts[1] == std::vector<std::string>{"d", "<pad>", "<pad>"});
    CHECK_FALSE(playground.input.target.has_value());
    CHECK(playground.network->layers->decoder.empty());
    CHECK(playground.vocabulary == 4);
    CHECK_NOTHROW(check(*playground.network, playground.input));
  }

  TEST_CASE("a second text makes a cross-attention, and one line of keys is used for every line") {
    const Playground playground = make_playground({}, "a b c\nd", "x y");
    CHECK(playground.network->layers->encoder.empty());
    REQUIRE(playground.network->layers->decoder.size() == 2);
    CHECK_FALSE(playground.network->layers->decoder[0].self.has_value());
    CHECK(playground.input.target->texts[0] == std::vector<std::string>{"a", "b", "c"});
    CHECK(playground.input.source.texts == std::vector<std::vector<std::string>>{{"x", "y"}, {"x", "y"}});
    CHECK(playground.network->source_embedding == playground.network->target_embedding);
    CHECK(playground.network->source_embedding->table.axis(0) == 6);
    CHECK_NOTHROW(check(*playground.network, playground.input));
  }

  TEST_CASE("typing keeps every weight that it doesn't change") {
    const PlaygroundSettings settings;
    const Playground first = make_playground(settings, "the cat sat", "");
    const Playground same_words = make_playground(settings, "the dog sat", "", first);
    CHECK(same_words.network == first.network);

    const Playground one_more = make_playground(settings, "the dog sat down", "", same_words);
    CHECK(one_more.network != first.network);
    CHECK(one_more.network->layers == first.network->layers);
    CHECK(one_more.network->source_embedding->table ==
          make_playground(settings, "the dog sat down", "").network->source_embedding->table);

    PlaygroundSettings changed = settings;
    changed.positions = false;
    const Playground bare = make_playground(changed, "the dog sat down", "", one_more);
    CHECK(bare.network->layers == first.network->layers);
    CHECK(bare.network->source_embedding->positions.is_empty());
    changed.seed = 5;
    CHECK(make_playground(changed, "the dog sat down", "", bare).network->layers != first.network->layers);
    const Playground cross = make_playground(settings, "the dog", "sat down", one_more);
    CHECK(cross.network->layers != first.network->layers);
    CHECK(cross.network->source_embedding == one_more.network->source_embedding);
    CHECK(make_playground(settings, "the dog", "sat up", cross).network == cross.network);
  }

  TEST_CASE("positions reach as far as the longest text") {
    const Playground first = make_playground({}, "w", "");
    const Playground longer = make_playground({}, repeat("w ", 65), "", first);
    CHECK(longer.network->source_embedding->positions.axis(0) >= 65);
    CHECK_NOTHROW(check(*longer.network, longer.input));
  }
}

}  // namespace playground_test
