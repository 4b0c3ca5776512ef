// Path patching: against PyTorch, in both directions, and what can't be asked.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/engine/analyses/patching.h"
#include "core/json.h"
#include "engine/counting_runner.h"
#include "engine/two_runs.h"
#include "support/gpu.h"

namespace path_patching_gpu_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const Ids kPathText = {5, 9, 2, 7, 5, 9, 11}, kPathOther = {5, 4, 2, 7, 5, 9, 11};

model::BlockKind block_kind(const std::string& name) {
  return name == "encoder"   ? model::BlockKind::EncoderSelf
         : name == "decoder" ? model::BlockKind::DecoderSelf
                             : model::BlockKind::Cross;
}

PathInput path_input(const std::string& name) {
  return name == "query" ? PathInput::Query : name == "key" ? PathInput::Key : PathInput::Value;
}

/// A path to a head of a model with one stack, of the prediction behind token 6.
struct Path {
  std::uint32_t layer = 1, head = 2;
  PathInput input = PathInput::Query;
  bool recomputes_mlps = false, into_baseline = false;
  std::optional<std::uint32_t> token = {};
};

/// The map of a path, of passes that are computed together or one by one.
struct PathMap {
  PatchEffects effects;
  CountingRunner::Counts counts = {};
  bool is_exact = false;
};

PathMap found_by(const State& present, const State& baseline, const AnalysisQuery& query, std::size_t most_copies) {
  PathMap map;
  const auto counts = std::make_shared<CountingRunner::Counts>();
  EngineWorker worker{{.open =
                           [&](const std::string&) {
                             auto runner = std::make_unique<CountingRunner>(counts, most_copies);
                             map.is_exact = runner->is_exact();
                             return runner;
                           },
                       .tile_bytes = kDefaultTileBytes,
                       .models = std::make_shared<ModelCache>(),
                       .watch_load = [](std::size_t, std::size_t) { return true; }}};
  worker.open("");
  worker.begin({.revision = 1, .inputs = run_inputs(present), .queries = {query}, .baseline = run_inputs(baseline)});
  while (worker.has_more()) worker.evaluate_some();
  const EngineResult result = worker.snapshot();
  REQUIRE(result.error == "");
  REQUIRE(result.analysed(query));
  map.effects = found_in<PatchEffects>(*result.analysed(query));
  map.counts = *counts;
  return map;
}

AnalysisQuery query_of(const Path& path) {
  const PatchingChoices choices{.map = PatchMap::Paths,
                                .into_baseline = path.into_baseline,
                                .token = path.token,
                                .at_token = path.token.has_value(),
                                .receiver = {.input = path.input, .recomputes_mlps = path.recomputes_mlps}};
  const HeadRef receiver{.block = encoder_block(path.layer), .head = path.head};
  return path_patching_query(choices, receiver, model::BlockKind::EncoderSelf, 0, 6, 3, 8);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("paths are PyTorch's: to queries, keys and values, past MLPs and through them, of five models") {
    const nlohmann::json golden = read_json(std::string(HEADLIGHT_GOLDEN_DIR) + "/path_patching.json");
    REQUIRE(golden.size() == 5);
    double farthest = 0.0, farthest_probability = 0.0, strongest = 0.0;
    for (const auto& item : golden.items()) {
      const std::string& model = item.key();
      const nlohmann::json& expected = item.value();
      CAPTURE(model);
      TwoRuns runs;
      const auto ids = [&](const char* key) { return expected.at(key).get<Ids>(); };
      const auto number = [&](const char* key) { return expected.at(key).get<std::uint32_t>(); };
      const std::string path = model == "captions-gpt2" ? std::string(HEADLIGHT_ASSETS_DIR) + "/models/" + model
                                                        : std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + model;
      const State present = text_at(path, ids("ids"), ids("target_ids")),
                  baseline = text_at(path, ids("other_ids"), ids("other_target_ids"));
      const auto check = [&](const PatchedNumbers& found, const nlohmann::json& right) {
        const auto logit = right[0].get<double>();
        const double error = std::abs(found.logit - logit) / std::max(std::abs(logit), 1.0);
        const double off = std::abs(found.of(PatchMeasure::Probability) - right[1].get<double>());
        CHECK(error <= 2e-5);  // observed 6.8e-6
        CHECK(off <= 1e-5);    // observed 1.1e-6
        if (!(error <= farthest)) farthest = error;
        if (!(off <= farthest_probability)) farthest_probability = off;
      };
      for (const nlohmann::json& map : expected.at("maps")) {
        const nlohmann::json& to = map.at("receiver");
        CAPTURE(map.at("kind").get<std::string>());
        CAPTURE(to.dump());
        CAPTURE(map.at("mlps").get<std::string>());
        PatchingChoices choices{.map = PatchMap::Paths,
                                .receiver = {.input = path_input(to.at("input").get<std::string>()),
                                             .recomputes_mlps = map.at("mlps") == "recomputed"}};
        choices.at_token = !map.at("token").is_null();
        if (choices.at_token) choices.token = map.at("token").get<std::uint32_t>();
        const HeadRef receiver{.block = {.kind = block_kind(to.at("kind").get<std::string>()),
                                         .layer = LayerIndex{to.at("layer").get<std::uint32_t>()}},
                               .head = to.at("head").get<std::uint32_t>()};
        const PatchEffects found =
            runs.find<PatchEffects>(present, baseline,
                                    path_patching_query(choices, receiver, block_kind(map.at("kind").get<std::string>()), 0,
                                                        number("position"), number("token"), number("other")));
        REQUIRE(found.is_complete());
        check(found.target, expected.at("present"));
        check(found.source, expected.at("frozen"));
        const nlohmann::json& cells = map.at("cells");
        REQUIRE(found.layers.size() == cells.size());
        REQUIRE(found.columns == cells[0].size());
        for (std::size_t row = 0; row < cells.size(); ++row) {
          for (std::size_t column = 0; column < found.columns; ++column) {
            CAPTURE(row);
            CAPTURE(column);
            check(*found.at(row, column), cells[row][column]);
            strongest = std::max(strongest, std::abs(found.at(row, column)->logit - found.target.logit));
          }
        }
      }
    }
    MESSAGE("farthest logit, relative: ", farthest, ", probability: ", farthest_probability);
    CHECK(strongest > 0.005);  // the paths do something
  }

  TEST_CASE("paths of a layer's heads are computed together, and give the numbers of passes one by one") {
    const std::string captions = std::string(HEADLIGHT_ASSETS_DIR) + "/models/captions-gpt2";
    const Ids one = {64, 310, 12, 99, 1'500, 310, 12}, other = {64, 310, 77, 99, 1'500, 2'000, 12};
    struct Case {
      State present, baseline;
      AnalysisQuery query;
    };
    std::vector<Case> cases;
    for (const PathInput input : {PathInput::Query, PathInput::Key, PathInput::Value}) {
      for (const bool recomputes : {false, true}) {
        const Path path{.layer = 3, .input = input, .recomputes_mlps = recomputes};
        cases.push_back({.present = text_at(captions, one), .baseline = text_at(captions, other), .query = query_of(path)});
      }
    }
    using model::BlockKind;
    const HeadRef receiver{.block = {.kind = BlockKind::Cross, .layer = LayerIndex{1}}, .head = 1};
    for (const BlockKind senders : {BlockKind::EncoderSelf, BlockKind::DecoderSelf}) {
      const PathInput input = senders == BlockKind::EncoderSelf ? PathInput::Value : PathInput::Query;
      cases.push_back({.present = text_of("marian", kPathText, kPathText),
                       .baseline = text_of("marian", kPathOther, kPathOther),
                       .query = path_patching_query({.map = PatchMap::Paths, .receiver = {.input = input}}, receiver,
                                                    senders, 0, 4, 3, 8)});
    }
    double worst = 0.0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CAPTURE(i);
      const PathMap together = found_by(cases[i].present, cases[i].baseline, cases[i].query, 32),
                    alone = found_by(cases[i].present, cases[i].baseline, cases[i].query, 1);
      REQUIRE(together.effects.is_complete());
      REQUIRE(alone.effects.is_complete());
      CHECK(alone.counts.copies == 0);
      CHECK(together.counts.copies >= 2);  // two are tried at least, however long they take
      CHECK(static_cast<std::size_t>(together.counts.alone) + together.counts.copies ==
            static_cast<std::size_t>(alone.counts.alone));
      REQUIRE(together.effects.patched.size() == alone.effects.patched.size());
      for (std::size_t cell = 0; cell < alone.effects.patched.size(); ++cell) {
        CAPTURE(cell);
        REQUIRE(together.effects.patched[cell].has_value() == alone.effects.patched[cell].has_value());
        if (!alone.effects.patched[cell]) continue;
        const PatchedNumbers &found = *together.effects.patched[cell], &right = *alone.effects.patched[cell];
        const double error = std::max(std::abs(found.logit - right.logit) / std::max(1.0, std::abs(right.logit)),
                                      std::abs(found.log_probability - right.log_probability));
        CHECK(error <= (alone.is_exact ? 0.0 : 1e-4));  // observed 0 with functions for processors
        worst = std::max(worst, error);
      }
    }
    MESSAGE("paths together against one by one: ", worst);
  }

  TEST_CASE("both directions of a path are one question") {
    TwoRuns runs;
    const State one = text_of("gpt2", kPathText), other = text_of("gpt2", kPathOther);
    for (const PathInput input : {PathInput::Query, PathInput::Key, PathInput::Value}) {
      CAPTURE(static_cast<int>(input));
      const auto into_present = runs.find<PatchEffects>(one, other, query_of({.input = input}));
      const auto into_baseline = runs.find<PatchEffects>(other, one, query_of({.input = input, .into_baseline = true}));
      REQUIRE(into_present.layers == std::vector<std::uint32_t>{0});
      CHECK(into_present.target.logit != into_present.source.logit);
      for (std::size_t head = 0; head < into_present.columns; ++head) {
        const double difference = into_present.at(0, head)->logit - into_baseline.at(0, head)->logit;
        CHECK(std::abs(difference) <= test::between_tiles(1e-5));
      }
    }
  }

  TEST_CASE("a sender that gives the same changes no bit; paths through MLPs are others than those past them") {
    TwoRuns runs;
    const State one = text_of("gpt2", kPathText), other = text_of("gpt2", kPathOther);
    // Token 0 sees no other, and so gives what it gave.
    const auto elsewhere = runs.find<PatchEffects>(one, other, query_of({.token = 0}));
    const auto past = runs.find<PatchEffects>(one, other, query_of({}));
    const auto through = runs.find<PatchEffects>(one, other, query_of({.recomputes_mlps = true}));
    for (std::size_t head = 0; head < past.columns; ++head) {
      CHECK(elsewhere.at(0, head)->logit == elsewhere.target.logit);
      CHECK(past.at(0, head)->logit != past.target.logit);
      CHECK(past.at(0, head)->logit != through.at(0, head)->logit);
    }
  }

  TEST_CASE("paths that there aren't are said in words") {
    TwoRuns runs;
    const State one = text_of("marian", kPathText, kPathText), other = text_of("marian", kPathText, kPathOther);
    using model::BlockKind;
    const auto error = [&](BlockKind senders, HeadRef receiver, PathInput input, std::uint32_t token = 3) {
      const AnalysisQuery query =
          path_patching_query({.map = PatchMap::Paths, .receiver = {.input = input}}, receiver, senders, 0, 1, token, {});
      const EngineResult result = runs.ask(one, other, {query});
      REQUIRE(result.analysed(query));
      return result.analysed(query)->error;
    };
    const auto head = [](BlockKind kind, std::uint32_t layer, std::uint32_t number = 0) {
      return HeadRef{.block = {.kind = kind, .layer = LayerIndex{layer}}, .head = number};
    };
    CHECK(error(BlockKind::EncoderSelf, head(BlockKind::DecoderSelf, 1), PathInput::Key) ==
          "no direct path leads from heads of encoder attention to decoder attention's keys or values: choose Decoder or "
          "Cross");
    CHECK(error(BlockKind::Cross, head(BlockKind::Cross, 1), PathInput::Value) ==
          "no direct path leads from heads of cross attention to cross attention's keys or values: choose Encoder");
    CHECK(error(BlockKind::DecoderSelf, head(BlockKind::DecoderSelf, 0), PathInput::Query) ==
          "no head of this kind comes before the receiver: choose one in a later layer");
    CHECK(error(BlockKind::Cross, head(BlockKind::Cross, 0), PathInput::Query) ==
          "no head of this kind comes before the receiver: choose one in a later layer");
    CHECK(error(BlockKind::DecoderSelf, head(BlockKind::DecoderSelf, 9), PathInput::Query) ==
          "this run has no such receiver");
    CHECK(error(BlockKind::DecoderSelf, head(BlockKind::DecoderSelf, 1, 99), PathInput::Query) ==
          "this run has no such receiver");
    CHECK(error(BlockKind::DecoderSelf, head(BlockKind::DecoderSelf, 1), PathInput::Query, 1'000'000) ==
          "this run has no such prediction");
    CHECK(error(BlockKind::DecoderSelf, head(BlockKind::Cross, 0), PathInput::Query).empty());
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("the receiver is the last one where there is none of its number") {
    BlockShapes shapes;
    inference::BlockShape shape;
    shape.heads = 4;
    for (std::uint32_t layer = 0; layer < 3; ++layer) shapes[encoder_block(layer)] = shape;
    CHECK(receiver_in({}, shapes) == HeadRef{.block = encoder_block(2), .head = 0});
    CHECK(receiver_in({.layer = 1, .head = 9}, shapes) == HeadRef{.block = encoder_block(1), .head = 3});
    CHECK(receiver_in({.kind = model::BlockKind::Cross}, shapes) == std::nullopt);
  }
}

}  // namespace path_patching_gpu_test
