// Compilation of the kernels by drivers, measured by kernel_report with an environment of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "core/file.h"
#include "ops/kernel_variant.h"
#include "support/gpu.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace compile_test {

using namespace headlight;

namespace {

/// The numbers of each kernel, in the order of the report's columns.
using Report = std::map<std::string, std::vector<double>>;

struct Answer {
  int status = -1;
  Report kernels;
  std::string error;
};

Answer ask(const std::string& variables, const std::string& arguments) {
  const TemporaryDirectory folder;
  const std::string base = folder.path().string();
  const std::string line =
      variables + " '" HEADLIGHT_KERNEL_REPORT "' " + arguments + " >'" + base + "/out' 2>'" + base + "/err'";
  const int status = std::system(line.c_str());
  Answer answer;
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  answer.error = read_file(folder.path() / "err");
  std::istringstream lines(read_file(folder.path() / "out"));
  std::string row;
  std::getline(lines, row);  // the header
  while (std::getline(lines, row)) {
    std::istringstream fields(row);
    std::string name;
    fields >> name;
    for (double value = 0.0; fields >> value;) answer.kernels[name].push_back(value);
  }
  return answer;
}

/// Bounds for the inner loop of a kernel for GPUs on AMD's navi21. Mesa 22.3.6 and 25.0.7 both keep them;
/// docs/BENCHMARKS_KERNELS.md has their figures.
struct Bar {
  const char* name;
  double least_subgroups, least_multiply_adds, most_shared;
};
constexpr Bar kBars[] = {
    {"linear_tiled.activation=0.lanes=256", 8, 85.0, 0.08}, {"linear_tiled.activation=0.lanes=128", 12, 75.0, 0.11},
    {"linear_tiled.activation=0.lanes=64", 12, 60.0, 0.22}, {"attention_tiled.lanes=256.rolled=0", 8, 70.0, 0.15},
    {"attention_tiled.lanes=64.rolled=0", 8, 65.0, 0.15},   {"attention_cells_tiled", 6, 65.0, 0.15}};

/// RADV's manifest for the Vulkan loader; empty when it isn't installed.
std::filesystem::path radv() {
  const std::filesystem::path folder = "/usr/share/vulkan/icd.d";
  if (!std::filesystem::is_directory(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("radeon_icd")) return entry.path();
  }
  return {};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("no kernel takes llvmpipe long to compile") {
    if (test::shared_context().device().driver.find("llvmpipe") == std::string::npos) {
      return test::skip("the device is not llvmpipe");
    }
    // The largest of each kind: the most rows, and GELU, which is the longest activation.
    const std::string fresh = "MESA_SHADER_CACHE_DISABLE=true VK_LOADER_LAYERS_DISABLE='*'";
    const Answer answer = ask(
        fresh, "--run attention_ linear_naive norm activation=2.rows=8 activation=2.rows=16 activation=2.lanes linear_sum");
    INFO(answer.error);
    REQUIRE(answer.status == 0);
    REQUIRE(answer.kernels.size() > 30);
#ifndef NDEBUG
    return;  // the times are a release build's; a sanitizer's allocator slows LLVM, too
#endif
    // CPU time, on a machine that may be slow or share its cores: besides the bound in seconds, one relative to small
    // kernels that use loops wherever they can. What other programs add to a time differs from one compilation to the next,
    // so that kernels above the bound are compiled twice more, and their least time counts.
    const auto compile_ms = [](const Answer& from, const std::string& name) { return from.kernels.at(name).at(1); };
    const double small_ms = compile_ms(answer, "attention_naive") + compile_ms(answer, "linear_naive.activation=0") +
                            compile_ms(answer, "norm.lanes=8");
    const double most_ms = std::max(1'500.0, 3.0 * small_ms);
    for (const auto& measured : answer.kernels) {
      const std::string& name = measured.first;
      // Units for matrices that a processor plays are for tests: no tuning chooses them.
      if (name.find(".matrix.") != std::string::npos) continue;
      double least_ms = measured.second.at(1);
      for (int again = 0; again < 2 && least_ms >= most_ms; ++again) {
        least_ms = std::min(least_ms, compile_ms(ask(fresh, "--run " + name), name));
      }
      CAPTURE(name);
      CAPTURE(small_ms);
      CHECK(least_ms < most_ms);
    }
  }

  TEST_CASE("every kernel compiles for AMD's GPUs without spills and scratch memory") {
    const std::filesystem::path driver = radv();
    if (driver.empty()) {
      return test::skip("RADV is not installed (Debian: mesa-vulkan-drivers)");
    }
    // Mesa 26 has no null hardware any more and wants a kernel's device in its place.
    const auto is_without_device = [](const Answer& answer) {
      return answer.status != 0 && answer.error.find("no Vulkan device") != std::string::npos;
    };
    if (is_without_device(ask("RADV_FORCE_FAMILY=navi21 VK_ICD_FILENAMES=" + driver.string(), "linear_naive"))) {
      return test::skip("this RADV compiles for no GPU that isn't there (Mesa 22 to 25 do)");
    }
    for (const std::string family : {"polaris10", "vega10", "navi21", "navi31"}) {
      CAPTURE(family);
      const Answer answer = ask("RADV_FORCE_FAMILY=" + family + " VK_ICD_FILENAMES=" + driver.string(), "");
      if (answer.status != 0 && answer.kernels.empty()) {
        CHECK_MESSAGE(family == "navi31", answer.error);  // which Mesa 22 doesn't know
        continue;
      }
      INFO(answer.error);
      CHECK(answer.status == 0);
      // Kernels for matrices are compiled where the driver offers such units, as Mesa 25.0.7 does for navi31.
      const auto is_of_matrices = [](const auto& kernel) { return kernel.first.find(".matrix.") != std::string::npos; };
      const bool has_matrices = std::ranges::any_of(answer.kernels, is_of_matrices);
      CHECK(std::ssize(answer.kernels) ==
            std::ranges::count_if(ops::kernel_variants(false), [&](const ops::KernelVariant& variant) {
              return has_matrices || !variant.multiplies_matrices;
            }));
      for (const auto& kernel : answer.kernels) {
        const auto& name = kernel.first;
        const auto& numbers = kernel.second;
        CAPTURE(name);
        REQUIRE(numbers.size() == 9);
        CHECK(numbers[0] > 0);   // registers: the driver did say something
        CHECK(numbers[1] == 0);  // spilled vector registers
        CHECK(numbers[2] == 0);  // spilled scalar registers
        CHECK(numbers[3] == 0);  // scratch
      }
      if (family != "navi21") continue;
      for (const Bar& bar : kBars) {
        CAPTURE(bar.name);
        const std::vector<double>& numbers = answer.kernels.at(bar.name);
        CHECK(numbers[6] >= bar.least_subgroups);
        CHECK(numbers[7] >= bar.least_multiply_adds);
        CHECK(numbers[8] <= bar.most_shared);
      }
    }
  }
}

}  // namespace compile_test
