#include "ops/tuning.h"

#include <doctest/doctest.h>

#include <ctime>

#include "core/file.h"
#include "ops/kernels.h"
#include "support/gpu_tensors.h"
#include "support/temporary_directory.h"

namespace tuning_test {

using namespace headlight;
using namespace headlight::ops;

namespace {

constexpr Tuning kUnlikely{.few_rows = LinearKernel::Naive,
                           .many_rows = LinearKernel::Tiled,
                           .many_rows_of_halves = LinearKernel::Matrix,
                           .attention = AttentionKernel::Naive};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "measuring is fast and chooses among the fast kernels") {
    Kernels kernels(context);
    const std::clock_t start = std::clock();  // CPU time: other programs' load doesn't count; llvmpipe's work does
    const Tuning tuning = measure_tuning(kernels);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#ifdef NDEBUG
    CHECK(seconds < 8.0);  // observed 2.6 with kernels that Mesa had to compile, 0.3 with its cache
#else
    CHECK(seconds < 60.0);
#endif
    CHECK(tuning.few_rows != LinearKernel::Naive);
    CHECK(tuning.many_rows != LinearKernel::Naive);
    CHECK(tuning.attention != AttentionKernel::Naive);
    CHECK(kernels.tuning() == tuning);
  }

  TEST_CASE("a GPU without timestamps isn't measured, and trials grow with the device") {
    gpu::DeviceInfo device;
    device.is_cpu = true;
    CHECK(can_measure(device));
    CHECK(trial_size(device) == TrialSize{});
    device.is_cpu = false;
    CHECK_FALSE(can_measure(device));
    device.timestamp_bits = 36;
    CHECK(can_measure(device));
    device.cores = 8;
    const TrialSize small = trial_size(device);
    device.cores = 128;
    const TrialSize large = trial_size(device);
    CHECK(small.tokens > TrialSize{}.tokens);
    CHECK(large.tokens > small.tokens);
    CHECK(large.width > small.width);
    CHECK(large.width % large.heads == 0);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "every step leaves a tuning that works") {
    Kernels kernels(context);
    Tuning tuning = default_tuning(context.device());
    for (std::uint32_t step = 0; step < kTuningSteps; ++step) {
      measure_step(kernels, step, tuning);
      CHECK(kernels.tuning() == tuning);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a tuning is remembered by device and driver and not measured again") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "deep" / "tuning.json";
    CHECK_FALSE(load_tuning(context.device(), file).has_value());
    save_tuning(context.device(), file, kUnlikely);
    CHECK(load_tuning(context.device(), file) == kUnlikely);
    Kernels kernels(context);
    CHECK(tune(kernels, file) == kUnlikely);  // measured, it would not be the naive kernel
    CHECK(kernels.tuning() == kUnlikely);

    gpu::DeviceInfo newer = context.device();
    newer.driver += " newer";
    CHECK_FALSE(load_tuning(newer, file).has_value());
    save_tuning(newer, file, default_tuning(newer));
    CHECK(load_tuning(newer, file) == default_tuning(newer));
    CHECK(load_tuning(context.device(), file) == kUnlikely);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "kernels with wrong numbers are remembered by device and driver, and left out") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "deep" / "tuning.json";
    save_faults(context.device(), file, {});
    CHECK_FALSE(std::filesystem::exists(file.parent_path()));
    const KernelVariant variant{.shader = Shader::LinearNaive};
    save_faults(context.device(), file, {to_string(variant), "norm.lanes=8"});
    CHECK(load_faults(context.device(), file) == std::set<std::string>{to_string(variant), "norm.lanes=8"});
    save_tuning(context.device(), file, kUnlikely);
    Kernels kernels(context);
    tune(kernels, file);
    CHECK(kernels.is_refused(variant));
    gpu::DeviceInfo newer = context.device();
    newer.driver += " newer";
    CHECK(load_faults(newer, file).empty());
    save_faults(context.device(), file, {});
    CHECK(load_faults(context.device(), file).empty());
    write_file_atomically(folder.path() / "deep" / "kernel_verdicts.json", "[1");
    CHECK(load_faults(context.device(), file).empty());
    CHECK(load_faults(context.device(), {}).empty());
    // Verdicts of versions that blamed a kernel for any end of a process are in a file of another name.
    save_faults(context.device(), file, {to_string(variant)});
    std::filesystem::rename(folder.path() / "deep" / "kernel_verdicts.json", folder.path() / "deep" / "kernel_faults.json");
    CHECK(load_faults(context.device(), file).empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu, "an invalid file only causes a new measurement and is replaced") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "tuning.json";
    const std::string names[] = {"few_rows", "many_rows", "attention"};
    for (const std::string& garbage :
         {std::string(), std::string("{"), std::string("[1, 2]"), std::string("\xff\xfe\0", 3)}) {
      write_file_atomically(file, garbage);
      CHECK_FALSE(load_tuning(context.device(), file).has_value());
    }
    save_tuning(context.device(), file, kUnlikely);
    const std::string good = read_file(file);
    for (const std::string& name : names) {
      for (const std::string& value :
           {std::string("7"), std::string("null"), std::string("\"fastest\""), std::string("{}")}) {
        const std::size_t at = good.find(':', good.find('"' + name + '"')) + 1;
        std::string bad = good;
        bad.replace(at, bad.find_first_of(",\n", at) - at, value);
        write_file_atomically(file, bad);
        CAPTURE(bad);
        CHECK_FALSE(load_tuning(context.device(), file).has_value());
      }
    }
    Kernels kernels(context);
    const Tuning measured = tune(kernels, file);
    CHECK(load_tuning(context.device(), file) == measured);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a file that can't be written only causes a new measurement") {
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "file", std::string_view("in the way"));
    CHECK_NOTHROW(save_tuning(context.device(), folder.path() / "file" / "tuning.json", kUnlikely));
    CHECK_FALSE(load_tuning(context.device(), folder.path() / "file" / "tuning.json").has_value());
  }
}

}  // namespace tuning_test
