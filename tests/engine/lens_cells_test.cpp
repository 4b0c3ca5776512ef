// Predictions of every layer, by the logit lens and by linear lenses, against transformers and torch
// (tools/make_lens_golden.py), on the device and without one.
#include "app/engine/analyses/lens_cells.h"

#include <doctest/doctest.h>

#include "app/engine/runner.h"
#include "engine/asked_analysis.h"
#include "support/deviation.h"
#include "support/golden.h"

namespace lens_cells_test {

using namespace headlight;
using namespace headlight::app;

namespace {

std::string lens_path(const std::string& name) { return std::string(HEADLIGHT_GOLDEN_DIR) + "/lens/" + name; }

/// The largest differences of a cell's numbers from the golden ones.
struct Errors {
  double probability = 0.0, entropy = 0.0, divergence = 0.0;
};

void compare(const LensCell& cell, const nlohmann::json& expected, bool is_of_last, Errors& errors) {
  if (is_of_last) {
    CHECK(cell.rank == expected.at("rank_of_last"));
    return;
  }
  REQUIRE(cell.known == kLensTokens);
  for (std::size_t i = 0; i < kLensTokens; ++i) {
    CHECK(cell.likeliest[i].id == expected.at("likeliest")[i]);
    test::raise_to(errors.probability,
                   std::abs(cell.likeliest[i].probability - expected.at("probabilities")[i].get<double>()));
  }
  CHECK(cell.rank == expected.at("rank"));
  test::raise_to(errors.probability, std::abs(cell.probability - expected.at("probability").get<double>()));
  test::raise_to(errors.entropy, std::abs(cell.entropy - expected.at("entropy").get<double>()));
  test::raise_to(errors.divergence, std::abs(cell.divergence - expected.at("divergence").get<double>()));
}

void compare_with_torch(const RunnerFactory& open) {
  for (const nlohmann::json& golden : test::golden("lens/cells.json")) {
    const std::string name = golden.at("model");
    CAPTURE(name);
    AskedAnalysis asked(name, "", open);
    asked.state.model().ids = {golden.at("ids").get<std::vector<std::uint32_t>>()};
    for (const bool is_linear : {false, true}) {
      CAPTURE(is_linear);
      Errors errors;
      for (const bool is_of_last : {false, true}) {
        LensTableQuestion question;
        question.lens = is_linear ? lens_path(name + ".safetensors") : "";
        if (!is_of_last) question.ranked = golden.at("ranked").get<std::uint32_t>();
        const Analysed answer = asked.ask(question);
        const LensTable& table = found_in<LensTable>(answer);
        const nlohmann::json& layers = golden.at(is_linear ? "linear" : "logit");
        REQUIRE(table.positions.size() == layers.at(0).size());
        for (std::size_t at = 0; at < table.positions.size(); ++at) {
          REQUIRE(table.positions[at].size() == layers.size());
          for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            compare(table.positions[at][layer], layers[layer][at], is_of_last, errors);
          }
        }
      }
      CHECK(errors.probability < 1e-5);  // observed 1.4e-6
      CHECK(errors.entropy < 2e-5);      // observed 2.4e-6
      CHECK(errors.divergence < 1e-4);   // observed 1.0e-5
    }
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a cell of a few logits by hand") {
    const std::vector<float> last = {0.0F, std::log(2.0F), std::log(5.0F)}, even = {1.0F, 1.0F, 1.0F};
    const LensCell cell = lens_cell(even, last, std::nullopt);
    CHECK(cell.known == 3);
    CHECK(cell.ranked == 2);  // the last layer's likeliest
    CHECK(cell.rank == 3);    // of equal ones the first ids come first
    CHECK(cell.probability == doctest::Approx(1.0 / 3.0));
    CHECK(cell.entropy == doctest::Approx(std::log(3.0)));
    CHECK(cell.divergence == doctest::Approx((1 * std::log(3.0 / 8) + 2 * std::log(6.0 / 8) + 5 * std::log(15.0 / 8)) / 8));
    CHECK(lens_cell(last, last, 1).rank == 2);
    CHECK(lens_cell(last, last, 99).ranked == lens_cell(last, last, std::nullopt).ranked);  // which this model lacks
    CHECK(lens_cell(last, last, {}).divergence == 0.0);
    const std::vector<float> odd = {0.0F, std::numeric_limits<float>::quiet_NaN(), 1.0F};
    CHECK(std::isnan(lens_cell(odd, last, {}).entropy));
    CHECK(std::isnan(lens_cell(odd, last, {}).divergence));
  }

  TEST_CASE("every layer by both lenses without a device, as torch has it") {
    compare_with_torch([](const std::string&) { return open_runner(std::string(kWithoutDevice)); });
  }

  TEST_CASE("a lens of another model and a run without the position are refused in a line") {
    AskedAnalysis asked("gpt2");
    const Analysed wrong = asked.ask(LensQuestion{.lens = lens_path("llama.safetensors")});
    CHECK(wrong.result == nullptr);
    CHECK(wrong.error.find("0.weight") != std::string::npos);
    CHECK(asked.ask(LensQuestion{.lens = lens_path("missing.pt")}).error != "");
    CHECK(asked.ask(LensQuestion{.token = 99}).error == "this run has no such prediction");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("every layer by both lenses on the device, as torch has it") { compare_with_torch(open_gpu_runner); }

  TEST_CASE("another lens takes the place of the first, which comes back") {
    AskedAnalysis asked("gpt2", "the cat", open_gpu_runner);
    const auto first = [&](const std::string& lens) {
      const Analysed answer = asked.ask(LensQuestion{.lens = lens});
      return found_in<LensCells>(answer).layers.front().entropy;
    };
    const double plain = first(""), linear = first(lens_path("gpt2.safetensors"));
    CHECK(plain != linear);
    CHECK(first(lens_path("params.pt")) == linear);
    CHECK(first(lens_path("gpt2.safetensors")) == linear);
    CHECK(first("") == plain);
  }

  TEST_CASE("a lens that is left leaves the device's memory") {
    AskedAnalysis asked("gpt2", "the cat", open_gpu_runner);
    // A pass says what the device holds: that of the second text comes after the first one's question.
    const auto bytes_with = [&](const std::string& lens) {
      for (const char* text : {"the cat", "the mat"}) {
        asked.state.text() = text;
        CHECK(asked.ask(LensQuestion{.lens = lens}).error == "");
      }
      return asked.result.timing.device_bytes;
    };
    bytes_with("");
    const std::size_t before = bytes_with(""), with = bytes_with(lens_path("gpt2.safetensors"));
    CHECK(with > before);
    CHECK(bytes_with("") == before);
  }
}

}  // namespace lens_cells_test
