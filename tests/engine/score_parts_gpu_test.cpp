// A score as a sum over what wrote its query and its key: against the device's own scores, and against every writer's
// vectors carried through the norms by numpy (tools/make_why_golden.py).
#include "app/engine/analyses/score_parts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/two_runs.h"
#include "support/deviation.h"
#include "support/golden_model.h"

namespace score_parts_gpu_test {

using namespace headlight;
using namespace headlight::app;
using attribution::Writer, attribution::WriterKind;

namespace {

/// An engine on the device with one model's text.
struct AskedDevice : AskedAnalysis {
  explicit AskedDevice(State of) : AskedAnalysis("gpt2", "", open_gpu_runner) { state = std::move(of); }

  const ScoreParts& parts_of(const ScoreQuestion& question) {
    answer = ask(question);
    REQUIRE(answer.error == "");
    return found_in<ScoreParts>(answer);
  }

  Analysed answer;
};

/// |sum − score| of parts and means, relative to the largest part.
double deviation(const ScoreParts& found) {
  double largest = 1.0, worst = 0.0;
  for (const ScorePart& part : found.pairs) largest = std::max({largest, std::abs(part.raw), std::abs(part.mean)});
  test::raise_to(worst, std::abs(found.sum().raw - found.score.raw) / largest);
  test::raise_to(worst, std::abs(found.sum().mean - found.score.mean) / largest);
  return worst;
}

/// The writer as numpy names it.
std::string name_of(const Writer& writer) {
  const auto block = fmt::format("{} {}", model::to_string(writer.block.kind), writer.block.layer.value);
  switch (writer.kind) {
    case WriterKind::Token:
      return "token";
    case WriterKind::Position:
      return "position";
    case WriterKind::Type:
      return "type";
    case WriterKind::Before:
      return "before";
    case WriterKind::Head:
      return fmt::format("{} {}", block, writer.head);
    case WriterKind::AttentionBias:
      return "b_O " + block;
    case WriterKind::FeedForward:
      return fmt::format("mlp {}", writer.block.layer.value);
    default:
      return "bias";
  }
}

model::BlockKind kind_of(const std::string& name) {
  return name == "cross"     ? model::BlockKind::Cross
         : name == "decoder" ? model::BlockKind::DecoderSelf
                             : model::BlockKind::EncoderSelf;
}

std::size_t place_in(const nlohmann::json& names, const Writer& writer) {
  const auto found = std::find(names.begin(), names.end(), name_of(writer));
  REQUIRE_MESSAGE(found != names.end(), name_of(writer));
  return static_cast<std::size_t>(found - names.begin());
}

/// The largest difference from numpy's numbers of a cell, scores relative to the score.
double difference(const ScoreParts& found, const nlohmann::json& wanted) {
  double worst = 0.0;
  const double size = std::max(std::abs(wanted.at("score").get<double>()), 1.0);
  const auto compare = [&](double number, const nlohmann::json& expected) {
    test::raise_to(worst, std::abs(number - expected.get<double>()) / size);
  };
  REQUIRE(found.queries.size() == wanted.at("queries").size());
  REQUIRE(found.keys.size() == wanted.at("keys").size());
  for (std::size_t u = 0; u < found.queries.size(); ++u) {
    const std::size_t row = place_in(wanted.at("queries"), found.queries[u]);
    for (std::size_t v = 0; v < found.keys.size(); ++v) {
      const std::size_t column = place_in(wanted.at("keys"), found.keys[v]);
      compare(found.pair(u, v).raw, wanted.at("raw").at(row).at(column));
      compare(found.pair(u, v).mean, wanted.at("mean").at(row).at(column));
    }
  }
  compare(found.sum().raw, wanted.at("score"));
  compare(found.weight, wanted.at("weight"));
  for (const auto& [writer, without] : found.without) {
    const std::string name = name_of(writer);
    if (without.query) compare(*without.query, wanted.at("no_query").at(name));
    if (without.keys) compare(*without.keys, wanted.at("no_keys").at(name));
    if (without.both) compare(*without.both, wanted.at("neither").at(name));
  }
  CHECK(found.without.size() >= wanted.at("no_keys").size());
  return worst;
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("pairs, means and the weight without a writer, in eight families, are numpy's") {
    nlohmann::json golden;
    std::ifstream(std::string(HEADLIGHT_GOLDEN_DIR) + "/why.json") >> golden;
    REQUIRE(golden.size() == 8);
    double worst = 0.0;
    for (const auto& item : golden.items()) {
      const std::string& name = item.key();
      const nlohmann::json& model = item.value();
      AskedDevice asked(text_of(name, model.at("ids").get<Ids>(), model.value("target_ids", Ids())));
      for (const nlohmann::json& cell : model.at("cells")) {
        CAPTURE(name);
        CAPTURE(cell.at("kind").get<std::string>());
        const model::BlockRef block{kind_of(cell.at("kind")), LayerIndex{cell.at("layer").get<std::uint32_t>()}};
        const ScoreParts& found =
            asked.parts_of({.head = {block, cell.at("head")}, .query = cell.at("query"), .key = cell.at("key")});
        test::raise_to(worst, difference(found, cell));
        CHECK(worst < 1e-5);
      }
    }
    MESSAGE("largest difference ", worst);
  }

  TEST_CASE("in every family the parts of a score sum to the device's, or it is said why there are none") {
    double worst = 0.0;
    std::set<std::string> refused;
    for (const std::string& name : test::golden_models()) {
      CAPTURE(name);
      AskedDevice asked(text_of(name, {5, 9, 2, 7, 5, 9, 11, 3, 4}, {}));
      (void)asked.ask(ScoreQuestion{});
      if (!asked.result.network->layers->decoder.empty()) {
        asked.state.model().target_ids = {{1, 6, 2, 8, 3, 3, 7, 5, 4}};
        (void)asked.ask(ScoreQuestion{});
      }
      const BlockShapes shapes = asked.result.shapes;
      for (const auto& [block, shape] : shapes) {
        for (const attention::Cell cell : {attention::Cell{1, 0}, attention::Cell{6, 6}, attention::Cell{8, 5}}) {
          if (cell.query >= shape.queries || cell.key >= shape.keys) continue;
          const ScoreQuestion question{.head = {block, shape.heads - 1}, .query = cell.query, .key = cell.key};
          CAPTURE(question.head.block.layer.value);
          const Analysed answer = asked.ask(question);
          if (answer.error.find("cuts queries and keys off") != std::string::npos) {
            refused.insert(name);
            continue;
          }
          if (answer.error.find("the mask hides this key") != std::string::npos) continue;
          CAPTURE(cell.query);
          REQUIRE(answer.error == "");
          const double off = deviation(found_in<ScoreParts>(answer));
          CHECK(off < 1e-5);
          test::raise_to(worst, off);
        }
      }
    }
    MESSAGE("largest difference ", worst);
    CHECK(refused == std::set<std::string>{"mpt", "olmo", "olmoe"});
  }

  TEST_CASE("every cell of a text of 20 tokens, and the source tokens of every head's part") {
    State state = text_at(std::string(HEADLIGHT_ASSETS_DIR) + "/models/captions-gpt2", {});
    state.model().ids.clear();
    state.text() = "a man rides a brown horse and a woman sees it . a man rides a brown horse";
    AskedDevice asked(state);
    (void)asked.ask(ScoreQuestion{});
    double worst = 0.0;
    std::size_t cells = 0;
    const BlockShapes shapes = asked.result.shapes;
    for (const auto& [block, shape] : shapes) {
      REQUIRE(shape.queries >= 20);
      for (std::uint32_t query = 0; query < 20; ++query) {
        for (std::uint32_t key = 0; key <= query; ++key) {
          const std::uint32_t head = (query + key) % shape.heads;
          test::raise_to(worst, deviation(asked.parts_of({.head = {block, head}, .query = query, .key = key})));
          ++cells;
        }
      }
    }
    CHECK(cells == 210 * shapes.size());
    MESSAGE("largest difference ", worst);
    CHECK(worst < 1e-5);
    const ScoreQuestion question{.head = {encoder_block(1), 4}, .query = 18, .key = 6};
    const ScoreParts found = asked.parts_of(question);
    for (std::size_t i = 0; i < found.queries.size(); ++i) {
      if (found.queries[i].kind != WriterKind::Head) continue;
      double as_query = 0.0, as_key = 0.0;
      for (std::size_t other = 0; other < found.keys.size(); ++other) {
        as_query += found.pair(i, other).value(false);
        as_key += found.pair(other, i).raw;
      }
      ScoreSourcesQuestion sources{question, {found.queries[i].block, found.queries[i].head}, false};
      const Analysed of_query = asked.ask(sources);
      CHECK(sum_of(found_in<ScoreSources>(of_query).tokens) == doctest::Approx(as_query).epsilon(1e-4));
      sources.is_of_key = true;
      const Analysed of_key = asked.ask(sources);
      CHECK(sum_of(found_in<ScoreSources>(of_key).tokens) == doctest::Approx(as_key).epsilon(1e-4));
    }
  }

  TEST_CASE("what has no parts is said in words") {
    AskedDevice asked(text_of("gpt2", {5, 9, 2, 7}));
    const auto error = [&](const ScoreQuestion& question) { return asked.ask(question).error; };
    CHECK(error({.head = {}, .query = 99}) == "this run has no such cell");
    CHECK(error({.head = {}, .query = 1, .key = 3}) == "the mask hides this key from the query, so it has no score");
    ScoreSourcesQuestion sources{{.head = {encoder_block(0), 0}, .query = 3, .key = 1}, {encoder_block(1), 0}, false};
    CHECK(asked.ask(sources).error == "this head writes nothing that the query reads");
    asked.state.patterns[{encoder_block(1), 2}] = {};
    CHECK(error({.head = {encoder_block(1), 2}, .query = 3}) ==
          "an intervention replaces this head\u2019s pattern: they were written by nothing before");
    CHECK(error({.head = {encoder_block(1), 1}, .query = 3}) == "");
  }
}

}  // namespace score_parts_gpu_test
