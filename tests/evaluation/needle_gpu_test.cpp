// Needles in haystacks: the texts, what counts as copied, and whole models against numbers of transformers.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "evaluation/needle.h"
#include "inference/prompt.h"
#include "support/error_message.h"
#include "support/golden.h"
#include "support/golden_language_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace needle_gpu_test {

using namespace headlight;
using namespace headlight::evaluation;

TEST_SUITE("cpu") {
  TEST_CASE("a needle of tokens that are nowhere else is in the haystack once and again at the end") {
    const auto gpt2 = test::open_golden_model("gpt2");
    const std::vector<std::uint32_t> line = {gpt2->description.ids.bos.value(), 5, 9, 5};
    const NeedleGrid grid{.longest = 30, .lengths = 3, .depths = 3, .needle = 4, .seed = 3};
    const std::vector<NeedleText> texts = needle_texts(*gpt2, line, grid);
    REQUIRE(texts.size() == 9);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const NeedleText& text = texts[i];
      CAPTURE(i);
      CHECK(text.ids.size() == 16 + i / 3 * 7);
      CHECK(text.depth == 0.5 * static_cast<double>(i % 3));
      CHECK(text.answers() == 3);
      CHECK(text.ids.front() == line.front());
      CHECK(text.question == text.ids.size() - 3);
      const auto room = static_cast<std::uint32_t>(text.ids.size() - 8);
      CHECK(text.needle == 1 + static_cast<std::uint32_t>(text.depth * room));
      const auto needle = text.ids.begin() + text.needle;
      CHECK(std::set<std::uint32_t>(needle, needle + 4).size() == 4);
      CHECK(std::equal(needle, needle + 3, text.ids.begin() + text.question));
      CHECK(text.answer(2) == needle[3]);
      std::vector<std::uint32_t> straw(text.ids.begin() + 1, text.ids.begin() + text.question);
      straw.erase(straw.begin() + text.needle - 1, straw.begin() + text.needle + 3);
      for (std::size_t at = 0; at < straw.size(); ++at) CHECK(straw[at] == line[1 + at % 3]);
      CHECK(std::all_of(needle, needle + 4, [](std::uint32_t id) { return id != 5 && id != 9; }));
    }
    CHECK(needle_texts(*gpt2, line, grid)[4].ids == texts[4].ids);
    NeedleGrid other = grid;
    other.seed = 4;
    CHECK(needle_texts(*gpt2, line, other)[4].ids != texts[4].ids);
    CHECK(needle_texts(*gpt2, {}, grid).front().ids.size() == 16);  // a haystack at random
    CHECK(needle_texts(*gpt2, line, {.longest = 1000}).back().ids.size() == 32);
  }

  TEST_CASE("a grid without room, and models that don't predict the next token, are one line") {
    const std::vector<std::uint32_t> line = {5, 9};
    const auto complaint = [&](std::string_view name, const NeedleGrid& grid) {
      return test::error_message([&] { needle_texts(*test::open_golden_model(name), line, grid); });
    };
    CHECK(complaint("gpt2", {.needle = 9}) ==
          "a needle of 9 tokens takes texts of 36 at least, but the longest has 32: choose a shorter needle");
    CHECK(complaint("bert", {}).ends_with("a needle takes a model that predicts the next token"));
    CHECK(complaint("t5", {}).ends_with("head scores are defined for a model with one stack"));
  }

  TEST_CASE("a head copies what its largest weight is on, and with the model's prediction only what is predicted") {
    // Needle 7 8 9 at 1, again as the questions 7 8.
    NeedleFound found{.text = {.ids = {1, 7, 8, 9, 2, 7, 8}, .depth = 0.0, .needle = 1, .question = 5}};
    REQUIRE(found.text.answers() == 2);
    std::vector<float> logits(20, 0.0F);
    logits[8] = 1.0F;   // predicts 8, right
    logits[14] = 1.0F;  // predicts 4, wrong
    found.add_logits(logits);
    CHECK(found.is_predicted == std::vector<bool>{true, false});
    std::vector<float> both(14, 0.1F), second(14, 0.1F), outside(14, 0.1F);
    both[2] = both[7 + 3] = 0.5F;
    second[7 + 3] = 0.5F;
    outside[6] = outside[7 + 5] = 0.5F;  // the question's own tokens
    for (const auto* weights : {&both, &second, &outside}) found.add_head(*weights);
    CHECK(found.heads[0] == NeedleHits{.attended = 2, .copied = 1});
    CHECK(found.heads[1] == NeedleHits{.attended = 1, .copied = 0});
    CHECK(found.heads[2] == NeedleHits{});
    const std::span<const NeedleFound> all(&found, 1);
    CHECK(retrieval_score(all, 0, false) == 1.0);
    CHECK(retrieval_score(all, 0, true) == 0.5);
    CHECK(retrieval_score({}, 0, false) == std::nullopt);
    CHECK(predicted_share(all) == 0.5);
    CHECK(needle_csv(all, 2) ==
          "length,depth,layer,head,answers,predicted,attended,copied\n"
          "7,0,0,0,2,1,2,1\n7,0,0,1,2,1,1,0\n7,0,1,0,2,1,0,0\n");
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "what heads copy equals transformers' whole matrices") {
    const nlohmann::json all = test::golden("needle.json");
    std::size_t hits = 0;
    double error = 0.0;
    for (const auto& entry : all.items()) {
      const std::string& name = entry.key();
      const nlohmann::json& texts = entry.value();
      CAPTURE(name);
      const auto model = test::open_golden_model(name);
      test::RunningSession session(context);
      std::vector<NeedleText> given;
      for (const auto& text : texts) {
        given.push_back({.ids = text.at("ids"), .needle = text.at("needle"), .question = text.at("question")});
      }
      const std::vector<NeedleFound> found = survey_needles(session, *model, given);
      REQUIRE(found.size() == texts.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(found[i].is_predicted == texts[i].at("predicted").get<std::vector<bool>>());
        const inference::PassInputs pass = needle_pass(*model, model->network, given[i]);
        session.run(pass.network, pass.input, pass.masks);
        for (std::size_t head = 0; head < found[i].heads.size(); ++head) {
          CHECK(found[i].heads[head].attended == texts[i].at("attended")[head].get<std::uint32_t>());
          CHECK(found[i].heads[head].copied == texts[i].at("copied")[head].get<std::uint32_t>());
          hits += found[i].heads[head].attended;
          const std::uint32_t heads = model->description.heads;
          const attention::TileRequest row =
              needle_rows(*model, given[i], static_cast<std::uint32_t>(head) / heads)[head % heads];
          const attention::Tile tile = session.evaluate(std::span(&row, 1)).front();
          double largest = 0.0;
          for (std::uint32_t answer = 0; answer < row.rows; ++answer) {
            const auto begin = tile.values.begin() + std::ptrdiff_t{answer} * row.columns;
            largest += static_cast<double>(*std::max_element(begin, begin + row.columns));
          }
          error = std::max(error, std::abs(largest - texts[i].at("largest")[head].get<double>()));
        }
      }
    }
    CHECK(hits == 87);
    CHECK(error < 8e-6);  // of sums of four weights; observed: 1.6e-6
  }
}

}  // namespace needle_gpu_test
