// Loading weights on the device and unloading them.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "inference/memory_estimate.h"
#include "inference/random_network.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

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
    CHECK(half.find("' has 1 MiB left; take a GGUF file of it in Q6_K (about 1 MiB) or choose a smaller model") !=
          std::string::npos);
    const std::string quarter = refusal(1u << 20, Precision::F32);
    CAPTURE(quarter);
    CHECK(quarter.find("; take a GGUF file of it in Q6_K (about 1 MiB) or choose a smaller model") != std::string::npos);
    const std::string neither = refusal(1u << 19, Precision::F32);
    CHECK(neither.find(" MiB left; choose a smaller model") != std::string::npos);
  }

  TEST_CASE("a model larger than memory is refused before its numbers are read") {
    // Llama 2 of 70 billion parameters: 138 GB, a file with a hole.
    constexpr std::uint64_t kWidth = 8192, kInner = 28672, kKeys = 1024;
    constexpr std::uint32_t kLayers = 80;
    nlohmann::json header;
    std::uint64_t at = 0;
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
      const std::uint64_t end = at + 2 * shape[0] * (shape.size() > 1 ? shape[1] : 1);
      header[name + ".weight"] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {at, end}}};
      at = end;
    };
    add("model.embed_tokens", {32000, kWidth});
    add("model.norm", {kWidth});
    add("lm_head", {32000, kWidth});
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = fmt::format("model.layers.{}.", layer);
      for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(prefix + norm, {kWidth});
      for (const char* linear : {"q_proj", "o_proj"}) add(prefix + "self_attn." + linear, {kWidth, kWidth});
      for (const char* linear : {"k_proj", "v_proj"}) add(prefix + "self_attn." + linear, {kKeys, kWidth});
      for (const char* linear : {"gate_proj", "up_proj"}) add(prefix + "mlp." + linear, {kInner, kWidth});
      add(prefix + "mlp.down_proj", {kWidth, kInner});
    }
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "config.json", nlohmann::json{{"model_type", "llama"},
                                                                        {"hidden_size", kWidth},
                                                                        {"intermediate_size", kInner},
                                                                        {"num_hidden_layers", kLayers},
                                                                        {"num_attention_heads", 64},
                                                                        {"num_key_value_heads", 8},
                                                                        {"vocab_size", 32000}}
                                                             .dump());
    const std::string text = header.dump();
    std::string length(sizeof(std::uint64_t), ' ');
    const std::uint64_t count = text.size();
    std::memcpy(length.data(), &count, sizeof(count));
    const std::filesystem::path file = folder.path() / "model.safetensors";
    write_file_atomically(file, length + text);
    std::filesystem::resize_file(file, sizeof(count) + text.size() + at);

    const model::LoadedNetwork loaded = model::load_network(folder.path());
    CHECK(loaded.description.parameter_count == 68'976'648'192u);
    test::WatchedContext small({.memory_bytes = std::size_t{8} << 30});
    test::RunningSession session(small);
    const auto before = std::chrono::steady_clock::now();
    const std::string message = test::error_message([&] {
      session.load(loaded.network.layers, Precision::F32,
                   [](std::size_t, std::size_t) -> bool { throw std::runtime_error("reading"); });
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
    CHECK(taken.count() < 10.0);  // reading takes minutes
    CAPTURE(message);
    CHECK(message.starts_with("the weights take 131"));
    CHECK(message.find("' has 8192 MiB left; choose a smaller model") != std::string::npos);
  }
}

}  // namespace loading_gpu_test
