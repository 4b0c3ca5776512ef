// Heads by what they look at: from tokens to tokens, and by patterns, against whole maps of the reference.
#include "app/engine/analyses/head_ranking.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "app/engine/analyses/head_metrics.h"
#include "engine/asked_analysis.h"

namespace head_ranking_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const Selection kSelection{.block = {.kind = model::BlockKind::EncoderSelf, .layer = {}}};

/// The maps of the same run, whole.
std::shared_ptr<const ReferenceRun> run_of(const State& state) {
  RunSource sources;
  const RunSource::Source& source = sources.build(run_inputs(state));
  return std::make_shared<ReferenceRun>(
      inference::PassInputs{.network = source.network, .input = *source.input, .masks = state.masks, .interventions = {}});
}

/// Is the cell (query, key) of a map in the pattern?
using InPattern = std::function<bool(std::uint32_t query, std::uint32_t key)>;

struct Expected {
  double mass = 0.0, chance = 0.0;
  std::uint32_t queries = 0;
};

/// Measures a causal head by its whole map, in plain loops.
Expected measure(const inference::Run& run, const HeadRef& head, const InPattern& in_pattern) {
  const Tensor maps = run.stage(head.block, attention::Stage::Weights);
  const std::uint32_t n = maps.shape[2];
  Expected expected;
  for (std::uint32_t query = 0; query < n; ++query) {
    double mass = 0.0;
    std::uint32_t meant = 0;
    bool has_key = false;
    for (std::uint32_t key = 0; key < n; ++key) {
      if (!in_pattern(query, key)) continue;
      has_key = true;
      if (key > query) continue;
      ++meant;
      mass += double{maps.at({0, head.head, query, key})};
    }
    if (!has_key) continue;
    ++expected.queries;
    expected.mass += mass;
    expected.chance += double{static_cast<float>(meant)} / (query + 1.0);
  }
  if (expected.queries == 0) return expected;
  expected.mass /= expected.queries;
  expected.chance /= expected.queries;
  return expected;
}

void check_pattern(AskedAnalysis& asked, HeadPattern pattern, const std::string& typed, const InPattern& in_pattern) {
  const HeadRanking found = found_in<HeadRanking>(asked.ask(pattern_query(kSelection, pattern, typed)));
  CHECK(found.heads.size() == 12);
  CHECK(found.ranked_queries == found.queries);
  CHECK_FALSE(found.is_sampled);
  const auto run = run_of(asked.state);
  for (const auto& entry : found.heads) {
    const Expected expected = measure(*run, entry.first, in_pattern);
    REQUIRE(entry.second.has_value() == (expected.queries > 0));
    if (!entry.second) continue;
    CHECK(entry.second->queries == expected.queries);
    CHECK(std::abs(entry.second->mass - expected.mass) < 1e-6);
    CHECK(std::abs(entry.second->chance - expected.chance) < 1e-6);
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("from one token to another it is the weight of each head, from several to several a mean of sums") {
    AskedAnalysis asked("gpt2");
    const auto cell = from_to_query(kSelection, {.first = {.query = 4, .key = 2}, .last = {.query = 4, .key = 2}});
    const HeadRanking one = found_in<HeadRanking>(asked.ask(cell));
    CHECK(one.heads.size() == 12);
    CHECK(one.queries == 1);
    const auto range = from_to_query(kSelection, {.first = {.query = 3, .key = 1}, .last = {.query = 5, .key = 2}});
    const HeadRanking some = found_in<HeadRanking>(asked.ask(range));
    const auto run = run_of(asked.state);
    for (const auto& entry : one.heads) {
      const Tensor maps = run->stage(entry.first.block, attention::Stage::Weights);
      const auto weight = [&](std::uint32_t query, std::uint32_t key) {
        return double{maps.at({0, entry.first.head, query, key})};
      };
      REQUIRE(entry.second);
      CHECK(entry.second->mass == weight(4, 2));
      double sum = 0.0;
      for (std::uint32_t query = 3; query <= 5; ++query) sum += weight(query, 1) + weight(query, 2);
      REQUIRE(some.match(entry.first));
      CHECK(std::abs(some.match(entry.first)->mass - sum / 3.0) < 1e-6);
    }
    const auto hidden = from_to_query(kSelection, {.first = {.query = 2, .key = 4}, .last = {.query = 2, .key = 4}});
    const HeadRanking none = found_in<HeadRanking>(asked.ask(hidden));
    for (const auto& entry : none.heads) {
      REQUIRE(entry.second);
      CHECK(entry.second->mass == 0.0);
    }
  }

  TEST_CASE("patterns are those of their formulas") {
    AskedAnalysis asked("gpt2", "the cat sat and the cat sat");
    check_pattern(asked, HeadPattern::PreviousToken, "", [](auto q, auto k) { return k + 1 == q; });
    check_pattern(asked, HeadPattern::Itself, "", [](auto q, auto k) { return k == q; });
    check_pattern(asked, HeadPattern::FirstToken, "", [](auto, auto k) { return k == 0; });
    check_pattern(asked, HeadPattern::NextToken, "", [](auto q, auto k) { return k == q + 1; });
    const std::vector<std::uint32_t> ids = asked.result.input->source.ids;
    const InPattern is_duplicate = [&](auto q, auto k) { return k < q && ids[k] == ids[q]; };
    check_pattern(asked, HeadPattern::DuplicateToken, "", is_duplicate);
    check_pattern(asked, HeadPattern::Induction, "",
                  [&](auto q, auto k) { return k > 0 && k <= q && ids[k - 1] == ids[q]; });
    check_pattern(asked, HeadPattern::Typed, "k == q - 1", [](auto q, auto k) { return k + 1 == q; });
    check_pattern(asked, HeadPattern::Typed, "k < q && id_k == id_q", is_duplicate);
    check_pattern(asked, HeadPattern::Typed, "q - k < 3 && k % 2 == 0",
                  [](auto q, auto k) { return q - k < 3 && k % 2 == 0; });
    check_pattern(asked, HeadPattern::Typed, "k < 0", [](auto, auto) { return false; });
  }

  TEST_CASE("a head's metric and its place by the same pattern are one number, whatever the mask hides") {
    const std::pair<HeadPattern, evaluation::HeadMetric> same[] = {
        {HeadPattern::PreviousToken, evaluation::HeadMetric::PreviousToken},
        {HeadPattern::DuplicateToken, evaluation::HeadMetric::DuplicateToken},
        {HeadPattern::Induction, evaluation::HeadMetric::Induction},
        {HeadPattern::FirstToken, evaluation::HeadMetric::Sink}};
    AskedAnalysis asked("gpt2", "the cat sat and the cat sat");
    for (const std::uint32_t window : {0U, 3U}) {
      CAPTURE(window);
      asked.state.masks[model::BlockKind::EncoderSelf].rule.window = window;
      const HeadMetricsFound metrics = found_in<HeadMetricsFound>(asked.ask(HeadMetricsQuestion()));
      for (const auto& line : same) {
        const HeadPattern pattern = line.first;
        const evaluation::HeadMetric metric = line.second;
        CAPTURE(evaluation::metric_name(metric));
        const HeadRanking ranked = found_in<HeadRanking>(asked.ask(pattern_query(kSelection, pattern, "")));
        for (const auto& [head, match] : ranked.heads) {
          REQUIRE(match);
          REQUIRE(metrics.find(head));
          // Sums of the same numbers (observed: 0).
          CHECK(std::abs(match->mass - metrics.find(head)->value(metric).value()) < 1e-12);
        }
      }
    }
  }

  TEST_CASE("an expression with the head in it is another pattern for each head") {
    AskedAnalysis asked("gpt2");
    const HeadRanking found =
        found_in<HeadRanking>(asked.ask(pattern_query(kSelection, HeadPattern::Typed, "q - k == head && layer == 1")));
    const auto run = run_of(asked.state);
    for (const auto& entry : found.heads) {
      if (entry.first.block.layer.value == 0) {
        CHECK_FALSE(entry.second);
        continue;
      }
      const Expected expected = measure(*run, entry.first, [&](auto q, auto k) { return q - k == entry.first.head; });
      REQUIRE(entry.second);
      CHECK(std::abs(entry.second->mass - expected.mass) < 1e-6);
    }
  }

  TEST_CASE("uniform attention is a pattern too") {
    AskedAnalysis asked("gpt2");
    const HeadRanking found = found_in<HeadRanking>(asked.ask(pattern_query(kSelection, HeadPattern::Uniform, "")));
    const auto run = run_of(asked.state);
    for (const auto& entry : found.heads) {
      const Tensor maps = run->stage(entry.first.block, attention::Stage::Weights);
      const std::uint32_t n = asked.result.shapes.at(entry.first.block).queries;
      double sum = 0.0;
      for (std::uint32_t query = 1; query < n; ++query) {
        for (std::uint32_t key = 0; key <= query; ++key) {
          sum += std::min(double{maps.at({0, entry.first.head, query, key})}, 1.0 / (query + 1.0));
        }
      }
      REQUIRE(entry.second);
      CHECK(entry.second->queries == n - 1);
      CHECK(std::abs(entry.second->mass - sum / (n - 1.0)) < 1e-6);
    }
  }

  TEST_CASE("what can't be ranked is refused in one line") {
    AskedAnalysis asked("gpt2");
    const auto error = [&](const AnalysisQuery& query) { return asked.ask(query).error; };
    CHECK(error(pattern_query(kSelection, HeadPattern::Typed, "k == sore")).find("column 6: 'sore' is unknown") == 0);
    CHECK(error(pattern_query(kSelection, HeadPattern::Typed, " ")) == "no pattern is typed");
    const CellRange beyond{.first = {.query = 4, .key = 2}, .last = {.query = 400, .key = 2}};
    CHECK(error(from_to_query(kSelection, beyond)) == "this run has no such tokens");
    Selection cross = kSelection;
    cross.block.kind = model::BlockKind::Cross;
    CHECK(error(pattern_query(cross, HeadPattern::FirstToken, "")) == "this run has no such attention");
  }

  TEST_CASE("of a long text strips of rows are read, each cell once, and it tells what it knows so far") {
    const std::uint32_t tokens = 4'096;
    model::ModelInput input;
    input.source = {.batch = 1, .length = tokens, .lengths = {tokens}};
    input.source.ids.resize(tokens);
    std::iota(input.source.ids.begin(), input.source.ids.end(), 0u);
    const inference::BlockShape shape{.batch = 1, .heads = 16, .queries = tokens, .keys = tokens};
    const AnalysisSubject subject{.network = nullptr,
                                  .input = std::make_shared<const model::ModelInput>(input),
                                  .inputs = nullptr,
                                  .shapes = {{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, shape}}};
    auto task = analyse(pattern_query(kSelection, HeadPattern::PreviousToken, ""), subject);
    std::size_t rows = 0, told = 0, most = 0;
    while (!task.is_done()) {
      const Reads reads = task.reads();
      std::vector<attention::Tile> tiles;
      std::size_t cells = 0;
      for (const attention::TileRequest& request : reads.tiles) {
        cells += std::size_t{request.rows} * request.columns;
        rows += request.rows;
        tiles.emplace_back().request = request;
        tiles.back().values.assign(std::size_t{request.rows} * request.columns, 1.0F / tokens);
      }
      most = std::max(most, cells);
      task.take({.tiles = std::move(tiles)});
      if (!task.is_done() && task.result()) ++told;
    }
    CHECK(most <= std::size_t{1} << 17);
    CHECK(told > 0);
    const auto found = task.result();
    REQUIRE(found);
    CHECK(found->is_sampled);
    CHECK(rows == std::size_t{found->ranked_queries} * 16);
    CHECK(found->ranked_queries == 1'024);
    for (const auto& entry : found->heads) {
      REQUIRE(entry.second);
      CHECK(std::abs(entry.second->mass - 1.0 / tokens) < 1e-9);
    }
  }
}

}  // namespace head_ranking_test
