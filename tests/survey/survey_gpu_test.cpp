// A survey of a small corpus: its numbers are those of `headlight evaluate heads`, one by one, and don't depend on how the
// corpus was cut.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "evaluation/corpus_survey.h"
#include "evaluation/head_maps.h"
#include "evaluation/head_survey.h"
#include "inference/prompt.h"
#include "support/error_message.h"
#include "support/golden_language_model.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/odd_model.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

namespace survey_gpu_test {

using namespace headlight;
using namespace headlight::evaluation;

namespace {

const std::vector<std::string> kLines = {"the cat sat on the mat", "a dog and a dog and a cat", "one", "the the the the",
                                         "what follows what"};

std::vector<CorpusText> texts_of(std::size_t first, std::size_t count) {
  std::vector<CorpusText> texts;
  for (std::size_t i = first; i < first + count; ++i) texts.push_back({.offset = i * 100, .text = kLines[i]});
  return texts;
}

bool is_pattern_of_repeats(HeadMetric metric) {
  return metric == HeadMetric::DuplicateToken || metric == HeadMetric::Induction;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "means over a corpus are those of evaluate heads") {
    const auto model = test::open_golden_model("gpt2");
    test::RunningSession session(context);
    std::vector<HeadMetric> all;
    for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) all.push_back(static_cast<HeadMetric>(metric));
    const CorpusMeasures measures = corpus_measures(*model, {all.begin(), all.end()}, 512, 3);
    CHECK(measures.most_tokens == 32);
    const CorpusStatistics found = survey_corpus(session, *model, measures, texts_of(0, kLines.size()));
    CHECK(found.texts == kLines.size());
    CHECK(found.device_seconds > 0.0);
    CHECK(found.busy_seconds >= found.device_seconds);
    const std::vector<HeadScore> expected = survey_texts(session, *model, kLines, {});
    REQUIRE(expected.size() == measures.layout.count());
    const auto repeating = static_cast<std::size_t>(std::ranges::count_if(kLines, [&](const std::string& line) {
      const std::vector<std::uint32_t> ids = text_ids(*model, line);
      return std::set<std::uint32_t>(ids.begin(), ids.end()).size() < ids.size();
    }));
    REQUIRE(repeating < kLines.size());
    REQUIRE(repeating > 0);
    for (std::size_t head = 0; head < expected.size(); ++head) {
      for (const HeadMetric metric : all) {
        CAPTURE(metric_name(metric));
        const MetricStatistics& of_head = found.metrics[static_cast<std::size_t>(metric) * expected.size() + head];
        REQUIRE(expected[head].mean(metric));
        // Sums of the same numbers: the order is the same too (observed: 0).
        CHECK(std::abs(of_head.mean() - *expected[head].mean(metric)) <= 1e-12);
        CHECK(of_head.texts == (is_pattern_of_repeats(metric) ? repeating : kLines.size()));
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "a shard's statistics don't depend on what was measured before, and examples show their cell") {
    const auto model = test::open_golden_model("gpt2");
    test::RunningSession session(context);
    const CorpusMeasures measures = corpus_measures(*model, {HeadMetric::DuplicateToken, HeadMetric::Concentration}, 8, 2);
    const auto bits = [&](CorpusStatistics found) {
      found.device_seconds = found.busy_seconds = 0.0;
      return encode(found);
    };
    const std::string alone = bits(survey_corpus(session, *model, measures, texts_of(3, 2)));
    static_cast<void>(survey_corpus(session, *model, measures, texts_of(0, 3)));
    const CorpusStatistics again = survey_corpus(session, *model, measures, texts_of(3, 2));
    CHECK(bits(again) == alone);
    CHECK(again.cut == 1);  // to 8 tokens
    for (std::size_t head = 0; head < measures.layout.count(); ++head) {
      REQUIRE(again.examples[head].kept().size() == 2);
      for (const HeadExample& example : again.examples[head].kept()) {
        const std::vector<std::uint32_t> ids = text_ids(*model, kLines[example.offset / 100]);
        CHECK(example.key < example.query);
        CHECK(ids.at(example.key) == ids.at(example.query));
        CHECK(example.weight > 0.0);
        CHECK(example.weight <= 1.0);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "an example's weight is that of its cell, of texts of one and two tokens too") {
    for (const char* name : {"gpt2", "bert"}) {
      CAPTURE(name);
      const auto model = test::open_golden_model(name);
      test::RunningSession session(context);
      std::vector<CorpusMetric> all = {{"next", "k == q + 1"}};
      for (std::size_t metric = 0; metric < kHeadMetrics; ++metric) all.emplace_back(static_cast<HeadMetric>(metric));
      for (const std::uint32_t most_tokens : {1U, 2U, 3U}) {
        CorpusMeasures measures = corpus_measures(*model, all, most_tokens, 3);
        const CorpusStatistics found = survey_corpus(session, *model, measures, texts_of(0, 1));
        std::vector<std::vector<std::uint32_t>> ids = {text_ids(*model, kLines[0])};
        ids.front().resize(most_tokens);
        std::size_t compared = 0;
        visit_maps(session, *model, ids, [&](model::BlockRef block, std::uint32_t head, std::size_t, const WeightMap& map) {
          for (std::size_t metric = 0; metric < all.size(); ++metric) {
            for (const HeadExample& example :
                 found.examples[metric * measures.layout.count() + measures.layout.find(block, head)].kept()) {
              CHECK(example.weight == map.at(example.query, example.key));
              ++compared;
            }
          }
        });
        CHECK(compared > 0);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "own metrics are means of weights on their cells, and known patterns those of their metrics") {
    const auto model = test::open_golden_model("gpt2");
    test::RunningSession session(context);
    const std::vector<CorpusMetric> metrics = {HeadMetric::PreviousToken,
                                               HeadMetric::Induction,
                                               {"before", "k == q - 1"},
                                               {"again", "induction"},
                                               {"own-head", "k == head && q > layer"}};
    const CorpusMeasures measures = corpus_measures(*model, metrics, 512, 3);
    const CorpusStatistics found = survey_corpus(session, *model, measures, texts_of(0, kLines.size()));
    const std::size_t heads = measures.layout.count();
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t metric = 0; metric < 2; ++metric) {
        CHECK(found.metrics[(metric + 2) * heads + head] == found.metrics[metric * heads + head]);
        CHECK(found.examples[(metric + 2) * heads + head] == found.examples[metric * heads + head]);
      }
    }
    std::vector<std::vector<std::uint32_t>> lines;
    for (const std::string& line : kLines) lines.push_back(text_ids(*model, line));
    std::vector<MetricStatistics> expected(heads);
    visit_maps(session, *model, lines, [&](model::BlockRef block, std::uint32_t head, std::size_t, const WeightMap& map) {
      const std::uint32_t layer = block.layer.value;
      if (map.size <= std::max(layer + 1, head)) return;  // no cell of the pattern
      double sum = 0.0;
      for (std::uint32_t query = layer + 1; query < map.size; ++query) sum += map.at(query, head);
      expected[std::size_t{layer} * measures.layout.heads + head].add(sum / (map.size - layer - 1), 1.0);
    });
    for (std::size_t head = 0; head < heads; ++head) {
      CHECK(found.metrics[4 * heads + head].texts == expected[head].texts);
      CHECK(std::abs(found.metrics[4 * heads + head].mean() - expected[head].mean()) <= 1e-15);  // observed: 0
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "activations are those of each text's own run, in the order of the corpus") {
    const auto model = test::open_golden_model("llama");
    test::RunningSession session(context);
    CorpusMeasures measures = corpus_measures(*model, {HeadMetric::Sink}, 8, 1);
    const std::vector<std::string> names = {"next.1", "heads.0", "k.1", "next.1"};
    measures.activations = {.sites = activation_sites(*model, names), .every = 2};
    REQUIRE(measures.activations.sites.size() == 3);
    ShardActivations kept;
    const CorpusStatistics found = survey_corpus(session, *model, measures, texts_of(0, kLines.size()), &kept);
    CHECK(found.texts == kLines.size());
    std::uint32_t row = 0;
    double error = 0.0;
    for (std::size_t line = 0; line < kLines.size(); ++line) {
      std::vector<std::uint32_t> ids = text_ids(*model, kLines[line]);
      ids.resize(std::min<std::size_t>(ids.size(), measures.most_tokens));
      session.run(model->network, inference::make_prompt(*model, {.lines = {}, .ids = {ids}}).input, model->masks);
      for (std::uint32_t token = 0; token < ids.size(); token += 2, ++row) {
        CHECK(kept.index[row * 3] == static_cast<std::int64_t>(line * 100));
        CHECK(kept.index[row * 3 + 1] == token);
        CHECK(kept.index[row * 3 + 2] == ids[token]);
        for (std::size_t i = 0; i < kept.sites.size(); ++i) {
          const ActivationSite& site = measures.activations.sites[i];
          const Tensor stage = session.stage({model::BlockKind::EncoderSelf, LayerIndex{site.layer}}, site.stage);
          const Shape shape = row_shape(*model, site);
          const std::uint32_t heads = shape.size() == 2 ? shape[0] : 1, width = shape.back();
          REQUIRE(kept.sites[i].values.size() == std::size_t{kept.rows()} * heads * width);
          for (std::uint32_t head = 0; head < heads; ++head) {
            for (std::uint32_t column = 0; column < width; ++column) {
              const std::size_t own = (head * ids.size() + token) * width + column;
              const float expected = stage.values[own], value = kept.sites[i].values[(row * heads + head) * width + column];
              error = std::max(error, std::abs(double{value} - double{expected}));
            }
          }
        }
      }
    }
    CHECK(row == kept.rows());
    CHECK(error == 0.0);  // no sum depends on what else is in the batch
    const auto complaint = [&](const char* name) {
      const std::vector<std::string> one = {name};
      return test::error_message([&] { activation_sites(*model, one); });
    };
    CHECK(complaint("weights").starts_with("'weights' names no stage with vectors of tokens"));
    CHECK(complaint("next.9").ends_with("layers has no 'next.9'"));
    CHECK(complaint("attention_sum").ends_with("layers has no 'attention_sum'"));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "of an encoder–decoder the encoder is measured on texts as the window has them") {
    const auto model = test::open_golden_model("marian");
    test::RunningSession session(context);
    const CorpusMeasures measures = corpus_measures(*model, {HeadMetric::Sink, HeadMetric::Concentration}, 512, 1);
    CHECK(measures.layout.layers == model->network->layers->encoder.size());
    const std::vector<CorpusText> texts = texts_of(1, 1);
    const CorpusStatistics found = survey_corpus(session, *model, measures, texts);
    CHECK(found.texts == 1);
    CHECK(found.odd == 0);
    inference::PromptText prompt;
    prompt.lines = {texts[0].text};
    prompt.target_lines = {"a cat"};  // which the encoder doesn't read
    const model::ModelInput input = inference::make_prompt(*model, prompt).input;
    CHECK(corpus_ids(*model, measures, texts[0].text) == input.source.ids);
    session.run(model->network, input, model->masks);
    for (std::uint32_t layer = 0; layer < measures.layout.layers; ++layer) {
      const Tensor weights = session.stage({model::BlockKind::EncoderSelf, LayerIndex{layer}}, attention::Stage::Weights);
      const std::size_t n = input.source.length;
      for (std::size_t head = 0; head < measures.layout.heads; ++head) {
        double sink = 0.0;
        for (std::size_t query = 0; query < n; ++query) sink += double{weights.values[(head * n + query) * n]};
        const double mean = found.metrics[layer * measures.layout.heads + head].mean();
        CHECK(std::abs(mean - sink / static_cast<double>(n)) < 1e-12);  // observed: 0
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "on pairs all heads of an encoder–decoder are measured, as the window computes them") {
    const auto model = test::open_golden_model("marian");
    test::RunningSession session(context);
    const std::vector<CorpusMetric> metrics = {HeadMetric::Entropy, HeadMetric::PreviousToken, {"before", "k == q - 1"}};
    const CorpusMeasures measures = corpus_measures(*model, metrics, 8, 4, 4, true);
    const HeadLayout& layout = measures.layout;
    CHECK(layout == HeadLayout{.layers = 2, .heads = 4, .decoder_layers = 2, .decoder_heads = 4});
    const std::vector<CorpusText> texts = {{.offset = 0, .text = kLines[0], .target = kLines[2]},
                                           {.offset = 100, .text = kLines[2], .target = kLines[1]},
                                           {.offset = 200, .text = kLines[3], .target = ""}};
    const CorpusRows rows = corpus_rows(*model, measures, texts);
    CHECK(rows.skipped == 1);  // without a target
    CHECK(rows.cut == 2);      // the first one's source, the second one's target
    REQUIRE(rows.targets.size() == 2);
    inference::PromptText prompt;
    prompt.lines = {kLines[0]};
    prompt.target_lines = {kLines[2]};
    const model::ModelInput whole = inference::make_prompt(*model, prompt).input;
    CHECK(rows.targets[0] == whole.target->ids);
    const CorpusStatistics found = survey_corpus(session, *model, measures, texts);
    CHECK(found.texts == 2);
    CHECK(found.odd == 0);
    for (std::size_t place = 0; place < layout.count(); ++place) {
      const HeadRef of = layout.at(place);
      CAPTURE(layout.name(place));
      double entropy = 0.0, before = 0.0;
      for (std::size_t line = 0; line < 2; ++line) {
        prompt = {.lines = {}, .ids = {rows.ids[line]}, .target_ids = {rows.targets[line]}};
        session.run(model->network, inference::make_prompt(*model, prompt).input, model->masks);
        const Tensor weights = session.stage(of.block, attention::Stage::Weights);
        const std::size_t queries = weights.axis(2), keys = weights.axis(3);
        const bool is_encoder = of.block.kind == model::BlockKind::EncoderSelf;
        REQUIRE(queries == (is_encoder ? rows.ids : rows.targets)[line].size());
        REQUIRE(keys == (of.block.kind == model::BlockKind::DecoderSelf ? rows.targets : rows.ids)[line].size());
        double sum = 0.0, on_pattern = 0.0;
        for (std::size_t query = 0; query < queries; ++query) {
          for (std::size_t key = 0; key < keys; ++key) {
            const double weight = double{weights.values[(of.head * queries + query) * keys + key]};
            sum -= weight > 0.0 ? weight * std::log(weight) : 0.0;
            on_pattern += key + 1 == query ? weight : 0.0;
          }
        }
        entropy += sum / static_cast<double>(queries) / 2.0;
        before += on_pattern / static_cast<double>(queries - 1) / 2.0;
      }
      CHECK(std::abs(found.metrics[place].mean() - entropy) < 1e-12);
      const bool is_cross = of.block.kind == model::BlockKind::Cross;
      for (const std::size_t metric : {1U, 2U}) {
        const MetricStatistics& of_pattern = found.metrics[metric * layout.count() + place];
        CHECK(of_pattern.texts == (is_cross ? 0 : 2));
        if (!is_cross) CHECK(std::abs(of_pattern.mean() - before) < 1e-12);
      }
      for (const HeadExample& example : found.examples[place].kept()) {
        const std::size_t line = example.offset / 100;
        CHECK(example.query < (of.block.kind == model::BlockKind::EncoderSelf ? rows.ids : rows.targets)[line].size());
        CHECK(example.key < (of.block.kind == model::BlockKind::DecoderSelf ? rows.targets : rows.ids)[line].size());
      }
    }
    CHECK(encode(decode_statistics(encode(found), measures)) == encode(found));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "what can't be surveyed is refused, and a text without a token skipped") {
    const auto model = test::open_golden_model("gpt2");
    test::RunningSession session(context);
    const CorpusMeasures measures = corpus_measures(*model, {HeadMetric::Sink}, 8, 1);
    const std::vector<CorpusText> texts = {{.offset = 0, .text = ""}};
    const CorpusStatistics found = survey_corpus(session, *model, measures, texts);
    CHECK(found.texts == 0);
    CHECK(found.skipped == 1);

    const TemporaryDirectory folder;
    test::write_odd_model(folder.path(), "gpt2", "transformer.h.0.attn.c_attn.weight", 40,
                          std::numeric_limits<float>::quiet_NaN());
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
      std::filesystem::copy_file(test::golden_model_path("gpt2") / file, folder.path() / file);
    }
    const auto odd = inference::open_model(folder.path());
    const CorpusStatistics without = survey_corpus(session, *odd, measures, texts_of(2, 3));
    CHECK(without.texts == 3);
    CHECK(without.odd == 3);
    // One head of the first layer reads the number, and all heads of the layers that follow what it wrote.
    const std::size_t heads = measures.layout.heads, odd_heads = 1 + (measures.layout.layers - 1) * heads;
    const auto of_texts = [&](std::uint64_t count) {
      return static_cast<std::size_t>(std::ranges::count(without.metrics, count, &MetricStatistics::texts));
    };
    CHECK(of_texts(0) == odd_heads);
    CHECK(of_texts(3) == measures.layout.count() - odd_heads);
    CHECK(decode_statistics(encode(without), measures).odd == 3);
  }
}

}  // namespace survey_gpu_test
