// The program on devices that this machine doesn't have: each line of tests/support/pretend/profiles.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/half.h"
#include "ops/kernels.h"
#include "ops/linear_case.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/pretend/profile.h"
#include "support/program.h"
#include "support/skip.h"

namespace pretended_devices_test {

using namespace headlight;

namespace {

namespace fs = std::filesystem;

/// Environment of a program under the layer. Compiled kernels are kept between runs.
std::string pretending(std::string_view profile) {
  const char* cache = std::getenv("MESA_SHADER_CACHE_DIR");
  return "VK_LAYER_PATH='" HEADLIGHT_PRETEND_LAYER "' VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_pretend HEADLIGHT_PRETEND=" +
         std::string(profile) + " HEADLIGHT_VALIDATION=0 MESA_SHADER_CACHE_DIR='" +
         (cache != nullptr ? cache : HEADLIGHT_PRETEND_LAYER "/mesa-cache") + "'";
}

/// While it exists, devices that this process opens are pretended ones.
class Pretence {
 public:
  explicit Pretence(const char* profile) {
    setenv("VK_LAYER_PATH", HEADLIGHT_PRETEND_LAYER, 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_HEADLIGHT_pretend", 1);
    setenv("HEADLIGHT_PRETEND", profile, 1);
    if (const char* validates = std::getenv("HEADLIGHT_VALIDATION")) validation_ = validates;
    setenv("HEADLIGHT_VALIDATION", "0", 1);  // the loader looks for layers where the pretending one is, and nowhere else
  }
  ~Pretence() {
    setenv("HEADLIGHT_VALIDATION", validation_.c_str(), 1);
    for (const char* variable : {"VK_LAYER_PATH", "VK_INSTANCE_LAYERS", "HEADLIGHT_PRETEND"}) unsetenv(variable);
  }
  Pretence(const Pretence&) = delete;
  Pretence& operator=(const Pretence&) = delete;

 private:
  std::string validation_ = "0";
};

/// The numbers of every .csv file that an export wrote, in the order of their names.
std::vector<double> exported(const std::string& prefix) {
  const TemporaryDirectory folder;
  const fs::path out = folder.path() / "out";
  const Outcome outcome =
      run_headlight({"export", "--model", "captions-gpt2", "--text", "two dogs run through the tall grass", "--stages",
                     "weights", "--layer", "all", "--head", "all", "--format", "csv", "--out", out.string()},
                    prefix);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  std::set<fs::path> files;
  for (const auto& file : fs::recursive_directory_iterator(out)) {
    if (file.path().extension() == ".csv") files.insert(file.path());
  }
  std::vector<double> numbers;
  for (const fs::path& file : files) {
    const std::string text = read_file(file);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
      char* rest = nullptr;
      const std::string field = text.substr(at, end - at);
      const double number = std::strtod(field.c_str(), &rest);
      if (!field.empty() && *rest == '\0') numbers.push_back(number);
      at = end + 1;
    }
  }
  return numbers;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every pretended device is listed as what it pretends to be") {
    std::set<std::string_view> ids;
    for (const pretend::Profile& profile : pretend::profiles()) {
      CAPTURE(profile.id);
      CHECK(ids.insert(profile.id).second);
      const Outcome outcome = run_headlight({"devices", "--device", "0"}, pretending(profile.id));
      CAPTURE(outcome.err);
      CHECK(outcome.status == 0);
      CHECK(outcome.out.starts_with("0: " + std::string(profile.name) + "\n"));
      CHECK((outcome.out.find("no timestamps") != std::string::npos) == (profile.timestamp_bits == 0));
      CHECK((outcome.out.find("without timestamps nothing is measured") != std::string::npos) ==
            (profile.timestamp_bits == 0));
    }
    CHECK(ids.size() >= 8);
  }

  TEST_CASE("the weights of attention are the same on every pretended device") {
    const std::vector<double> plain = exported("");
    REQUIRE(plain.size() > 1000);
    for (const pretend::Profile& profile : pretend::profiles()) {
      CAPTURE(profile.id);
      const std::vector<double> numbers = exported(pretending(profile.id));
      REQUIRE(numbers.size() == plain.size());
      double largest = 0.0;
      for (std::size_t i = 0; i < plain.size(); ++i) test::widen(largest, numbers[i], plain[i]);
      CHECK(largest < 2e-5);
    }
  }

  TEST_CASE("the window is drawn where memory that the host can reach is short, or refused pipelines are others'") {
    for (const std::string profile : {"radeon-window", "geforce", "v3d", "smallest"}) {
      CAPTURE(profile);
      const TemporaryDirectory folder;
      const fs::path out = folder.path() / "x.png";
      const Outcome outcome = run_headlight(
          {"screenshot", "--preset", "notebook-001", "--size", "640x480", "--out", out.string()}, pretending(profile));
      CAPTURE(outcome.err);
      CHECK(outcome.status == 0);
      CHECK(outcome.err.empty());
      CHECK(fs::exists(out));
    }
  }

  TEST_CASE("a device whose first memory that the host can reach is too small for Dear ImGui is refused by name") {
    const TemporaryDirectory folder;
    const fs::path out = folder.path() / "x.png";
    const Outcome outcome = run_headlight(
        {"screenshot", "--preset", "notebook-001", "--size", "640x480", "--renderer", "beside", "--out", out.string()},
        pretending("radeon-apu"));
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find("0: Pretended Radeon beside a processor") != std::string::npos);
    CHECK(outcome.err.find("Dear ImGui uses the first memory that the host can reach, and 1 MiB are less than 64") !=
          std::string::npos);
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
    CHECK(!fs::exists(out));
  }

  TEST_CASE("memory of a GPU beside a processor: where the heap that the host reaches is full, another one is used") {
    const Pretence pretence("radeon-apu");  // heaps of 16 MiB, 8 GiB and 1 MiB
    gpu::Context context({.device = "0"});
    REQUIRE(context.device().name == "Pretended Radeon beside a processor");
    CHECK(context.device().memory_bytes > std::size_t{1} << 30);
    std::vector<gpu::Buffer> buffers;
    for (int i = 0; i < 6; ++i) buffers.emplace_back(context, std::size_t{12} << 20, gpu::Memory::Device, "a test");
    CHECK(context.allocated_bytes() == std::size_t{72} << 20);
  }

  TEST_CASE("where unpacking flushes subnormal float16, weights are read by integers") {
    for (const char* profile : {"adreno", "iris"}) {
      CAPTURE(profile);
      const Pretence pretence(profile);
      gpu::Context context({.device = "0"});
      ops::Kernels kernels(context);
      CHECK(kernels.half_conversions().unpacking_keeps == (std::string(profile) != "adreno"));
      for (const std::uint32_t rows : {1u, 5u, 40u}) {
        test::LinearCase one{.tokens = rows, .in = 130, .out = 70, .has_bias = false, .type = ops::WeightType::F16};
        test::fill_numbers(one, rows);
        for (float& weight : one.weight.values) weight = from_half(to_half(weight * 0x1p-14f));
        test::check_all(kernels, one);  // flushed, nothing would be left
      }
      // Every float16 is converted as the host does.
      test::LinearCase all{.tokens = 1, .in = 1, .out = 0x10000, .has_bias = false, .type = ops::WeightType::F16};
      test::fill_numbers(all, 1);
      all.x.values[0] = 1.0f;
      for (std::uint32_t bits = 0; bits < all.out; ++bits) {
        const float number = from_half(static_cast<std::uint16_t>(bits));
        all.weight.values[bits] = std::isfinite(number) ? number : 0.0f;
      }
      const auto converted = test::run(kernels, all, ops::LinearKernel::Vec4).y.values.values;
      CHECK(converted == all.weight.values);
    }
  }

  TEST_CASE("headlight-bench --check knows a slow device (4) from a wrong one (1)") {
    const TemporaryDirectory folder;
    const std::string prefix =
        "HEADLIGHT_KERNELS=shaders HEADLIGHT_VALIDATION=0 XDG_CACHE_HOME='" + folder.path().string() + "'";
    // Saves a tuning that has this kernel, or the one that is the fastest on most devices of the kind.
    const auto tune = [&](std::optional<ops::LinearKernel> wanted) {
      const gpu::Context context({.shaders_only = true});
      const ops::LinearKernel kernel = wanted.value_or(ops::default_shader(context.device()));
      ops::save_tuning(context.device(), folder.path() / "headlight" / "kernels.json",
                       {.few_rows = kernel, .many_rows = kernel, .attention = ops::AttentionKernel::Blocks});
      return context.device().is_cpu;
    };
    const auto check = [&](const std::string& more = "") {
      return run_headlight({"--check"}, prefix + more, "", HEADLIGHT_PROGRAM "-bench");
    };
    const auto counted = [](const Outcome& outcome, std::string_view word) {
      std::size_t count = 0;
      for (std::size_t at = 0; (at = outcome.out.find("\n" + std::string(word), at)) != std::string::npos; ++at) ++count;
      return count;
    };
    tune({});
    const Outcome good = check();
    INFO(good.out);
    CHECK(good.status == 0);
    CHECK(counted(good, "ok ") == 4);

    // The shader's error is one part in a thousand of the numbers that a linear layer stores.
    const fs::path shaders = folder.path() / "shaders";
    fs::copy(HEADLIGHT_SHADER_SOURCES, shaders, fs::copy_options::recursive);
    std::string source = read_file(shaders / "lib" / "linear.glsl");
    const std::string_view stored = "  value += bias[";
    REQUIRE(source.find(stored) != std::string::npos);
    source.replace(source.find(stored), stored.size(), "  value = 1.001 * value + bias[");
    write_file_atomically(shaders / "lib" / "linear.glsl", source);
    const Outcome wrong = check(" HEADLIGHT_SHADERS='" + shaders.string() + "'");
    INFO(wrong.out);
    CHECK(wrong.status == 1);
    CHECK(counted(wrong, "WRONG ") == 1);
    CHECK(wrong.out.find("WRONG  the largest error of a layer's outputs") != std::string::npos);

    // A processor whose tuning chose the kernel of tiles, which processors compute a few times as fast as the naive one.
    if (!tune(ops::LinearKernel::Tiled)) return test::skip("the device isn't tuned to the kernel of tiles");
    const Outcome slow = check();
    INFO(slow.out);
    CHECK(slow.status == 4);
    CHECK(counted(slow, "SLOW ") == 1);
    CHECK(counted(slow, "ok ") == 3);
  }

  TEST_CASE("commands compute with the kernels that were measured before") {
    const TemporaryDirectory folder;
    const std::string cache = " XDG_CACHE_HOME='" + folder.path().string() + "'";
    const std::string prefix = "HEADLIGHT_KERNELS=shaders" + cache;
    const auto wanted = [&] { return run_headlight({"devices"}, prefix).out; };
    CHECK(wanted().find("a guess until") != std::string::npos);
    {
      gpu::Context context({.shaders_only = true});
      ops::save_tuning(context.device(), folder.path() / "headlight" / "kernels.json",
                       {.few_rows = ops::LinearKernel::Naive,
                        .many_rows = ops::LinearKernel::Naive,
                        .attention = ops::AttentionKernel::Naive});
    }
    CHECK(wanted().find("kernels: linear naive (few rows) and naive, attention naive (measured)") != std::string::npos);
    // A shader that doesn't compile shows which ones a command asks for.
    const fs::path shaders = folder.path() / "shaders";
    fs::copy(HEADLIGHT_SHADER_SOURCES, shaders, fs::copy_options::recursive);
    write_file_atomically(shaders / "linear_naive.comp", std::string_view("#version 450\nnaive\n"));
    const std::string edited = " HEADLIGHT_SHADERS='" + shaders.string() + "'";
    const std::vector<std::string> commands[] = {
        {"export", "--preset", "notebook-004", "--out", (folder.path() / "out").string()},
        {"generate", "--model", "captions-gpt2", "--text", "a dog"}};
    for (const auto& command : commands) {
      CAPTURE(command.front());
      const Outcome outcome = run_headlight(command, prefix + edited);
      CHECK(outcome.status == 1);
      CHECK(outcome.err.find("linear_naive.comp") != std::string::npos);
    }
  }

  TEST_CASE("check: a driver's own halves, refusals and queues are told, and nothing is wrong") {
    const Outcome outcome = run_headlight({"check", "--device", "0", "--groups", "device,arithmetic"}, pretending("adreno"));
    CAPTURE(outcome.out);
    CHECK(outcome.status == 0);
    const auto has = [&](const char* words) {
      std::string joined;  // rows are wrapped
      for (const char letter : outcome.out) {
        if (letter != '\n' && (letter != ' ' || joined.empty() || joined.back() != ' ')) joined += letter;
      }
      return joined.find(words) != std::string::npos;
    };
    CHECK(has("Pretended Adreno: integrated GPU"));
    CHECK(has("4096 MiB, of the device"));
    CHECK(has("timestamps of 48 bits; computes here"));
    CHECK(has("unpackHalf2x16 loses subnormals: weights are decoded by integers instead"));
  }
}

}  // namespace pretended_devices_test
