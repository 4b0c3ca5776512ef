// The models of assets/models against transformers: states and logits of one text each, and the output of greedy decoding.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "inference/alignment.h"
#include "inference/decoding.h"
#include "inference/golden_run.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace bundled_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

const std::filesystem::path kGolden = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "bundled";

std::filesystem::path bundled(const std::string& name) {
  return std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "../../assets/models" / name;
}

nlohmann::json read_items(const char* name) {
  std::ifstream file(kGolden / name);
  return nlohmann::json::parse(file).at("items");
}

std::vector<std::string> strings(const nlohmann::json& items, const char* key) {
  std::vector<std::string> found;
  for (const auto& item : items) found.push_back(item.at(key));
  return found;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "bundled models: maps, states and logits are transformers'") {
    for (const char* name : {"captions-gpt2", "multi30k-de-en"}) {
      const auto loaded = model::load_network(bundled(name));
      const auto cases = test::read_golden_cases((kGolden / name).string() + ".safetensors");
      REQUIRE(cases.size() == 1);
      const auto worst = test::run_golden(context, loaded, cases, Precision::F32);
      MESSAGE(std::string(name), ": attention ", worst.attention, ", hidden ", worst.hidden, ", logits ", worst.logits);
      CHECK(worst.attention < 1e-5);  // observed 1.1e-6
      CHECK(worst.hidden < 2e-5);     // observed 5.4e-6
      CHECK(worst.logits < 2e-5);     // observed 3.0e-6
      CHECK(worst.unordered == 0);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "bundled translator: ten translations and their alignments are transformers'") {
    const auto model = open_model(bundled("multi30k-de-en"));
    const nlohmann::json items = read_items("translations.json");
    REQUIRE(items.size() == 10);
    PromptText text;
    text.lines = strings(items, "source");
    test::RunningSession session(context);
    const std::vector<Decoded> written = decode(session, *model, text, {.most_tokens = 30});
    PromptText whole = text;
    for (std::size_t i = 0; i < items.size(); ++i) {
      CAPTURE(text.lines[i]);
      CHECK(written[i].ids == items[i].at("ids").get<std::vector<std::uint32_t>>());
      CHECK(written[i].has_ended);
      std::vector<std::uint32_t> target(written[i].ids.size() + 1, model->description.ids.decoder_start.value());
      std::ranges::copy(written[i].ids, target.begin() + 1);
      whole.target_ids.push_back(std::move(target));
    }
    const Prompt prompt = make_prompt(*model, whole);
    session.run(model->network, prompt.input, model->masks);
    const auto aligned = align(*session.newest(), *model, prompt);
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::vector<std::uint32_t> sources;
      for (const AlignedToken& token : aligned.at(i)) sources.push_back(token.source);
      CHECK(sources == items[i].at("alignment").get<std::vector<std::uint32_t>>());
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "bundled caption writer: continuations are transformers'") {
    const auto model = open_model(bundled("captions-gpt2"));
    const nlohmann::json items = read_items("continuations.json");
    REQUIRE(items.size() == 3);
    PromptText text;
    text.lines = strings(items, "text");
    test::RunningSession session(context);
    const auto written = decode(session, *model, text, {.most_tokens = 30});
    for (std::size_t i = 0; i < items.size(); ++i) {
      CHECK(written[i].ids == items[i].at("ids").get<std::vector<std::uint32_t>>());
      CHECK(model->tokenizer->decode(written[i].ids) == items[i].at("continuation").get<std::string>());
    }
  }
}

}  // namespace bundled_gpu_test
