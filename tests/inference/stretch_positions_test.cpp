// Learned positions for texts that are longer than their table.
#include "inference/stretch_positions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "inference/language_model.h"
#include "support/golden_model.h"

namespace stretch_positions_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

/// Row r of the table is (r, r²), behind `offset` rows of −1.
model::Network network_with(std::uint32_t rows, std::uint32_t offset) {
  auto embedding = std::make_shared<model::Embedding>();
  embedding->table = Tensor({3, 2}, std::vector<float>(6, 0.5F));
  Tensor positions({offset + rows, 2});
  for (std::uint32_t row = 0; row < offset + rows; ++row) {
    const float at = row < offset ? -1.0F : static_cast<float>(row - offset);
    positions.values[std::size_t{row} * 2] = at;
    positions.values[std::size_t{row} * 2 + 1] = row < offset ? -1.0F : at * at;
  }
  embedding->positions = std::move(positions);
  embedding->position_offset = offset;
  return {.source_embedding = embedding, .layers = std::make_shared<model::Layers>()};
}

model::ModelInput tokens(std::uint32_t length) {
  model::ModelInput input;
  input.source = {.length = length, .lengths = {length}, .ids = std::vector<std::uint32_t>(length, 1)};
  return input;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the stretch is the least whole factor that has a row for each token") {
    const model::Network network = network_with(8, 0);
    CHECK(needed_stretch(network, tokens(1)) == PositionStretch{});
    CHECK(needed_stretch(network, tokens(8)) == PositionStretch{});
    CHECK_FALSE(needed_stretch(network, tokens(8)).is_any());
    CHECK(needed_stretch(network, tokens(9)).source == 2);
    CHECK(needed_stretch(network, tokens(16)).source == 2);
    CHECK(needed_stretch(network, tokens(17)).source == 3);
    CHECK(needed_stretch(network_with(8, 2), tokens(9)).source == 2);  // the offset's rows are no positions
    CHECK(needed_stretch(model::Network{}, tokens(100)) == PositionStretch{});
  }

  TEST_CASE("position p of a stretched table is p / factor of the trained one, and the last row goes on") {
    for (const std::uint32_t offset : {0U, 2U}) {
      CAPTURE(offset);
      const model::Network network = network_with(5, offset);
      const auto stretched = stretch_positions(network, {.source = 4});
      CHECK(stretched->layers == network.layers);
      const Tensor table = stretched->source_embedding->positions.tensor();
      REQUIRE(table.shape == Shape{offset + 20, 2});
      for (std::uint32_t row = 0; row < offset; ++row) CHECK(table.values[std::size_t{row} * 2] == -1.0F);
      for (std::uint32_t position = 0; position < 20; ++position) {
        CAPTURE(position);
        const double exact = std::min(position / 4.0, 4.0), low = std::floor(exact), high = std::min(low + 1.0, 4.0);
        const double square = low * low + (exact - low) * (high * high - low * low);
        CHECK(double{table.values[std::size_t{offset + position} * 2]} == doctest::Approx(exact));
        CHECK(double{table.values[std::size_t{offset + position} * 2 + 1]} == doctest::Approx(square));
      }
      CHECK(stretch_between(network, *stretched).source == 4);
      CHECK(stretch_between(network, network) == PositionStretch{});
    }
  }

  TEST_CASE("a text longer than the model's positions is a prompt where they are stretched, and its network takes it") {
    const auto gpt2 = open_model(test::golden_model_path("gpt2"));
    PromptText text{.lines = {}, .ids = {std::vector<std::uint32_t>(100, 5)}};
    CHECK_THROWS(make_prompt(*gpt2, text));
    text.stretches_positions = true;
    const Prompt prompt = make_prompt(*gpt2, text);
    const PositionStretch stretch = needed_stretch(*gpt2->network, prompt.input);
    CHECK(stretch.source == 4);  // 32 positions
    CHECK_THROWS(model::check(*gpt2->network, prompt.input));
    CHECK_NOTHROW(model::check(*stretch_positions(*gpt2->network, stretch), prompt.input));
  }
}

}  // namespace stretch_positions_test
