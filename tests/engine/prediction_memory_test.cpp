// The logits that the Predictions tab compares with: those before the last change.
#include <doctest/doctest.h>

#include <cmath>

#include "app/engine/prediction_memory.h"

namespace prediction_memory_test {

using namespace headlight;
using namespace headlight::app;

namespace {

constexpr inference::SamplingSettings kGreedy;

/// Runs with made-up logits, one after the other.
struct Runs {
  EngineResult result;
  State state;
  PredictionMemory memory;
  PredictionPosition place{.token = 3, .first = 0, .end = 4};
  double now_s = 0.0;

  /// A pass of what the state asks for now gives these logits at the place.
  void run(std::vector<float> logits, bool in_gesture = false) {
    ++result.run;
    result.inputs = std::make_shared<const RunInputs>(run_inputs(state));
    const Prediction prediction = predict(logits, true, result.run);
    memory.observe(result, place, &prediction, now_s, in_gesture);
  }
  void knock_out(std::uint32_t head, float gain = 0.0F) { set_head_gain(state, {}, head, gain); }
};

const std::vector<float> kEven = {0.0F, 0.0F};
const std::vector<float> kUneven = {std::log(3.0F), 0.0F};  // 3 : 1
const std::vector<float> kSharp = {std::log(9.0F), 0.0F};   // 9 : 1

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a knock-out is compared with the run before it, a second one with the first") {
    Runs runs;
    CHECK(runs.memory.shown(kGreedy) == nullptr);
    runs.run(kEven);
    REQUIRE(runs.memory.shown(kGreedy));
    CHECK(runs.memory.before(kGreedy) == nullptr);
    runs.now_s = 10.0;
    runs.knock_out(1);
    runs.run(kUneven);
    REQUIRE(runs.memory.before(kGreedy));
    CHECK(runs.memory.before(kGreedy)->chances[0] == doctest::Approx(0.5));
    CHECK(runs.memory.shown(kGreedy)->chances[0] == doctest::Approx(0.75));
    CHECK(runs.memory.change() == std::string("a head's gain"));
    runs.now_s = 20.0;
    runs.knock_out(2);
    runs.run(kSharp);
    CHECK(runs.memory.before(kGreedy)->chances[0] == doctest::Approx(0.75));
  }

  TEST_CASE("a drag and quick typing are one change") {
    Runs runs;
    runs.run(kEven);
    runs.now_s = 10.0;
    runs.knock_out(1, 0.9F);
    runs.run(kUneven, true);
    runs.now_s = 15.0;  // slow, but the button is still held
    runs.knock_out(1, 0.1F);
    runs.run(kSharp, true);
    CHECK(runs.memory.before(kGreedy)->chances[0] == doctest::Approx(0.5));
    runs.now_s = 30.0;
    runs.state.text() += "!";
    runs.place.token = 4;  // the prediction's place moves with the text
    runs.run(kUneven);
    CHECK(runs.memory.change() == std::string("the text"));
    CHECK(runs.memory.before(kGreedy)->chances[0] == doctest::Approx(0.9));
    runs.now_s = 30.4;
    runs.state.text() += "?";
    runs.run(kEven);
    CHECK(runs.memory.before(kGreedy)->chances[0] == doctest::Approx(0.9));
    runs.now_s = 30.5;  // quick, but another kind of change
    runs.state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    runs.run(kSharp);
    CHECK(runs.memory.change() == std::string("the mask"));
    CHECK(runs.memory.before(kGreedy)->chances[0] == doctest::Approx(0.5));
  }

  TEST_CASE("another token, another model and another vocabulary have nothing to compare with") {
    Runs runs;
    runs.run(kEven);
    runs.now_s = 10.0;
    runs.knock_out(1);
    runs.run(kUneven);
    runs.place.token = 1;
    --runs.result.run;
    runs.run(kSharp);  // the same run at another token
    CHECK(runs.memory.before(kGreedy) == nullptr);
    runs.now_s = 20.0;
    runs.knock_out(2);
    runs.run(kEven);
    CHECK(runs.memory.before(kGreedy) != nullptr);
    runs.now_s = 30.0;
    change_to_model(runs.state, "another");
    runs.result.inputs = std::make_shared<const RunInputs>(run_inputs(runs.state));
    CHECK_FALSE(runs.memory.is_of(runs.result));
    runs.run(kEven);
    CHECK(runs.memory.before(kGreedy) == nullptr);
    CHECK(runs.memory.is_of(runs.result));
  }

  TEST_CASE("settings shape both distributions, and logits without a finite one have none") {
    Runs runs;
    runs.run(kUneven);
    runs.now_s = 10.0;
    runs.knock_out(1);
    runs.run(kSharp);
    const inference::SamplingSettings half{.method = inference::SamplingMethod::Random, .temperature = 0.5F};
    CHECK(runs.memory.before(half)->chances[0] == doctest::Approx(0.9));  // 9 : 1
    CHECK(runs.memory.shown(half)->chances[0] == doctest::Approx(81.0 / 82.0));
    const inference::SamplingSettings top{.method = inference::SamplingMethod::Random, .top_k = 1};
    CHECK(runs.memory.shown(top)->chances[1] == 0.0);
    CHECK(runs.memory.shown(top)->probabilities[1] == doctest::Approx(0.1));
    runs.now_s = 20.0;
    runs.knock_out(2);
    runs.run({NAN, NAN});
    CHECK(runs.memory.shown(top) == nullptr);
  }

  TEST_CASE("an older run's prediction and a translation that grows are not looked at") {
    Runs runs;
    runs.run(kEven);
    const Prediction old = predict(kSharp, true, runs.result.run);
    ++runs.result.run;
    runs.memory.observe(runs.result, runs.place, &old, 1.0, false);
    CHECK(runs.memory.shown(kGreedy)->chances[0] == doctest::Approx(0.5));
    runs.result.translated = std::make_shared<const Translated>();
    runs.run(kSharp);
    CHECK(runs.memory.shown(kGreedy)->chances[0] == doctest::Approx(0.5));
  }
}

}  // namespace prediction_memory_test
