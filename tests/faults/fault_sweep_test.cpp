// The real program on a device whose driver fails: a call of each kind, early and late, in export and screenshot. It must
// succeed or end with a one-line error and status 1, within the time limit. HEADLIGHT_FAULT_SWEEP=N tries N calls of each
// function instead of a sample, N ≥ 1.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "support/program.h"
#include "support/skip.h"

namespace fault_sweep_test {

using namespace headlight;

namespace {

constexpr int kOutOfHostMemory = -1, kOutOfDeviceMemory = -2, kDeviceLost = -4;

/// Functions that fail with a lost device; others fail with a lack of memory.
const std::set<std::string> kTellsOfLoss = {"QueueSubmit",   "WaitForFences",  "GetFenceStatus",
                                            "QueueWaitIdle", "DeviceWaitIdle", "GetQueryPoolResults"};

/// Environment of a program with the layer. Compiled kernels are kept between runs: compiling is most of a short one.
std::string with_layer(const std::string& fault, const std::string& counts = "") {
  const char* cache = std::getenv("MESA_SHADER_CACHE_DIR");
  return std::string("VK_LAYER_PATH='") + HEADLIGHT_FAULT_LAYER + "' VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_fault" +
         " HEADLIGHT_VALIDATION=0 HEADLIGHT_FAULT='" + fault + "' HEADLIGHT_FAULT_COUNTS='" + counts +
         "' MESA_SHADER_CACHE_DIR='" + (cache != nullptr ? cache : HEADLIGHT_FAULT_LAYER "/mesa-cache") + "'" +
         " timeout -k 5 240";
}

/// The number of calls of each function when nothing fails.
std::vector<std::pair<std::string, int>> count_calls(const std::vector<std::string>& arguments) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "counts";
  const Outcome outcome = run_headlight(arguments, with_layer("", file.string()));
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  std::vector<std::pair<std::string, int>> counts;
  std::istringstream lines(read_file(file));
  std::string name;
  int count = 0;
  while (lines >> name >> count) counts.emplace_back(name, count);
  REQUIRE(counts.size() > 15);
  return counts;
}

void check_fault(const std::vector<std::string>& arguments, const std::string& fault) {
  CAPTURE(fault);
  const Outcome outcome = run_headlight(arguments, with_layer(fault));
  CAPTURE(outcome.status);
  CAPTURE(outcome.err);
  const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
  CHECK((outcome.status == 0 || outcome.status == 1));  // 124: it hung; 134: terminate; 139: a segmentation fault
  CHECK(lines <= 1);
  if (outcome.status == 0) return;
  CHECK(outcome.err.starts_with("headlight: "));
  CHECK(lines == 1);
  CHECK_FALSE(outcome.err.starts_with("headlight: vk"));  // a message for users begins with no function
}

/// `per_function` calls of each function, spread over the run; of a sample those of every `step`th function.
void sweep(const std::vector<std::string>& arguments, int per_function, std::size_t step) {
  const char* wanted = std::getenv("HEADLIGHT_FAULT_SWEEP");
  if (wanted != nullptr) {
    per_function = std::max(1, std::atoi(wanted));
    step = 1;
  }
  const auto counts = count_calls(arguments);
  std::size_t faults = 0;
  for (std::size_t i = 0; i < counts.size(); i += step) {
    const auto& [name, count] = counts[i];
    std::set<int> numbers;
    for (int k = 0; k < per_function; ++k) {
      numbers.insert(per_function == 1 ? (count + 1) / 2 : 1 + k * (count - 1) / (per_function - 1));
    }
    for (const int number : numbers) {
      const bool tells_of_loss = kTellsOfLoss.contains(name);
      const int lack = i % 2 == 0 ? kOutOfHostMemory : kOutOfDeviceMemory;
      check_fault(arguments, name + " " + std::to_string(number) + " " + std::to_string(tells_of_loss ? kDeviceLost : lack));
      ++faults;
    }
  }
  MESSAGE(faults << " faults, each in a run of the program");
}

/// The manifest of a driver that every test machine has: the one under test, or Mesa's llvmpipe.
std::optional<std::filesystem::path> software_driver() {
  for (const char* variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    const char* files = std::getenv(variable);
    if (files != nullptr && std::filesystem::exists(files)) return files;
  }
  const std::filesystem::path folder = "/usr/share/vulkan/icd.d";
  if (!std::filesystem::exists(folder)) return std::nullopt;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().filename().string().starts_with("lvp_icd")) return file.path();
  }
  return std::nullopt;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("export on a failing device succeeds or ends in one line") {
    const TemporaryDirectory folder;
    sweep({"export", "--preset", "playground", "--text", "a b", "--out", (folder.path() / "out").string()}, 2, 3);
  }

  TEST_CASE("what a device still works on isn't freed when waiting for it fails") {
    const TemporaryDirectory folder;
    // A picture of a model, computed by kernels: the device is at work for long enough.
    const std::vector<std::string> arguments = {
        "screenshot", "--size", "640x480", "--kernels", "shaders", "--out", (folder.path() / "out.png").string()};
    for (int number = 9; number <= 14; ++number) {
      check_fault(arguments, "WaitForFences " + std::to_string(number) + " -4 always works");
    }
  }

  TEST_CASE("where address space is short, figures are written, or the program ends in one line") {
    const TemporaryDirectory folder;
    const std::string limited = folder.path().string() + "/limited";
    write_file_atomically(limited, std::string_view("#!/bin/sh\nulimit -v $1\nshift\nexec \"$@\"\n"));
    std::filesystem::permissions(limited, std::filesystem::perms::owner_all);
    for (int kib = 300'000; kib <= 1'500'000; kib += 50'000) {
      CAPTURE(kib);
      const Outcome outcome =
          run_headlight({"export", "--preset", "notebook-004", "--out", (folder.path() / "out").string()},
                        with_layer("") + " '" + limited + "' " + std::to_string(kib));
      CAPTURE(outcome.err);
      CHECK((outcome.status == 0 || outcome.status == 1));  // 133: GLib gave up; 139: fontconfig or a driver did
      if (outcome.status == 1) CHECK(outcome.err.starts_with("headlight: "));
    }
  }

  TEST_CASE("screenshot on a failing device succeeds or ends in one line") {
    const TemporaryDirectory folder;
    const std::vector<std::string> arguments = {
        "screenshot", "--preset", "notebook-001", "--size", "640x480", "--out", (folder.path() / "out.png").string()};
    sweep(arguments, 1, 3);
    for (const char* fault :
         {"WaitForFences 3 -13", "QueueSubmit 1 -4 always", "WaitForFences 2 -4 always", "CreateBuffer 4 -1 always",
          "WaitForFences 1 -1", "AllocateMemory 1 -2 always", "CreateDevice 1 -4", "CreateDevice 2 -3"}) {
      check_fault(arguments, fault);
    }
  }

  TEST_CASE("a device with VK_KHR_portability_subset is found and opened with that extension") {
    // The loader hides devices of such drivers (MoltenVK) from programs that don't ask for them.
    const std::optional<std::filesystem::path> driver = software_driver();
    if (!driver) {
      return test::skip("no software driver is installed");
    }
    const TemporaryDirectory folder;
    nlohmann::json manifest = nlohmann::json::parse(read_file(*driver));
    manifest["ICD"]["is_portability_driver"] = true;
    // A relative path with a folder in it, as SwiftShader's, is seen from the manifest's folder.
    const std::filesystem::path library = manifest["ICD"]["library_path"].get<std::string>();
    if (library.is_relative() && library.has_parent_path()) {
      manifest["ICD"]["library_path"] = std::filesystem::absolute(driver->parent_path() / library).string();
    }
    const std::string file = (folder.path() / "driver.json").string();
    write_file_atomically(file, manifest.dump());
    const Outcome outcome = run_headlight(
        {"screenshot", "--preset", "notebook-001", "--size", "640x480", "--out", (folder.path() / "x.png").string()},
        "VK_DRIVER_FILES='" + file + "' VK_ICD_FILENAMES='" + file + "' HEADLIGHT_FAULT_PORTABILITY=1 " + with_layer(""));
    CAPTURE(outcome.err);
    CHECK(outcome.status == 0);
  }
}

}  // namespace fault_sweep_test
