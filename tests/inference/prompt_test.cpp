#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/file.h"
#include "inference/language_model.h"
#include "inference/memory_estimate.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

namespace prompt_test {

using namespace headlight;
using namespace headlight::inference;
using model::BlockKind;
using model::kPaddingId;
namespace fs = std::filesystem;

namespace {

std::shared_ptr<const LanguageModel> open_golden(std::string_view name) { return open_model(test::golden_model_path(name)); }

using Ids = std::vector<std::uint32_t>;

/// Estimated bytes of a run of this golden model relative to the actual ones.
double estimated_share(gpu::Context& context, const char* name, ops::AttentionKernel attention) {
  const auto model = open_golden(name);
  const std::uint32_t tokens = name == std::string("gpt2") ? 32 : 1000;
  PromptText text{.lines = {}, .ids = {Ids(tokens, 5)}};
  if (model->description.is_encoder_decoder) text.target_ids = {Ids(tokens, 5)};
  const TemporaryDirectory folder;
  ops::Tuning tuning = ops::default_tuning(context.device());
  tuning.attention = attention;
  ops::save_tuning(context.device(), folder.path() / "kernels.json", tuning);
  test::RunningSession session(context, folder.path() / "kernels.json");
  const RunTiming timing = session.run(model->network, make_prompt(*model, text).input, model->masks);
  const MemoryEstimate estimate =
      estimate_memory(*model->network, Precision::F32, tokens, RunDevice{context.device(), attention});
  CHECK(estimate.run <= estimate_memory(*model->network, Precision::F32, tokens).run);
  return static_cast<double>(estimate.total()) / static_cast<double>(timing.device_bytes);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a run that the device has no room for is refused by its sum, before it takes any memory") {
    const auto gpt2 = open_golden("gpt2");
    const model::ModelInput one = make_prompt(*gpt2, {.lines = {}, .ids = {Ids(32, 5)}}).input;
    const model::ModelInput many = make_prompt(*gpt2, {.lines = {}, .ids = std::vector<Ids>(10, Ids(32, 5))}).input;
    const std::uint64_t bytes = least_run_bytes(*gpt2->network, one);
    CHECK(bytes <= estimate_memory(*gpt2->network, Precision::F32, 32).run);
    // The bytes leave out the scratch of the feed-forward and of scores (observed: 2.53 times).
    CHECK(3 * bytes > estimate_memory(*gpt2->network, Precision::F32, 32).run);
    CHECK(least_run_bytes(*gpt2->network, many) == 10 * bytes);
    gpu::DeviceInfo device;
    device.name = "small";
    device.memory_bytes = 10 * bytes;
    CHECK_NOTHROW(expect_room(*gpt2->network, many, device));
    --device.memory_bytes;
    CHECK(test::error_message([&] {
            expect_room(*gpt2->network, many, device);
          }).starts_with("the device 'small' can't hold 10 lines of 32 tokens: "));
    device.memory_bytes = bytes / 2;
    const std::string message = test::error_message([&] { expect_room(*gpt2->network, one, device); });
    CHECK(message.starts_with("the device 'small' can't hold 32 tokens: "));
    CHECK(message.ends_with("; give a shorter text"));
  }

  TEST_CASE("lines become a batch, padded on the right") {
    const auto gpt2 = open_golden("gpt2");
    const Prompt prompt = make_prompt(*gpt2, {.lines = {"the cat", "the cat sat on"}});
    const model::TokenBatch& tokens = prompt.input.source;
    CHECK(tokens.batch == 2);
    CHECK(tokens.lengths == Ids{2, 4});
    CHECK(tokens.length == 4);
    CHECK(tokens.starts.empty());
    CHECK(tokens.types.empty());
    const Ids first = {98, 108, kPaddingId, kPaddingId};
    CHECK(Ids(tokens.ids.begin(), tokens.ids.begin() + 4) == first);
    CHECK(tokens.texts[0] == std::vector<std::string>{"the", "·cat", "<pad>", "<pad>"});
    REQUIRE(prompt.tokens.size() == 2);
    CHECK(prompt.tokens[0][1].bytes == text::ByteRange{3, 7});
    CHECK(prompt.target_tokens.empty());
    CHECK_NOTHROW(model::check(*gpt2->network, prompt.input));
  }

  TEST_CASE("padding on the left moves tokens and labels, not positions") {
    const auto llama = open_golden("llama");
    PromptText text{.lines = {"the cat", "the"}};
    text.padding = PaddingSide::Left;
    const model::TokenBatch tokens = make_prompt(*llama, text).input.source;
    REQUIRE(tokens.length == 3);
    CHECK(tokens.starts.at(0) == 0);
    const std::uint32_t start = tokens.starts.at(1);
    REQUIRE(start == tokens.length - tokens.lengths[1]);
    CHECK(start > 0);
    CHECK(tokens.ids[tokens.length] == kPaddingId);
    CHECK(tokens.ids[tokens.length + start] == 1);  // <s>
    CHECK(tokens.texts[1][0] == "<pad>");
    CHECK(tokens.texts[1][start] == "<s>");
    CHECK(tokens.position(1, start) == 0);
    CHECK_NOTHROW(model::check(*llama->network, make_prompt(*llama, text).input));
  }

  TEST_CASE("BERT's special tokens, pairs and types") {
    const auto bert = open_golden("bert");
    CHECK(make_prompt(*bert, {.lines = {"the cat"}}).input.source.ids == Ids{2, 38, 39, 3});
    CHECK(make_prompt(*bert, {.lines = {"the cat"}, .adds_special = false}).input.source.ids == Ids{38, 39});
    const Prompt pair = make_prompt(*bert, {.lines = {"the cat", "sat on"}, .pair_lines = {"sat", ""}});
    CHECK(pair.input.source.ids == Ids{2, 38, 39, 3, 40, 3, 2, 40, 41, 3, kPaddingId, kPaddingId});
    CHECK(pair.input.source.types == Ids{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0});
    CHECK(pair.input.source.texts[0] == std::vector<std::string>{"[CLS]", "the", "cat", "[SEP]", "sat", "[SEP]"});
    CHECK(test::error_message([&] {
            make_prompt(*bert, {.lines = {"a", "b", "c"}, .pair_lines = {"a", "b"}});
          }) == "2 second sentences for 3 texts: give one for each, or one for all");
  }

  TEST_CASE("the decoder reads its start token and the target without its end") {
    const auto marian = open_golden("marian");
    const Prompt alone = make_prompt(*marian, {.lines = {"the cat", "sat"}});
    REQUIRE(alone.input.target);
    CHECK(alone.input.target->ids == Ids{103, 103});
    const Prompt both = make_prompt(*marian, {.lines = {"the cat", "sat"}, .target_lines = {"on the", "cat"}});
    CHECK(both.input.source.ids == Ids{3, 4, 0, 5, 0, kPaddingId});
    CHECK(both.input.target->ids == Ids{103, 6, 3, 103, 4, kPaddingId});
    REQUIRE(both.target_tokens[0].size() == 3);
    CHECK(both.target_tokens[0][0].is_special);
    CHECK(both.target_tokens[0][1].bytes == text::ByteRange{0, 2});
    CHECK_NOTHROW(model::check(*marian->network, both.input));
    const Prompt ids = make_prompt(*marian, {.lines = {}, .ids = {{3, 0}}, .target_ids = {{103, 9, 9}}});
    CHECK(ids.input.target->ids == Ids{103, 9, 9});
  }

  TEST_CASE("a template that starts texts with the decoder's start token doesn't add it twice") {
    LanguageModel model = *open_golden("marian");
    model.target_tokenizer = open_golden("llama")->tokenizer;
    const std::vector<text::Token> tokens = model.target_tokenizer->encode("a a");
    REQUIRE(tokens.front().is_special);
    Ids expected;
    for (const text::Token& token : tokens) expected.push_back(token.id);
    model.description.ids.decoder_start = expected.front();
    const PromptText text{.lines = {"a a"}, .target_lines = {"a a"}};
    CHECK(make_prompt(model, text).input.target->ids == expected);
    model.description.ids.decoder_start = 103;  // another one is before it
    Ids both = {103};
    both.insert(both.end(), expected.begin(), expected.end());
    CHECK(make_prompt(model, text).input.target->ids == both);
  }

  TEST_CASE("input that the network doesn't accept is refused in one line") {
    const auto gpt2 = open_golden("gpt2");
    const auto refusal = [&](const LanguageModel& model, const PromptText& text) {
      std::string message = test::error_message([&] { make_prompt(model, text); });
      CHECK(test::is_one_line(message));
      return message;
    };
    CHECK(refusal(*gpt2, {.lines = {}}) == "the text has no line: type at least one token");
    CHECK(refusal(*gpt2, {.lines = {""}}) == "the text has no token: type at least one");
    CHECK(refusal(*gpt2, {.lines = {"a", ""}}) == "line 1 of the text has no token: type at least one");
    CHECK(refusal(*gpt2, {.lines = {}, .ids = {Ids(33, 5)}}) ==
          "the text has 33 tokens, but the model has positions for 32: shorten it");
    // Nor is what a tokenizer adds around a line, or what it leaves of a character without a width.
    CHECK(refusal(*open_golden("llama"), {.lines = {"a", ""}}) == "line 1 of the text has no token: type at least one");
    CHECK(refusal(*open_golden("bert"), {.lines = {"\u200b"}}) == "the text has no token: type at least one");
    CHECK_NOTHROW(make_prompt(*open_golden("bert"), {.lines = {"[MASK]"}}));
    CHECK_NOTHROW(make_prompt(*gpt2, {.lines = {}, .ids = {Ids(32, 5)}}));
    CHECK_NOTHROW(make_prompt(*gpt2, {.lines = {}, .ids = {Ids(33, 5)}, .stretches_positions = true}));
    try {
      make_prompt(*gpt2, {.lines = {}, .ids = {Ids(33, 5)}});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::TooFewPositions);
    }
    CHECK(refusal(*gpt2, {.lines = {}, .ids = {{5, 128}}}) == "the text: token id 128 is not among the model's 128");
    CHECK(refusal(*gpt2, {.lines = {"a"}, .target_lines = {"b"}}) == "GPT-2 has no decoder: it takes no target");
    const auto roberta = open_golden("roberta");  // its positions begin at 2
    CHECK_NOTHROW(make_prompt(*roberta, {.lines = {}, .ids = {Ids(roberta->description.max_length, 5)}}));
    CHECK(refusal(*roberta, {.lines = {}, .ids = {Ids(roberta->description.max_length + 1, 5)}}).find("positions for") !=
          std::string::npos);
    const auto llama = open_golden("llama");  // RoPE has no limit
    CHECK_NOTHROW(make_prompt(*llama, {.lines = {}, .ids = {Ids(500, 5)}}));
    const auto t5 = open_golden("t5");
    CHECK(refusal(*t5, {.lines = {"a"}}).find("has no tokenizer") != std::string::npos);
    CHECK(refusal(*t5, {.lines = {"a"}}).find("give token ids instead of text") != std::string::npos);
    CHECK(make_prompt(*t5, {.lines = {}, .ids = {{7}}}).input.source.texts[0][0] == "7");
  }

  TEST_CASE("masks are those of the training") {
    const auto is_causal = [](std::string_view name, BlockKind kind) { return open_golden(name)->masks[kind].rule.causal; };
    CHECK(is_causal("gpt2", BlockKind::EncoderSelf));
    CHECK_FALSE(is_causal("bert", BlockKind::EncoderSelf));
    CHECK_FALSE(is_causal("marian", BlockKind::EncoderSelf));
    CHECK(is_causal("marian", BlockKind::DecoderSelf));
    CHECK_FALSE(is_causal("marian", BlockKind::Cross));
    CHECK(open_golden("gpt2")->masks[BlockKind::EncoderSelf].rule.key_padding);
  }

  TEST_CASE("a GGUF file contains its tokenizer") {
    const auto gguf = open_golden("gguf/gpt2.gguf");
    REQUIRE(gguf->tokenizer);
    CHECK(make_prompt(*gguf, {.lines = {"the cat"}}).input.source.ids == Ids{98, 108});
    const auto llama = open_golden("gguf/llama.gguf");
    CHECK(make_prompt(*llama, {.lines = {"the cat"}}).input.source.ids.front() == 1);  // <s>
  }

  TEST_CASE("models are found by their name in the cache") {
    const TemporaryDirectory cache;
    const fs::path snapshot = cache.path() / "models--somebody--tiny" / "snapshots" / "0123";
    fs::create_directories(snapshot);
    fs::create_directories(cache.path() / "models--somebody--tiny" / "refs");
    write_file_atomically(cache.path() / "models--somebody--tiny" / "refs" / "main", "0123");
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      fs::create_symlink(test::golden_model_path("gpt2") / file, snapshot / file);
    }
    ::setenv("HF_HUB_CACHE", cache.path().c_str(), 1);
    const auto model = open_model("somebody/tiny");
    CHECK(fs::equivalent(model->path, snapshot));
    CHECK(model->description.name == "somebody/tiny");
    const std::string message = test::error_message([] { open_model("somebody/else"); });
    ::unsetenv("HF_HUB_CACHE");
    CHECK(message == fmt::format("somebody/else: there is no such file or folder, and {} has no model of this name",
                                 cache.path().string()));
    CHECK(fs::equivalent(find_model(cache.path() / "models--somebody--tiny"), snapshot));
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the estimated memory is what a run takes") {
    gpu::Context& context = test::shared_context();
    for (const char* name : {"gpt2", "llama", "mistral", "t5"}) {
      CAPTURE(name);
      const double share = estimated_share(context, name, ops::default_tuning(context.device()).attention);
      CAPTURE(share);
      CHECK(share > 0.5);  // 0.56 (gpt2, where fixed costs count), 0.96 … 0.98
      CHECK(share < 1.5);
    }
  }

  TEST_CASE("the estimate covers attention without scratch and a device with small texel buffers") {
    const double tiled = estimated_share(test::shared_context(), "llama", ops::AttentionKernel::Tiled);
    CHECK(tiled > 0.5);
    CHECK(tiled < 1.5);
    test::WatchedContext small({.max_texel_elements = 65'536});
    const double by_blocks = estimated_share(small, "llama", ops::AttentionKernel::BlocksTexel);
    CHECK(by_blocks > 0.5);
    CHECK(by_blocks < 1.5);
  }
}

}  // namespace prompt_test
