// Rows of a corpus' lines that are measured: a row a text, or rows of packed ones.
#include <doctest/doctest.h>

#include "evaluation/corpus_survey.h"
#include "support/golden_model.h"

namespace corpus_rows_test {

using namespace headlight;
using namespace headlight::evaluation;

TEST_SUITE("cpu") {
  TEST_CASE("rows of packed texts begin with a text, end within one, and go on with the next") {
    const auto gpt2 = inference::open_model(test::golden_model_path("gpt2"));
    CorpusMeasures measures = corpus_measures(*gpt2, {HeadMetric::Entropy}, 32, 1, 1);
    const std::vector<CorpusText> texts = {{.offset = 0, .text = "the cat"},
                                           {.offset = 10, .text = ""},
                                           {.offset = 20, .text = "a dog"},
                                           {.offset = 30, .text = "the end"}};
    std::vector<std::vector<std::uint32_t>> alone;
    for (const CorpusText& text : texts) alone.push_back(corpus_ids(*gpt2, measures, text.text));
    const std::size_t first = alone[0].size(), second = alone[2].size(), third = alone[3].size();
    REQUIRE(first > 1);
    REQUIRE(second > 1);
    REQUIRE(third > 1);

    const CorpusRows rows = corpus_rows(*gpt2, measures, texts);
    CHECK(rows.ids == std::vector{alone[0], alone[2], alone[3]});
    CHECK(rows.offsets == std::vector<std::uint64_t>{0, 20, 30});
    CHECK(rows.skipped == 1);
    CHECK(rows.cut == 0);

    measures.packs = true;
    const auto joined = [](std::vector<std::uint32_t> ids, const std::vector<std::uint32_t>& more, std::size_t count) {
      ids.insert(ids.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(count));
      return ids;
    };
    measures.most_tokens = static_cast<std::uint32_t>(first + second);  // two texts fit exactly
    const CorpusRows exact = corpus_rows(*gpt2, measures, texts);
    CHECK(exact.ids == std::vector{joined(alone[0], alone[2], second), alone[3]});
    CHECK(exact.offsets == std::vector<std::uint64_t>{0, 30});
    CHECK(exact.cut == 0);
    measures.most_tokens = static_cast<std::uint32_t>(first + second - 1);  // the second one is cut, and doesn't go on
    const CorpusRows cut = corpus_rows(*gpt2, measures, texts);
    CHECK(cut.ids == std::vector{joined(alone[0], alone[2], second - 1), alone[3]});
    CHECK(cut.offsets == std::vector<std::uint64_t>{0, 30});
    CHECK(cut.cut == 1);
    CHECK(cut.skipped == 1);
  }

  TEST_CASE("a line without a token of its own is no text, whatever the tokenizer adds around it") {
    for (const char* name : {"gpt2", "llama", "bert"}) {
      CAPTURE(name);
      const auto model = inference::open_model(test::golden_model_path(name));
      const CorpusMeasures measures = corpus_measures(*model, {HeadMetric::Entropy}, 32, 1, 1);
      const std::vector<CorpusText> texts = {
          {.offset = 0, .text = "the cat"}, {.offset = 8, .text = ""}, {.offset = 9, .text = "a"}};
      const CorpusRows rows = corpus_rows(*model, measures, texts);
      CHECK(rows.offsets == std::vector<std::uint64_t>{0, 9});
      CHECK(rows.skipped == 1);
    }
    // The user's own mark is a token of the line, though a special one.
    const auto bert = inference::open_model(test::golden_model_path("bert"));
    CHECK(corpus_ids(*bert, corpus_measures(*bert, {HeadMetric::Entropy}, 32, 1, 1), "[MASK]").size() == 3);
  }
}

}  // namespace corpus_rows_test
