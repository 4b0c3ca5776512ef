// Whole models against transformers, on the device. HEADLIGHT_UPDATE_GOLDEN=1 writes their errors into docs/MODEL_CHECKS.md.
#include <doctest/doctest.h>

#include "inference/desk.h"
#include "inference/error_table.h"
#include "inference/golden_run.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace models_gpu_test {

using namespace headlight;
using inference::Precision;

namespace {

/// Checks that maps, states and logits are the same, and so the ten most likely tokens everywhere.
void check_exact(const std::string& name, const test::GoldenDifference& worst) {
  MESSAGE(name, ": attention ", worst.attention, ", hidden ", worst.hidden, ", logits ", worst.logits);
  CHECK(worst.attention < 1e-5);  // observed 1.5e-6
  CHECK(worst.hidden < 2e-5);     // observed 5.3e-6
  CHECK(worst.logits < 2e-5);     // observed 7.0e-6
  CHECK(worst.unordered == 0);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("docs/MODEL_CHECKS.md has the errors of every golden model") {
    const test::ErrorTable table;
    for (const std::string& name : test::golden_models()) {
      CHECK_MESSAGE(table.has(name), name,
                    ": HEADLIGHT_UPDATE_GOLDEN=1 test_inference -ts=gpu -tc='every family*' writes it");
    }
    for (const std::string& name : test::golden_gguf_files()) CHECK_MESSAGE(table.has("gguf/" + name + ".gguf"), name);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "every family: maps, states and logits are transformers'") {
    const auto names = test::golden_models();
    CHECK(names.size() >= 32);
    test::ErrorTable table;
    for (const std::string& name : names) {
      const auto loaded = model::load_network(test::golden_model_path(name));
      const auto worst = test::run_golden(context, loaded, test::load_golden_cases(name), Precision::F32);
      check_exact(name, worst);
      table.set(name, Precision::F32, worst);
    }
    table.write();
  }

  TEST_CASE_FIXTURE(test::OnGpu, "every family: all stages, the feed-forward's too, are the double-precision reference's") {
    for (const std::string name : {"gpt2",
                                   "llama",
                                   "gemma2",
                                   "gpt_neox",
                                   "bert",
                                   "t5",
                                   "opt",
                                   "marian",
                                   "mpnet",
                                   "modernbert",
                                   "esm",
                                   "led",
                                   "umt5",
                                   "blenderbot-small",
                                   "deberta-v3",
                                   "bert-relative-key",
                                   "granite",
                                   "olmo",
                                   "olmo2",
                                   "cohere",
                                   "stablelm-parallel",
                                   "falcon-alibi",
                                   "nemotron",
                                   "mixtral",
                                   "qwen2_moe",
                                   "qwen3_moe",
                                   "olmoe",
                                   "granitemoe",
                                   "llama-dynamic"}) {
      const auto loaded = model::load_network(test::golden_model_path(name));
      const test::GoldenCase golden = test::load_golden_cases(name).front();
      const attention::MaskSet masks = test::masks_of(loaded.description, golden);
      test::RunningSession session(context);
      const auto network = std::make_shared<const model::Network>(loaded.network);
      session.run(network, golden.input, masks);
      const double fill = static_cast<double>(attention::fill_value(masks.by_kind[0].fill));
      std::string worst;
      const double difference = test::max_difference(
          session, model::reference::run(*network, golden.input, test::visibility(masks, *network, golden.input), fill),
          worst);
      MESSAGE(name, ": ", difference, " at ", worst);
      CHECK(difference < 5e-5);  // observed 1.4e-5, of olmo2's scores
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "GGUF files, also quantised ones, give transformers' maps, states and logits") {
    test::ErrorTable table;
    for (const std::string& name : test::golden_gguf_files()) {
      const auto path = test::golden_model_path("gguf") / name;
      const auto loaded = model::load_network(path.string() + ".gguf");
      const auto cases = test::read_golden_cases(path.string() + ".reference.safetensors");
      CHECK(cases.size() == 2);
      const auto worst = test::run_golden(context, loaded, cases, Precision::F32);
      check_exact(name, worst);
      table.set("gguf/" + name + ".gguf", Precision::F32, worst);
    }
    table.write();
  }

  TEST_CASE_FIXTURE(test::OnGpu, "LongRoPE: each line of a batch is rotated by its own length's factors, as alone") {
    const test::OpenModel model = test::open_golden_model("phi3-longrope");  // long beyond 16 positions
    test::Random random(5);
    test::Desk desk = test::make_desk(random, model);
    const auto brief = test::random_text(random, 6, model.description.vocabulary);
    const auto lengthy = test::random_text(random, 21, model.description.vocabulary);
    test::RunningSession session(context);
    const auto logits_of = [&](std::vector<std::vector<std::uint32_t>> lines) {
      desk.source = std::move(lines);
      session.run(model.network, desk.input(), desk.masks);
      return session.logits();
    };
    for (const bool pads_left : {false, true}) {
      desk.pads_left = false;
      const Tensor alone = logits_of({brief}), alone_long = logits_of({lengthy});
      desk.pads_left = pads_left;
      const Tensor both = logits_of({brief, lengthy});
      double largest = 0.0;
      const auto compare = [&](const Tensor& one, std::size_t first) {
        for (std::size_t i = 0; i < one.values.size(); ++i) {
          test::widen(largest, one.values[i], both.values[first * one.axis(2) + i]);
        }
      };
      compare(alone, pads_left ? 21 - 6 : 0);
      compare(alone_long, 21);
      CHECK(largest < 1e-5);  // observed 9.6e-7
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a model in several files equals the model in one") {
    const auto loaded = model::load_network(test::golden_model_path("llama-sharded"));
    check_exact("llama-sharded", test::run_golden(context, loaded, test::load_golden_cases("llama"), Precision::F32));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "weights as float16: rounded once, and exact where the file holds float16") {
    // Rounding weights changes results by about 2^-11 of their size per layer.
    test::ErrorTable table;
    for (const std::string& name : test::golden_models()) {
      const auto loaded = model::load_network(test::golden_model_path(name));
      const auto worst = test::run_golden(context, loaded, test::load_golden_cases(name), Precision::F16);
      table.set(name, Precision::F16, worst);
      if (name == "llama-f16") {
        check_exact(name, worst);
        continue;
      }
      MESSAGE(name, " as float16: attention ", worst.attention, ", hidden ", worst.hidden, ", logits ", worst.logits);
      CHECK(worst.attention < 5e-3);  // observed 1.9e-3
      CHECK(worst.hidden < 2e-2);     // observed 6.9e-3
      CHECK(worst.logits < 2e-2);     // observed 5.9e-3
      CHECK(worst.hidden > 1e-6);     // or float32 was kept
    }
    table.write();
  }
}

}  // namespace models_gpu_test
