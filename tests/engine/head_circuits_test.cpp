// Compositions of heads by their weights, as the engine answers them: in steps, and once for all runs of a model.
#include "app/engine/analyses/head_circuits.h"

#include <doctest/doctest.h>

#include "attribution/vocabulary_circuits.h"
#include "engine/asked_analysis.h"

namespace head_circuits_test {

using namespace headlight;
using namespace headlight::app;

namespace {

Selection selection(model::BlockKind kind, std::uint32_t layer, std::uint32_t head) {
  return {.block = {.kind = kind, .layer = {layer}}, .head = head};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the engine's answers are those of the weights, and another text of the same model has them at once") {
    AskedAnalysis asked("gpt2");
    const Selection head = selection(model::BlockKind::EncoderSelf, 1, 2);
    const Analysed first = asked.ask(composition_query(head));
    const HeadCompositions& found = found_in<HeadCompositions>(first);
    CHECK(found.is_complete());
    attribution::HeadComposition expected(asked.result.network, head.block, head.head);
    while (!expected.go_on(std::size_t{1} << 20)) continue;
    REQUIRE(found.heads.size() == expected.heads().size());
    for (std::size_t i = 0; i < found.heads.size(); ++i) CHECK(found.heads[i].scores == expected.heads()[i].scores);
    const Analysed copying = asked.ask(OvCopyingQuestion());
    const OvCopying& copies = found_in<OvCopying>(copying);
    CHECK(copies.is_complete());
    CHECK(copies.heads.size() == 12);
    for (const auto& entry : copies.heads) {
      CHECK(entry.second == attribution::ov_copying(asked.result.network->layer(entry.first.block), entry.first.head));
    }
    asked.state.text() = "a dog";
    const auto is_known = [&](const AnalysisQuery& query) {  // without a step
      asked.worker.begin({.revision = ++asked.revision, .inputs = run_inputs(asked.state), .queries = {query}});
      return !asked.worker.has_more();
    };
    CHECK(is_known(composition_query(head)));
    CHECK(is_known(OvCopyingQuestion()));
    CHECK_FALSE(is_known(composition_query(selection(model::BlockKind::EncoderSelf, 0, 2))));
    const Analysed again = asked.ask(composition_query(head));
    const HeadCompositions& known = found_in<HeadCompositions>(again);
    REQUIRE(known.heads.size() == found.heads.size());
    for (std::size_t i = 0; i < found.heads.size(); ++i) CHECK(known.heads[i].scores == found.heads[i].scores);
  }

  TEST_CASE("the graph of all heads has each pair once, with the scores that either head's question gives") {
    for (const std::string name : {"gpt2", "marian"}) {
      CAPTURE(name);
      AskedAnalysis asked(name);
      asked.state.masks = {};
      const Analysed answer = asked.ask(CompositionGraphQuestion());
      const CompositionGraph& graph = found_in<CompositionGraph>(answer);
      CHECK(graph.is_complete());
      std::map<std::pair<HeadRef, HeadRef>, const CompositionGraph::Arc*> arcs;
      for (const CompositionGraph::Arc& arc : graph.arcs)
        CHECK(arcs.emplace(std::pair(arc.writer, arc.reader), &arc).second);
      std::size_t pairs = 0;
      for (const auto& entry : asked.result.shapes) {
        for (std::uint32_t head = 0; head < entry.second.heads; ++head) {
          const HeadRef own{.block = entry.first, .head = head};
          attribution::HeadComposition expected(asked.result.network, own.block, own.head);
          while (!expected.go_on(std::size_t{1} << 20)) continue;
          for (const attribution::ComposedHead& other : expected.heads()) {
            const HeadRef ref{.block = other.block, .head = other.head};
            const auto found = arcs.find(other.writes ? std::pair(ref, own) : std::pair(own, ref));
            REQUIRE(found != arcs.end());
            ++pairs;
            for (std::size_t i = 0; i < attribution::kCompositions; ++i) {
              const float score = found->second->scores[i];
              CHECK(std::isnan(score) == !other.scores[i].has_value());
              if (other.scores[i]) CHECK(score == doctest::Approx(*other.scores[i]).epsilon(1e-6));
            }
          }
        }
      }
      CHECK(pairs == 2 * arcs.size());
    }
  }

  TEST_CASE("in an encoder–decoder heads compose along what they read, and cross-attention copies nothing") {
    AskedAnalysis asked("marian");
    asked.state.masks = {};
    const Analysed answer = asked.ask(composition_query(selection(model::BlockKind::Cross, 0, 1)));
    for (const attribution::ComposedHead& head : found_in<HeadCompositions>(answer).heads) {
      const bool is_encoder = head.block.kind == model::BlockKind::EncoderSelf;
      const bool is_before = is_encoder || (head.block.kind == model::BlockKind::DecoderSelf && head.block.layer.value == 0);
      CHECK(head.writes == is_before);
      if (!is_before) continue;
      CHECK(head.scores[0].has_value() == !is_encoder);
      CHECK(head.scores[1].has_value() == is_encoder);
      CHECK(head.scores[2].has_value() == is_encoder);
    }
    const Analysed copying = asked.ask(OvCopyingQuestion());
    CHECK(found_in<OvCopying>(copying).heads.size() == 16);  // two encoder and two decoder layers
  }

  TEST_CASE("a head that isn't there is refused in one line") {
    AskedAnalysis asked("gpt2");
    CHECK(asked.ask(composition_query(selection(model::BlockKind::EncoderSelf, 1, 60))).error ==
          "this network has no such head");
    CHECK(
        asked.ask(composition_query(selection(model::BlockKind::Cross, 0, 0))).error.find("choose one of its own blocks") !=
        std::string::npos);
  }
}

}  // namespace head_circuits_test
