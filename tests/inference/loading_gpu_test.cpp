// Loading weights on the device and unloading them.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "inference/memory_estimate.h"
#include "inference/random_network.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace loading_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

std::shared_ptr<const model::Network> load_model(const char* name) {
  return std::make_shared<const model::Network>(model::load_network(test::golden_model_path(name)).network);
}

std::uint64_t weight_bytes(const model::Network& network, Precision precision) {
  return estimate_memory(network, precision, 1).weights;
}

/// One attention layer of four 512 × 512 weights: 4 MiB, 2 MiB as float16.
std::shared_ptr<const model::Network> four_megabytes() {
  test::Random random(1);
  const model::AttentionConfig config{.d_model = 512, .heads = 8, .d_k = 64, .d_v = 64};
  return test::single_layer(config, test::random_weights(random, config, false, true));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "loading takes as many bytes as predicted, and unloading frees them") {
    for (const char* name : {"gpt2", "llama", "albert", "gemma2", "t5"}) {
      CAPTURE(std::string(name));
      const auto network = load_model(name);
      test::RunningSession session(context);
      const std::size_t before = context.allocated_bytes();
      std::size_t taken_f32 = 0;
      for (const Precision precision : {Precision::F32, Precision::F16}) {
        std::vector<std::size_t> done;
        std::size_t of = 0;
        session.load(network->layers, precision, [&](std::size_t bytes, std::size_t total) {
          done.push_back(bytes);
          of = total;
          return true;
        });
        const std::size_t taken = context.allocated_bytes() - before;
        CHECK(taken == weight_bytes(*network, precision));
        CHECK(of == taken);
        CHECK(done.back() == taken);
        CHECK(std::is_sorted(done.begin(), done.end()));
        if (precision == Precision::F32) taken_f32 = taken;
        CHECK((precision == Precision::F32 || taken < taken_f32));
      }
      const test::GoldenCase golden = test::load_golden_cases(name).at(0);
      session.run(network, golden.input, {});
      CHECK_FALSE(session.blocks().empty());
      session.unload();
      CHECK(context.allocated_bytes() == before);
      CHECK(session.blocks().empty());
      CHECK_FALSE(session.has_logits());
      CHECK(session.logits().is_empty());
      CHECK(session.hidden(Stack::Encoder).is_empty());
      session.run(network, golden.input, {});  // loads again
      CHECK(session.has_logits());
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "cancelled loading frees its memory and can be started again") {
    const auto network = load_model("llama");
    test::RunningSession session(context);
    const std::size_t before = context.allocated_bytes();
    std::size_t most = 0;
    const std::string message = test::error_message([&] {
      session.load(network->layers, Precision::F32, [&](std::size_t done, std::size_t total) {
        most = done;
        return done < total / 2;
      });
    });
    CHECK(message == "loading was cancelled");
    CHECK(most < weight_bytes(*network, Precision::F32));
    CHECK(context.allocated_bytes() == before);
    CHECK(session.blocks().empty());
    CHECK_FALSE(session.has_logits());
    session.load(network->layers, Precision::F32);
    CHECK(context.allocated_bytes() == before + weight_bytes(*network, Precision::F32));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "loading the same layers again does nothing; in another precision it loads all again") {
    const auto network = load_model("llama");
    test::RunningSession session(context);
    std::uint32_t calls = 0;
    const LoadObserver count = [&](std::size_t, std::size_t) {
      ++calls;
      return true;
    };
    session.load(network->layers, Precision::F32, count);
    CHECK(calls > 0);
    calls = 0;
    session.load(network->layers, Precision::F32, count);
    CHECK(calls == 0);
    session.load(network->layers, Precision::F16, count);
    CHECK(calls > 0);
  }

  TEST_CASE("a device that can't hold the weights refuses them in one line, before anything is allocated") {
    const auto network = four_megabytes();
    const auto refusal = [&](std::size_t memory_bytes, Precision precision) {
      test::WatchedContext small({.memory_bytes = memory_bytes});
      test::RunningSession session(small);
      const std::size_t before = small->allocated_bytes();
      bool has_begun = false;
      const std::string message = test::error_message(
          [&] { session.load(network->layers, precision, [&](std::size_t, std::size_t) { return has_begun = true; }); });
      CHECK_FALSE(has_begun);
      CHECK(small->allocated_bytes() == before);
      CHECK(test::is_one_line(message));
      return message;
    };
    const std::string wide = refusal(3u << 20, Precision::F32);
    CAPTURE(wide);
    CHECK(wide.starts_with("the weights take 4 MiB, but '"));
    CHECK(wide.find("' has 3 MiB left; keep them in float16 (--precision f16) or choose a smaller model") !=
          std::string::npos);
    const std::string half = refusal(1u << 20, Precision::F16);
    CAPTURE(half);
    CHECK(half.starts_with("the weights take 2 MiB, but '"));
    CHECK(half.find("' has 1 MiB left; choose a smaller model") != std::string::npos);
    const std::string neither = refusal(1u << 20, Precision::F32);
    CHECK(neither.find("float16") == std::string::npos);
  }
}

}  // namespace loading_gpu_test
