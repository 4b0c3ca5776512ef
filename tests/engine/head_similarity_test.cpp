// Similarity of heads, read in parts by the engine, against whole maps of the reference.
#include "app/engine/analyses/head_similarity.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/asked_analysis.h"

namespace head_similarity_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const Selection kSelection{.block = {.kind = model::BlockKind::EncoderSelf, .layer = {}}};

double entropy_of(double x) { return x > 0.0 ? -x * std::log2(x) : 0.0; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every two heads of all layers are compared, over all queries of a short text") {
    AskedAnalysis asked("gpt2");
    const Analysed answer = asked.ask(similarity_query(kSelection));
    const HeadSimilarity& found = found_in<HeadSimilarity>(answer);
    REQUIRE(found.heads.size() == 12);
    REQUIRE(found.order.size() == 12);
    CHECK(found.queries == found.compared_queries);
    RunSource sources;
    const RunSource::Source& source = sources.build(run_inputs(asked.state));
    const ReferenceRun run(inference::PassInputs{
        .network = source.network, .input = *source.input, .masks = asked.state.masks, .interventions = {}});
    std::vector<Tensor> maps;
    for (const HeadRef& head : found.heads) maps.push_back(run.stage(head.block, attention::Stage::Weights));
    const std::uint32_t n = found.queries;
    for (std::size_t a = 0; a < 12; ++a) {
      for (std::size_t b = 0; b < 12; ++b) {
        double sum = 0.0;
        for (std::uint32_t query = 0; query < n; ++query) {
          for (std::uint32_t key = 0; key <= query; ++key) {
            const double p = double{maps[a].at({0, found.heads[a].head, query, key})};
            const double q = double{maps[b].at({0, found.heads[b].head, query, key})};
            sum += entropy_of(0.5 * (p + q)) - 0.5 * (entropy_of(p) + entropy_of(q));
          }
        }
        CAPTURE(a);
        CAPTURE(b);
        CHECK(std::abs(double{found.between(a, b)} - sum / n) < 1e-6);
      }
    }
  }

  TEST_CASE("one head, and more than can be compared, are refused in one line") {
    const auto complaint = [](std::uint32_t heads) -> std::string {
      model::ModelInput input;
      input.source = {.batch = 1, .length = 4, .lengths = {4}};
      const AnalysisSubject subject{
          .network = nullptr,
          .input = std::make_shared<const model::ModelInput>(input),
          .inputs = nullptr,
          .shapes = {{{.kind = model::BlockKind::EncoderSelf, .layer = {0}},
                      inference::BlockShape{.batch = 1, .heads = heads, .queries = 4, .keys = 4}}}};
      try {
        (void)analyse(similarity_query(kSelection), subject).is_done();
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    CHECK(complaint(1) == "there is one head only, and nothing to compare it with");
    CHECK(complaint(2) == "");
    CHECK(complaint(kMaxComparedHeads) == "");
    CHECK(complaint(kMaxComparedHeads + 1) == "of at most 1024 heads every two can be compared; here are 1025");
  }

  TEST_CASE("queries that are compared are bounded by the pairs of heads and the length of the text") {
    CHECK(compared_rows({3, 9}, 6, 144) == std::vector<RowStrip>{{.first = 3, .count = 6}});
    for (const std::uint32_t heads : {12u, 144u, 1'024u}) {
      for (const std::uint32_t tokens : {300u, 2'048u, 32'768u}) {
        CAPTURE(heads);
        CAPTURE(tokens);
        const std::vector<RowStrip> strips = compared_rows({5, 5 + tokens}, tokens, heads);
        REQUIRE(!strips.empty());
        CHECK(strips.size() <= 16);
        CHECK(strips.back().first + strips.back().count == 5 + tokens);
        std::size_t rows = 0;
        for (std::size_t i = 0; i < strips.size(); ++i) {
          rows += strips[i].count;
          if (i > 0) CHECK(strips[i].first >= strips[i - 1].first + strips[i - 1].count);
        }
        const std::size_t pairs = std::size_t{heads} * (heads - 1) / 2;
        CHECK((rows == 1 || rows * tokens * pairs <= kMaxComparedCells));
      }
    }
  }

  TEST_CASE("a step reads or compares a bounded number of cells, and each cell is read once") {
    constexpr std::uint32_t kTokens = 700, kHeads = 40;
    model::ModelInput input;
    input.source = {.batch = 1, .length = kTokens, .lengths = {kTokens}};
    const AnalysisSubject subject{
        .network = nullptr,
        .input = std::make_shared<const model::ModelInput>(input),
        .inputs = nullptr,
        .shapes = {{{.kind = model::BlockKind::EncoderSelf, .layer = {0}},
                    inference::BlockShape{.batch = 1, .heads = kHeads, .queries = kTokens, .keys = kTokens}}}};
    auto task = analyse(similarity_query(kSelection), subject);
    std::size_t cells = 0;
    while (!task.is_done()) {
      const Reads reads = task.reads();
      std::vector<attention::Tile> tiles;
      std::size_t step = 0;
      for (const attention::TileRequest& request : reads.tiles) {
        step += std::size_t{request.rows} * request.columns;
        tiles.emplace_back().request = request;
        // Every head looks at one key: even ones at the first, odd ones at the second.
        tiles.back().values.assign(std::size_t{request.rows} * request.columns, 0.0F);
        for (std::uint32_t row = 0; row < request.rows; ++row) {
          const std::uint32_t key = request.head % 2;
          if (key >= request.column) tiles.back().values[std::size_t{row} * request.columns + key - request.column] = 1.0F;
        }
      }
      CHECK(step <= std::size_t{1} << 17);
      cells += step;
      task.take({.tiles = std::move(tiles)});
    }
    const auto found = task.result();
    REQUIRE(found);
    CHECK(cells == std::size_t{found->compared_queries} * kTokens * kHeads);
    CHECK(found->compared_queries < kTokens);
    CHECK(found->between(0, 2) == 0.0F);
    CHECK(found->between(0, 3) == 1.0F);
    for (std::size_t i = 1; i < kHeads / 2; ++i) CHECK(found->order[i] % 2 == found->order[0] % 2);
  }
}

}  // namespace head_similarity_test
