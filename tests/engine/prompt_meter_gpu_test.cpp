// Measures of a set's prompts: parts that a model lacks are left out, and batches give the numbers of single runs.
#include <doctest/doctest.h>

#include "app/data/prompts/prompt_room.h"
#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/lens_cells.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/engine.h"
#include "core/file.h"
#include "engine/two_runs.h"
#include "support/golden.h"
#include "support/temporary_directory.h"

namespace prompt_meter_gpu_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const std::string kCaptions = std::string(HEADLIGHT_ASSETS_DIR) + "/models/captions-gpt2";

/// Five prompts of different lengths that fit the model, and three that don't.
constexpr const char* kPrompts =
    R"({"text": "a man and a woman are at the beach , the man gives a ball to the", "corrupted": "a man and a woman are at the beach , the boy gives a ball to the", "positions": {"A": "woman", "B": "man", "B2": [40, 43]}, "answer": " woman", "wrong": " man"}
{"text": "a dog runs in the", "corrupted": "a cat runs in the", "positions": {"A": "dog"}, "answer": " grass", "wrong": " water"}
{"text": "two boys play in the snow and a girl", "corrupted": "two men play in the snow and a girl", "positions": {"A": "boys"}, "answer": " is", "wrong": " are"}
{"text": "the woman in the red shirt", "corrupted": "the man in the red shirt", "positions": {"A": "woman"}, "answer": " is"}
{"text": "a child on a bike", "corrupted": "a girl on a bike", "positions": {"A": "child"}, "answer": " in", "wrong": " on"}
{"text": "a dog runs in the", "answer": " Xylophonic", "wrong": " water"}
{"text": "a dog runs in the", "answer": " grass", "wrong": " water"}
{"text": "a dog runs in the", "corrupted": "a big brown dog runs in the", "answer": " grass", "wrong": " water"}
)";

struct Set {
  Set() { write_file_atomically(folder.path() / "set.jsonl", std::string(kPrompts)); }
  std::string file() const { return (folder.path() / "set.jsonl").string(); }
  TemporaryDirectory folder;
};

State state_of(const Set& set, PromptExperiment experiment) {
  State state;
  select_model(state, kCaptions, inference::open_model(kCaptions)->masks);
  state.set(kPromptsView.set, set.file());
  state.set(kPromptsView.experiment, experiment);
  return state;
}

PromptFindings measure(Engine& engine, const State& state) {
  const auto models = std::make_shared<ModelCache>();
  const auto held = models->open(kCaptions);
  const PromptQuestion question = prompt_question(state, run_inputs(state));
  const auto asked =
      engine.ask<PromptFindings>([=](TellPrompts tell) { return measure_prompts(question, models, {}, std::move(tell)); });
  engine.wait_until_idle();
  REQUIRE(asked.is_done());
  return *asked.result();
}

/// The prompt's text and corrupted text, each as a run of its own.
State single(const State& state, const std::vector<std::uint32_t>& ids) {
  State one = state;
  one.model().ids = {ids};
  return one;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("prompts that don't fit a model are left out of what needs it, with the reason") {
    const Set set;
    const auto models = std::make_shared<ModelCache>();
    const auto held = models->open(kCaptions);
    State state = state_of(set, PromptExperiment::Knockouts);
    const auto fit = [&] {
      auto task = fit_set(prompt_question(state, run_inputs(state)), models);
      while (!task.is_done()) task.take({});
      return task.answer();
    };
    PromptFindings found = fit();
    REQUIRE(found.prompts() == 8);
    CHECK(found.included() == 7);
    CHECK(found.left_out[5].find("\u201C Xylophonic\u201D is ") == 0);
    CHECK(found.left_out[5].find(" tokens of this model") != std::string::npos);
    CHECK(found.columns.size() == 8);
    state.set(kPromptsView.experiment, PromptExperiment::Patching);
    found = fit();
    CHECK(found.included() == 5);
    CHECK(found.left_out[6] == "it has no corrupted text");
    CHECK(found.left_out[7] == "the corrupted text has 7 tokens, the text 5");
    CHECK(found.columns == std::vector<std::string>{"A", "B", "B2", "end"});
    state.set(kPromptsView.experiment, PromptExperiment::Metrics);
    CHECK(fit().included() == 8);
    // Positions are the last tokens of spans; the answer is one token.
    const FittedPrompt& first = (*found.fitted)[0];
    CHECK(first.position("A") == 4);
    CHECK(first.position("B2") == 12);
    CHECK(first.position("end") == first.ids.size() - 1);
    CHECK(held->tokenizer->token_string(first.answer) == "\u0120woman");
    CHECK_FALSE((*found.fitted)[3].wrong);
  }

  TEST_CASE("the spread of a cell is of the prompts that have it") {
    const std::vector<std::optional<double>> values = {2.0, std::nullopt, 4.0, 9.0};
    const PromptSpread spread = spread_of(values);
    CHECK(spread.count == 3);
    CHECK(spread.mean == doctest::Approx(5.0));
    CHECK(spread.deviation == doctest::Approx(std::sqrt(13.0)));  // (9 + 1 + 16) / 2
    CHECK(spread.lowest == 0);
    CHECK(spread.highest == 3);
    CHECK(spread_of(std::vector<std::optional<double>>{}).count == 0);
  }

  TEST_CASE("the strongest cell has the mean farthest from 0") {
    PromptFindings found{.layers = {0, 1}, .columns = {"0", "1"}};
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    for (const std::vector<float>& cells : {std::vector<float>{3.0F, -2.0F, kNone, 1.0F}, {-3.0F, -1.5F, kNone, 1.0F}}) {
      found.left_out.emplace_back();
      found.numbers.push_back(std::make_shared<const PromptNumbers>(PromptNumbers{.cells = {cells, {kNone, kNone, kNone}}}));
    }
    CHECK(strongest_cell(found, 0) == 1);
    CHECK_FALSE(strongest_cell(found, 1));
  }

  TEST_CASE("what an earlier measurement finds doesn't replace what was asked since") {
    const Set set;
    const auto models = std::make_shared<ModelCache>();
    const auto held = models->open(kCaptions);
    int opened = 0;
    Engine engine({.open = [&](const std::string&) -> std::unique_ptr<Runner> {
                     ++opened;
                     throw Error("there is no device");
                   },
                   .device = ""});
    PromptRoom room(engine, models);
    const State state = state_of(set, PromptExperiment::Knockouts);
    const PromptQuestion question = prompt_question(state, run_inputs(state));
    room.want(question);
    room.forget();
    CHECK_FALSE(room.findings());
    CHECK_FALSE(room.is_busy());
    room.want(question);
    engine.wait_until_idle();
    CHECK(room.findings()->error == "there is no device");
    CHECK(room.findings()->set);
    CHECK(opened == 1);
  }

  TEST_CASE("a question doesn't depend on the present text, nor on what the experiment doesn't read") {
    const Set set;
    State state = state_of(set, PromptExperiment::Knockouts);
    const auto ask = [&] { return prompt_question(state, run_inputs(state)); };
    const PromptQuestion before = ask();
    state.model().text = "another text";
    state.model().joins_lines = true;
    state.patching.map = PatchMap::Heads;
    state.set(kWhatIfView.measure, KnockoutMeasure::Probability);
    CHECK(ask() == before);
    state.set(kWhatIfView.ablation, Ablation::Mean);
    CHECK_FALSE(ask() == before);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the mean over a set is the mean of single runs: knock-outs, patches, attribution, lens, metrics") {
    const Set set;
    Engine engine({.open = open_gpu_runner, .device = ""});
    TwoRuns runs;
    const auto compare = [&](const State& state, std::size_t measure_of, const auto& of_single) {
      const PromptFindings found = measure(engine, state);
      CHECK(found.is_complete());
      double largest = 0.0;
      std::vector<std::vector<double>> alone(found.layers.size() * found.columns.size());
      for (std::size_t prompt = 0; prompt < 5; ++prompt) {
        REQUIRE(found.numbers[prompt]);
        CHECK(found.numbers[prompt]->error == "");
        const FittedPrompt& fitted = (*found.fitted)[prompt];
        of_single(fitted, single(state, fitted.ids), single(state, fitted.corrupted),
                  [&](std::size_t row, std::size_t column, double value) {
                    alone[row * found.columns.size() + column].push_back(value);
                  });
      }
      std::size_t cells = 0;
      for (std::size_t cell = 0; cell < alone.size(); ++cell) {
        std::vector<std::optional<double>> of_five(5);
        for (std::size_t prompt = 0; prompt < 5; ++prompt) of_five[prompt] = found.value(prompt, measure_of, cell);
        const PromptSpread spread = spread_of(of_five);
        CHECK(spread.count == alone[cell].size());
        if (alone[cell].empty()) continue;
        double mean = 0.0;
        for (const double value : alone[cell]) mean += value / static_cast<double>(alone[cell].size());
        largest = std::max(largest, std::abs(spread.mean - mean));
        ++cells;
      }
      CHECK(cells > 4);
      return largest;
    };
    const auto measured = [](const FittedPrompt& fitted) {
      return MeasuredToken{.position = fitted.end, .token = fitted.answer, .other = fitted.wrong};
    };
    const auto knockouts = [&](const FittedPrompt& fitted, const State& text, const State& corrupted, const auto& keep) {
      const auto found = runs.find<HeadKnockouts>(
          text, corrupted, KnockoutsQuestion{.position = fitted.end, .token = fitted.answer, .other = fitted.wrong});
      for (const auto& [head, numbers] : found.without)
        keep(head.block.layer.value, head.head, numbers.logit - found.present.logit);
    };
    CHECK(compare(state_of(set, PromptExperiment::Knockouts), 0, knockouts) <= 1e-5);  // observed 2.8e-17

    const auto patches = [&](const FittedPrompt& fitted, const State& text, const State& corrupted, const auto& keep) {
      const auto found = runs.find<PatchEffects>(
          text, corrupted, PatchingQuestion{.kind = model::BlockKind::EncoderSelf, .measured = measured(fitted)});
      for (std::size_t row = 0; row < found.rows(); ++row) {
        for (const auto& [name, token] : fitted.positions) {
          const std::size_t column = name == "A" ? 0 : name == "B" ? 1 : name == "B2" ? 2 : 3;
          keep(row, column, found.at(row, token)->logit - found.target.logit);
        }
      }
    };
    CHECK(compare(state_of(set, PromptExperiment::Patching), 0, patches) <= 1e-5);  // observed 1.4e-17

    State heads = state_of(set, PromptExperiment::Patching);
    heads.patching.map = PatchMap::Heads;
    const auto head_patches = [&](const FittedPrompt& fitted, const State& text, const State& corrupted, const auto& keep) {
      const auto found = runs.find<PatchEffects>(
          text, corrupted,
          PatchingQuestion{
              .site = model::Site::HeadOutput, .kind = model::BlockKind::EncoderSelf, .measured = measured(fitted)});
      for (std::size_t row = 0; row < found.rows(); ++row) {
        for (std::size_t head = 0; head < found.columns; ++head)
          keep(row, head, found.at(row, head)->logit - found.target.logit);
      }
    };
    CHECK(compare(heads, 0, head_patches) <= 1e-5);  // observed 1.4e-17

    State paths = state_of(set, PromptExperiment::Paths);
    paths.patching.receiver = {.layer = 2, .head = 1, .input = PathInput::Query};
    const auto path_patches = [&](const FittedPrompt& fitted, const State& text, const State& corrupted, const auto& keep) {
      const HeadRef receiver{.block = encoder_block(2), .head = 1};
      const auto found = runs.find<PatchEffects>(text, corrupted,
                                                 PathQuestion{.receiver = receiver,
                                                              .senders = model::BlockKind::EncoderSelf,
                                                              .recomputes_mlps = true,
                                                              .measured = measured(fitted)});
      for (std::size_t row = 0; row < found.rows(); ++row) {
        for (std::size_t head = 0; head < found.columns; ++head)
          keep(row, head, found.at(row, head)->logit - found.target.logit);
      }
    };
    CHECK(compare(paths, 0, path_patches) <= 1e-5);  // observed 5.4e-20

    const auto attribution = [&](const FittedPrompt& fitted, const State& text, const State& corrupted, const auto& keep) {
      const auto found = runs.find<LogitAttribution>(
          text, corrupted, LogitQuestion{.position = fitted.end, .token = fitted.answer, .other = fitted.wrong});
      for (std::size_t row = 0; row < found.layers.size(); ++row) {
        for (std::size_t head = 0; head < 8; ++head) keep(row, head, found.layers[row].heads[head]);
        keep(row, 8, found.layers[row].mlp);
      }
    };
    CHECK(compare(state_of(set, PromptExperiment::Attribution), 0, attribution) <=
          1e-5);  // observed 1.2e-8: cells are float32

    const auto lens = [&](const FittedPrompt& fitted, const State& text, const State& corrupted, const auto& keep) {
      for (const bool is_wrong : {false, true}) {
        const auto token = is_wrong ? fitted.wrong : std::optional(fitted.answer);
        if (!token) continue;
        for (const std::uint32_t first : {0U, 4U}) {
          const auto found =
              runs.find<LensCells>(text, corrupted, LensQuestion{.token = fitted.end, .first = first, .ranked = token});
          for (std::size_t at = 0; at < found.layers.size(); ++at)
            keep(first + at, is_wrong ? 1 : 0, found.layers[at].probability);
        }
      }
    };
    CHECK(compare(state_of(set, PromptExperiment::Lens), 0, lens) <= 1e-6);  // observed 1.6e-9

    const auto metrics = [&](const FittedPrompt& /*fitted*/, const State& text, const State& corrupted, const auto& keep) {
      const auto found =
          runs.find<HeadMetricsFound>(text, corrupted, HeadMetricsQuestion{.kind = model::BlockKind::EncoderSelf});
      for (const auto& [head, values] : found.heads) {
        if (const auto value = values.value(evaluation::HeadMetric::Entropy))
          keep(head.block.layer.value, head.head, *value);
      }
    };
    CHECK(compare(state_of(set, PromptExperiment::Metrics), static_cast<std::size_t>(evaluation::HeadMetric::Entropy),
                  metrics) <= 1e-5);  // observed 2.4e-8
  }

  TEST_CASE("paths without a chosen receiver end in the head and input into which the strongest one leads over the set") {
    const Set set;
    Engine engine({.open = open_gpu_runner, .device = ""});
    State state = state_of(set, PromptExperiment::Paths);
    const PromptFindings found = measure(engine, state);
    REQUIRE(found.receiver);
    CHECK(found.is_complete());
    CHECK(found.search.empty());
    const auto strongest = [](const PromptFindings& of) {
      const std::optional<std::size_t> cell = strongest_cell(of, 0);
      return cell ? std::abs(spread_of(of, 0, *cell).mean) : 0.0;
    };
    // The receiver is, among the heads after the first layer, one of the three whose outputs change the logit the most.
    State alone = state_of(set, PromptExperiment::Patching);
    alone.patching.map = PatchMap::Heads;
    const PromptFindings heads = measure(engine, alone);
    const std::size_t receiver = found.receiver->layer * 8 + found.receiver->head;
    int stronger = 0;
    for (std::size_t cell = 8; cell < 32; ++cell)
      stronger += std::abs(spread_of(heads, 0, cell).mean) > std::abs(spread_of(heads, 0, receiver).mean) ? 1 : 0;
    CHECK(stronger < 3);
    for (const PathInput input : {PathInput::Query, PathInput::Key, PathInput::Value}) {
      state.patching.receiver = *found.receiver;
      state.patching.receiver.input = input;
      const PromptFindings chosen = measure(engine, state);
      CHECK_FALSE(chosen.receiver);
      CHECK(strongest(chosen) <= strongest(found));
      if (input != found.receiver->input) continue;
      for (std::size_t cell = 0; cell < 32; ++cell)  // the same numbers, to the last bit
        CHECK(spread_of(chosen, 0, cell).mean == spread_of(found, 0, cell).mean);
    }
  }

  TEST_CASE("means and deviations over a set are those of PyTorch: knock-outs, the residual stream patched at positions") {
    const nlohmann::json golden = test::golden("prompts.json");
    const TemporaryDirectory folder;
    std::string lines;
    for (const nlohmann::json& line : golden.at("set")) lines += line.get<std::string>() + "\n";
    write_file_atomically(folder.path() / "set.jsonl", lines);
    const std::string model = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/gpt2";
    Engine engine({.open = open_gpu_runner, .device = ""});
    const auto found_by = [&](PromptExperiment experiment) {
      State state;
      select_model(state, model, inference::open_model(model)->masks);
      state.set(kPromptsView.set, (folder.path() / "set.jsonl").string());
      state.set(kPromptsView.experiment, experiment);
      return measure(engine, state);
    };
    double largest = 0.0;
    const auto compare = [&](const PromptSpread& spread, const nlohmann::json& expected) {
      CHECK(spread.count == expected.at("count"));
      largest = std::max({largest, std::abs(spread.mean - expected.at("mean").get<double>()),
                          std::abs(spread.deviation - expected.at("deviation").get<double>())});
    };
    const PromptFindings knockouts = found_by(PromptExperiment::Knockouts), patches = found_by(PromptExperiment::Patching);
    std::vector<std::optional<double>> own;
    for (const auto& numbers : knockouts.numbers) own.emplace_back(numbers->own->logit);
    compare(spread_of(own), golden.at("own"));
    REQUIRE(patches.columns == std::vector<std::string>{"word", "end"});
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (std::size_t head = 0; head < 6; ++head)
        compare(spread_of(knockouts, 0, layer * 6 + head), golden.at("knockouts")[layer][head]);
      for (std::size_t column = 0; column < 2; ++column)
        compare(spread_of(patches, 0, layer * 2 + column), golden.at("residual").at(patches.columns[column])[layer]);
    }
    CHECK(largest <= 1e-5);  // observed 9.8e-7
  }

  TEST_CASE("a set is measured in the background, paused, gone on with, and kept for the next time") {
    const Set set;
    Engine engine({.open = open_gpu_runner, .device = ""});
    const auto models = std::make_shared<ModelCache>();
    const auto held = models->open(kCaptions);
    PromptRoom room(engine, models);
    CHECK_FALSE(room.is_busy());
    const State state = state_of(set, PromptExperiment::Attribution);
    const PromptQuestion question = prompt_question(state, run_inputs(state));
    room.want(question);
    CHECK(room.is_busy());
    room.pause(true);
    room.want(question);
    CHECK_FALSE(room.is_busy());
    room.pause(false);
    room.want(question);
    engine.wait_until_idle();
    const auto first = room.findings();
    REQUIRE(first);
    CHECK(first->error == "");
    CHECK(first->measured() == 7);
    PromptQuestion other = question;
    other.set = "no-such-set";
    room.want(other);
    engine.wait_until_idle();
    CHECK(room.findings()->error.find("no-such-set.jsonl") != std::string::npos);
    room.want(question);  // another set in between: it is read anew
    engine.wait_until_idle();
    const auto again = room.findings();
    CHECK(again->measured() == 7);
    PromptQuestion metrics = question;
    metrics.experiment = PromptExperiment::Metrics;
    room.want(metrics);
    CHECK(room.is_busy());
    room.want(question);
    CHECK_FALSE(room.is_busy());
    CHECK(room.findings() == again);
    room.allow(false);
    room.want(metrics);
    CHECK_FALSE(room.is_busy());
    room.allow(true);
    room.want(metrics);
    engine.wait_until_idle();
    CHECK(room.findings()->measured() == 8);
  }
}

}  // namespace prompt_meter_gpu_test
