// Retrieval scores as the engine answers them, beside those of whole models.
#include <doctest/doctest.h>

#include "app/engine/analyses/retrieval.h"
#include "engine/asked_analysis.h"

namespace retrieval_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("cpu") {
  TEST_CASE("a grid of needles is measured in passes of its own, and the run stays") {
    AskedAnalysis asked("gpt2");
    const RetrievalQuestion question{.grid = {.longest = 30, .lengths = 2, .depths = 3, .needle = 4, .seed = 2}};
    const RetrievalFound found = found_in<RetrievalFound>(asked.ask(question));
    CHECK(found.all_texts == 6);
    REQUIRE(found.texts.size() == 6);
    CHECK(asked.result.run == 1);
    const model::TokenBatch& line = asked.result.input->source;
    const std::vector<evaluation::NeedleText> texts = evaluation::needle_texts(*asked.result.model, line.ids, question.grid);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CHECK(found.texts[i].text.ids == texts[i].ids);
      CHECK(found.texts[i].heads.size() == asked.result.model->description.layers * std::size_t{found.heads});
      CHECK(found.texts[i].is_predicted.size() == 3);
      // The weights are those of a run of this text alone.
      auto runner = open_reference_runner("");
      runner->load(asked.result.network->layers, inference::Precision::F32, {});
      const auto run = runner->run(evaluation::needle_pass(*asked.result.model, asked.result.network, texts[i]), nullptr);
      evaluation::NeedleFound other{.text = texts[i]};
      other.add_logits(run->logits(evaluation::needle_states(*asked.result.model, texts[i])).values);
      for (std::uint32_t layer = 0; layer < asked.result.model->description.layers; ++layer) {
        for (const attention::Tile& tile : run->evaluate(evaluation::needle_rows(*asked.result.model, texts[i], layer)))
          other.add_head(tile.values);
      }
      CHECK(other.heads == found.texts[i].heads);
      CHECK(other.is_predicted == found.texts[i].is_predicted);
    }
  }

  TEST_CASE("a text of another kind of model is refused in one line") {
    AskedAnalysis asked("bert");
    const Analysed answer = asked.ask(RetrievalQuestion{});
    CHECK(answer.result == nullptr);
    CHECK(answer.error.ends_with("a needle takes a model that predicts the next token"));
  }
}

}  // namespace retrieval_test
