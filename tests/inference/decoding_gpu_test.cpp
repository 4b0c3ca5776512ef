// Decoding, token by token: a batch of lines against each line alone and recomputed for every token.
#include "inference/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/file.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/random.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

namespace decoding_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

using Ids = std::vector<std::uint32_t>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

struct Plain {
  Decoded decoded;
  double least_margin = std::numeric_limits<double>::infinity();  ///< between the two likeliest tokens of any step
};

/// The model's own logits of what follows the last token, all of it computed anew.
std::vector<float> fresh_logits(test::RunningSession& session, const LanguageModel& model, const Ids& line,
                                const Ids& target) {
  PromptText text{.lines = {}, .ids = {line}};
  if (!target.empty()) text.target_ids = {target};
  session.forget();
  session.run(model.network, make_prompt(model, text).input, model.masks);
  const Tensor logits = session.logits();  // [1, token, vocabulary]
  return {logits.values.end() - logits.axis(2), logits.values.end()};
}

/// Decodes greedily as the definition says, without anything that makes it fast.
Plain decode_plainly(test::RunningSession& session, const LanguageModel& model, const Ids& line, std::uint32_t most_tokens) {
  const bool has_target = model.description.is_encoder_decoder;
  Ids source = line;
  Ids target = has_target ? Ids{model.description.ids.decoder_start.value()} : Ids();
  const std::uint32_t positions = position_limit(model, model.network->source_embedding.get());
  Plain plain;
  while (plain.decoded.ids.size() < most_tokens) {
    Ids& written = has_target ? target : source;
    if (positions != 0 && written.size() > positions) break;
    std::vector<float> logits = fresh_logits(session, model, source, target);
    for (const std::uint32_t id : suppressed_tokens(model)) logits.at(id) = kNever;
    const std::vector<Candidate> best = top_candidates(logits, 2);
    plain.least_margin = std::min(plain.least_margin, static_cast<double>(best[0].logit - best[1].logit));
    plain.decoded.log_probability += std::log(best[0].probability);
    const Ids ends = end_tokens(model);
    plain.decoded.has_ended = std::ranges::find(ends, best[0].id) != ends.end();
    if (plain.decoded.has_ended) break;
    plain.decoded.ids.push_back(best[0].id);
    written.push_back(best[0].id);
  }
  return plain;
}

/// Lines of unequal lengths.
std::vector<Ids> some_lines(test::Random& random, const LanguageModel& model, std::initializer_list<std::uint32_t> lengths) {
  std::vector<Ids> lines;
  for (const std::uint32_t length : lengths) {
    Ids& line = lines.emplace_back();
    while (line.size() < length) line.push_back(random.between(2, model.description.vocabulary - 2));
  }
  return lines;
}

void check_same(const std::vector<Decoded>& found, const std::vector<Plain>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(expected[i].least_margin > 1e-4);  // or rounding may choose; observed at least 4.4e-3
    CHECK(found[i].ids == expected[i].decoded.ids);
    CHECK(found[i].has_ended == expected[i].decoded.has_ended);
    const double difference = std::abs(found[i].log_probability - expected[i].decoded.log_probability);
    CHECK(difference < 1e-3);  // a sum over up to 24 tokens; observed 8.0e-6
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "greedy decoding of a batch equals that of each line, recomputed for every token") {
    for (const char* name : {"gpt2", "marian", "t5", "llama"}) {
      CAPTURE(name);
      // Copied, so that a token that the untrained model often predicts can become an end token.
      LanguageModel model = *open_model(test::golden_model_path(name));
      test::RunningSession session(context), fresh(context);
      test::Random random(11);
      const std::vector<Ids> lines = some_lines(random, model, {3, 9, 1, 9, 6});
      for (const bool ends_early : {false, true}) {
        std::vector<Plain> expected;
        for (const Ids& line : lines) expected.push_back(decode_plainly(fresh, model, line, 24));
        if (ends_early) {
          CHECK(std::ranges::any_of(expected, [](const Plain& plain) { return plain.decoded.has_ended; }));
        }
        const PromptText text{.lines = {}, .ids = lines};
        check_same(decode(session, model, text, {.most_tokens = 24}), expected);
        check_same(decode(session, model, text, {.most_tokens = 24, .items_at_once = 2}), expected);
        check_same(decode(session, model, text, {.most_tokens = 24, .items_at_once = 1}), expected);
        const Ids& some =
            std::ranges::max(expected, {}, [](const Plain& plain) { return plain.decoded.ids.size(); }).decoded.ids;
        model.description.ids.eos.push_back(some.at(some.size() / 2));
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "decoding continues a given target") {
    const auto model = open_model(test::golden_model_path("marian"));
    test::RunningSession session(context);
    PromptText text{.lines = {}, .ids = {{5, 6, 7, 0}, {8, 9, 0}}};
    const std::vector<Decoded> whole = decode(session, *model, text, {.most_tokens = 8});
    const std::uint32_t start = model->description.ids.decoder_start.value();
    for (std::size_t line = 0; line < 2; ++line) REQUIRE(whole[line].ids.size() == 8);
    // The targets begin with three tokens for the first line and none for the second.
    text.target_ids = {{start, whole[0].ids[0], whole[0].ids[1], whole[0].ids[2]}, {start}};
    const std::vector<Decoded> rest = decode(session, *model, text, {.most_tokens = 5});
    CHECK(rest[0].ids == Ids(whole[0].ids.begin() + 3, whole[0].ids.end()));
    CHECK(rest[1].ids == Ids(whole[1].ids.begin(), whole[1].ids.begin() + 5));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "lines end where the model has no more positions") {
    const auto model = open_model(test::golden_model_path("gpt2"));  // 32 positions
    LanguageModel endless = *model;
    endless.description.ids.eos.clear();
    endless.tokenizer.reset();
    endless.target_tokenizer.reset();
    test::RunningSession session(context);
    const std::vector<Decoded> decoded =
        decode(session, endless, {.lines = {}, .ids = {Ids(32, 5), Ids(20, 6)}}, {.most_tokens = 100});
    CHECK(decoded[0].ids.size() == 1);  // what follows the last position; it has none itself
    CHECK(decoded[1].ids.size() == 13);
    CHECK_FALSE(decoded[0].has_ended);
    CHECK_FALSE(decoded[1].has_ended);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "the remaining lines of a batch continue without those that have ended") {
    for (const char* name : {"gpt2", "marian"}) {
      CAPTURE(name);
      LanguageModel model = *open_model(test::golden_model_path(name));  // 32 positions each
      model.description.ids.eos.clear();
      model.tokenizer.reset();
      model.target_tokenizer.reset();
      test::Random random(3);
      // Four lines have no more positions after a few tokens, the fifth has many.
      const std::vector<Ids> lines = some_lines(random, model, {30, 29, 4, 30, 28});
      PromptText together{.lines = {}, .ids = lines};
      if (model.description.is_encoder_decoder)
        together = {.lines = {}, .ids = some_lines(random, model, {5, 9, 7, 1, 3}), .target_ids = lines};
      test::RunningSession session(context), alone(context);
      const std::vector<Decoded> decoded = decode(session, model, together, {.most_tokens = 20});
      for (std::size_t line = 0; line < lines.size(); ++line) {
        CHECK(decoded[line].ids.size() == std::min<std::size_t>(20, 33 - lines[line].size()));
        PromptText one{.lines = {}, .ids = {together.ids[line]}};
        if (model.description.is_encoder_decoder) one.target_ids = {lines[line]};
        CHECK(decode(alone, model, one, {.most_tokens = 20})[0].ids == decoded[line].ids);
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "sampling: a line depends on its seed, not on other lines of the batch") {
    const auto model = open_model(test::golden_model_path("llama"));
    test::RunningSession session(context);
    DecodingSettings settings{.sampling = {.method = SamplingMethod::Random, .temperature = 1.5f, .seed = 7},
                              .most_tokens = 12};
    const std::vector<Ids> lines = {{5, 6}, {7, 8, 9, 10}, {5, 6}};
    const std::vector<Decoded> together = decode(session, *model, {.lines = {}, .ids = lines}, settings);
    CHECK(together[0].ids != together[2].ids);  // the same line, another seed
    for (std::size_t line = 0; line < lines.size(); ++line) {
      DecodingSettings alone = settings;
      alone.sampling.seed = 7 + line;
      CHECK(decode(session, *model, {.lines = {}, .ids = {lines[line]}}, alone)[0].ids == together[line].ids);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "an observer is called for every token and can end the decoding") {
    const auto model = open_model(test::golden_model_path("llama"));
    test::RunningSession session(context);
    std::vector<std::size_t> lengths;
    const auto observe = [&](const DecodingProgress& progress) {
      lengths.push_back(progress.lines[0].ids.size());
      CHECK(progress.done == 0);
      return lengths.size() < 3;
    };
    const std::vector<Decoded> decoded =
        decode(session, *model, {.lines = {}, .ids = {{5, 6}, {7}}}, {.most_tokens = 10}, observe);
    CHECK(lengths == std::vector<std::size_t>{1, 2, 3});
    CHECK(decoded[0].ids.size() == 3);
    CHECK_FALSE(decoded[0].has_ended);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "what can't be written says so in one line") {
    test::RunningSession session(context);
    const auto refusal = [&](const char* name, const PromptText& text, const DecodingSettings& settings = {}) {
      const auto model = open_model(test::golden_model_path(name));
      return test::error_message([&] { decode(session, *model, text, settings); });
    };
    CHECK(refusal("bert", {.lines = {}, .ids = {{1}}}) == "bert (BERT) fills gaps at most: it can't write");
    CHECK(refusal("bert-base-model", {.lines = {}, .ids = {{1}}}).find("no head over a vocabulary") != std::string::npos);
    CHECK(refusal("gpt2", {.lines = {}, .ids = {{1}, Ids(33, 1)}}).find("positions for 32") != std::string::npos);
    CHECK(refusal("gpt2", {.lines = {}, .ids = {{}}}).find("has no token") != std::string::npos);
    CHECK(refusal("gpt2", {.lines = {}, .ids = {{1}}}, {.most_tokens = 0}).find("at least one token") != std::string::npos);
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("padding and the token that starts a text are never chosen, unless they end it") {
    const auto marian = open_model(test::golden_model_path("marian"));
    CHECK(suppressed_tokens(*marian) == Ids{103});  // both padding and start
    CHECK(end_tokens(*marian) == Ids{0});
    const auto gpt2 = open_model(test::golden_model_path("gpt2"));  // one token is begin, end and padding
    CHECK(suppressed_tokens(*gpt2).empty());
    CHECK(end_tokens(*gpt2) == Ids{0});
    CHECK_FALSE(can_write(open_model(test::golden_model_path("bert"))->description));
  }

  TEST_CASE("generation_config.json may name more end tokens; an unreadable one is ignored") {
    const TemporaryDirectory directory;
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      std::filesystem::copy(test::golden_model_path("gpt2") / file, directory.path() / file);
    }
    const auto ends = [&] { return end_tokens(*open_model(directory.path())); };
    CHECK(ends() == Ids{0});
    write_file_atomically(directory.path() / "generation_config.json", R"({"eos_token_id": [7, 0, 9]})");
    CHECK(ends() == Ids{0, 7, 9});
    write_file_atomically(directory.path() / "generation_config.json", R"({"eos_token_id": "seven"})");
    CHECK(ends() == Ids{0});
    write_file_atomically(directory.path() / "generation_config.json", "{");
    CHECK(ends() == Ids{0});
  }
}

}  // namespace decoding_gpu_test
