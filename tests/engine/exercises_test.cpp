// Exercises in code: what is compared, and what is said of what is wrong.
#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include "app/lessons/wrong_ways.h"
#include "core/file.h"
#include "export/file_array.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace exercises_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
using model::reference::Array;
using Arrays = std::map<std::string, Tensor>;

namespace {

Tensor narrow(const Array& array) { return Tensor(array.shape, {array.values.begin(), array.values.end()}); }

Arrays arrays_of(const ExerciseStages& stages) {
  Arrays arrays;
  for (const auto& [stage, array] : stages) arrays[std::string(to_string(stage))] = narrow(array);
  return arrays;
}

struct Solution {
  explicit Solution(const Arrays& arrays, const std::map<std::string, std::string>& metadata = {})
      : path(folder.path() / "solution.safetensors") {
    std::vector<exporting::FileArray> list;
    for (const auto& [name, tensor] : arrays) list.push_back(exporting::array_of(name, tensor));
    const auto file = exporting::open_safetensors(path, list, metadata);
    while (const auto part = file->next()) {
      std::string bytes;
      list[part->array].read(part->part, bytes);
      file->append(bytes);
    }
    file->finish();
  }
  ExerciseVerdict check(std::string_view name) const { return check_exercise(exercise(name), model::SafetensorsFile(path)); }

  TemporaryDirectory folder;
  std::filesystem::path path;
};

std::string says(std::string_view name, const Arrays& arrays) { return Solution(arrays).check(name).says; }

const WrongWay& way(std::string_view begins) {
  const auto found = std::ranges::find_if(wrong_ways(), [&](const WrongWay& one) { return one.says.starts_with(begins); });
  REQUIRE(found != wrong_ways().end());
  return *found;
}

Arrays by(std::string_view name, std::string_view begins) {
  const ExerciseStages right = stages_of(exercise(name));
  return arrays_of(stages_by(exercise(name), way(begins), right));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every exercise accepts its own stages, all of them or the result alone") {
    for (const Exercise& one : exercises()) {
      CAPTURE(std::string(one.name));
      const ExerciseStages right = stages_of(one);
      const ExerciseVerdict whole = Solution(arrays_of(right)).check(one.name);
      CHECK_MESSAGE(whole.is_passed, whole.says);
      CHECK(whole.right.size() == right.size());
      const auto& [stage, result] = right.back();
      CHECK(Solution({{std::string(to_string(stage)), narrow(result)}}).check(one.name).is_passed);
      Array almost = result;
      almost.values.back() += 2e-5 * std::max(1.0, std::abs(almost.values.back()));
      CHECK_FALSE(Solution({{std::string(to_string(stage)), narrow(almost)}}).check(one.name).is_passed);
    }
  }

  TEST_CASE("every mistake that changes an exercise is found at its first wrong stage, and named") {
    std::set<std::string_view> seen;
    for (const Exercise& one : exercises()) {
      const ExerciseStages right = stages_of(one);
      for (const WrongWay& mistake : wrong_ways()) {
        CAPTURE(std::string(one.name));
        CAPTURE(std::string(mistake.says));
        Arrays arrays = arrays_of(stages_by(one, mistake, right));
        // NaN and infinite results have sentences of their own.
        std::erase_if(arrays, [](const auto& entry) {
          return std::ranges::any_of(entry.second.values, [](float value) { return std::isnan(value); });
        });
        const ExerciseVerdict verdict = Solution(arrays).check(one.name);
        if (verdict.wrong.empty()) continue;  // the same numbers, such as of a mask that hides nothing
        CHECK_FALSE(verdict.is_passed);
        const bool is_named = verdict.says.find(mistake.says) != std::string::npos;
        if (is_named) seen.insert(mistake.says);
        CHECK_MESSAGE(is_named, verdict.says);
      }
    }
    CHECK(seen.size() == wrong_ways().size());
  }

  TEST_CASE("a sentence says what is right and where it goes wrong") {
    const Arrays right = arrays_of(stages_of(exercise("001/task")));
    const Arrays merged = by("001/task", "heads were merged without transposing back");
    CHECK(says("001/task",
               {{"weights", right.at("weights")}, {"scores", right.at("masked")}, {"merged", merged.at("merged")}}) ==
          "Right: scores and weights. Wrong: merged \u2013 heads were merged without transposing back: transpose "
          "tokens and "
          "heads first, then reshape.");
    CHECK(says("001/task", {{"output", merged.at("output")}}).starts_with("Wrong: output \u2013 heads were merged"));
    CHECK(says("001/task", {{"output", right.at("merged")}}) == "Wrong: output \u2013 these are the numbers of merged.");
    CHECK(says("001/task", {{"q", right.at("q")}, {"weights", right.at("weights")}}) ==
          "Right so far: q and weights. Give output too.");
    CHECK(says("001/task", by("001/task", "scores weren't divided"))
              .ends_with("Wrong: scaled \u2013 scores weren't divided by \u221Ad_k."));
    CHECK(says("001/attention", {{"output", arrays_of(stages_of(exercise("001/attention"))).at("merged")}}) ==
          "Right: merged, within 1e-05 of notebook-001.");
    Arrays odd = {{"weights", right.at("weights")}};
    odd.at("weights").values[7] += 0.5F;
    CHECK(says("001/task", odd)
              .starts_with("Wrong: weights \u2013 1 of 200 numbers differ, the first at [0, 0, 1, 2]: 0.5 instead of"));
  }

  TEST_CASE("wrong shapes, NaN and other names are one clear line") {
    const Arrays right = arrays_of(stages_of(exercise("001/task")));
    CHECK(says("001/task", {{"q", Tensor(Shape{2, 5, 16})}}) ==
          "q has the shape [2, 5, 16], expected [2, 4, 5, 4]: [batch, head, token, d]; reshape into heads first, then "
          "transpose.");
    CHECK(says("001/task", {{"output", Tensor(Shape{3})}}) ==
          "output has the shape [3], expected [2, 5, 16]: [batch, token, d].");
    Arrays odd = {{"output", right.at("output")}};
    odd.at("output").values[16] = std::numeric_limits<float>::quiet_NaN();
    CHECK(says("001/task", odd) == "output has 1 NaN, the first at [0, 1, 0].");
    CHECK(test::error_message([] {
            says("001/task", {});
          }).starts_with("001/task: there is nothing to compare; give at least one of q, k"));
    CHECK(test::error_message([] {
            says("001/task", {{"wieghts\n", Tensor(Shape{1})}});
          }).starts_with("001/task has no stage 'wieghts"));
    CHECK(test::error_message([] {
            exercise("005/x");
          }).starts_with("there is no exercise '005/x': choose from 000/attention, "));
    // Softmax of a row that is all -inf.
    Arrays rows = arrays_of(stages_of(exercise("000/minus-infinity")));
    const Tensor uniform = arrays_of(stages_of(exercise("000/attention"))).at("weights");
    Tensor& weights = rows.at("weights");
    bool has_empty = false;
    for (std::size_t i = 0; i < weights.values.size(); i += 3) {
      if (weights.values[i] + weights.values[i + 1] + weights.values[i + 2] != 0.0F) continue;
      CHECK(uniform.values[i] == doctest::Approx(1.0 / 3.0));
      weights.values[i] = std::numeric_limits<float>::quiet_NaN();
      has_empty = true;
    }
    CHECK(has_empty);
    CHECK(says("000/minus-infinity", {{"weights", weights}})
              .ends_with(": all keys of that row are masked with -inf, so that softmax divides 0 by 0."));
  }

  TEST_CASE("a capture's names and axes of one are taken, and the result is kept") {
    const TemporaryDirectory folder;
    setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
    const Arrays right = arrays_of(stages_of(exercise("004/attention")));
    const auto squeezed = [](Tensor tensor) {
      while (tensor.shape.front() == 1) tensor.shape.erase(tensor.shape.begin());
      return tensor;
    };
    const Solution part({{"q.0", squeezed(right.at("q"))}, {"attention.0", squeezed(right.at("weights"))}});
    CHECK(take_solution("004/attention", part.path).right == std::vector<std::string>{"q", "weights"});
    CHECK_FALSE(is_exercise_passed("004/attention"));
    CHECK(exercise_of(part.path).empty());
    const Solution whole({{"merged", squeezed(right.at("merged"))}}, {{"exercise", "004/attention"}});
    CHECK(exercise_of(whole.path) == "004/attention");
    CHECK(take_solution("004/attention", whole.path).is_passed);
    CHECK(is_exercise_passed("004/attention"));
    CHECK_FALSE(is_exercise_passed("004/heads"));
    write_file_atomically(result_file("004/heads"), read_file(result_file("004/attention")));
    CHECK_FALSE(is_exercise_passed("004/heads"));  // another exercise's
    write_file_atomically(result_file("004/attention"), std::string_view("{\"headlight_exercise\": [1"));
    CHECK_FALSE(is_exercise_passed("004/attention"));
    unsetenv("XDG_STATE_HOME");
  }

  TEST_CASE("the inputs of every exercise have vectors or Q, K and V, weights and a mask") {
    const TemporaryDirectory folder;
    for (const Exercise& one : exercises()) {
      CAPTURE(std::string(one.name));
      const std::filesystem::path path = folder.path() / "inputs.safetensors";
      write_inputs(one, path);
      const model::SafetensorsFile inputs(path);
      CHECK(inputs.has("mask"));
      CHECK((inputs.has("w_q") ? inputs.has("x") : inputs.has("q")));
      // Weights have been given as PyTorch has them: x · Wᵀ + b, cut into heads, is Q.
      if (!inputs.has("w_q")) continue;
      const Tensor x = inputs.tensor("x"), w = inputs.tensor("w_q"), q = arrays_of(stages_of(one)).at("q");
      const Tensor b = inputs.has("b_q") ? inputs.tensor("b_q") : Tensor(Shape{w.axis(0)});
      const std::uint32_t d_model = w.axis(1), d_k = q.axis(3);
      double largest = 0.0;
      for (std::uint32_t token = 0; token < q.axis(2); ++token) {
        for (std::uint32_t out = 0; out < w.axis(0); ++out) {
          double sum = double{b.values[out]};
          for (std::uint32_t i = 0; i < d_model; ++i) sum += double{x.values[token * d_model + i]} * double{w.at({out, i})};
          largest = std::max(largest, std::abs(sum - double{q.at({0, out / d_k, token, out % d_k})}));
        }
      }
      CHECK(largest < 1e-5);
    }
  }
}

}  // namespace exercises_test
