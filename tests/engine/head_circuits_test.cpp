// What heads can make of each other by their weights, as the engine answers it: in steps, and once for all runs of a model.
#include "app/analyses/head_circuits.h"

#include <doctest/doctest.h>

#include "attribution/ov_copying.h"
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
