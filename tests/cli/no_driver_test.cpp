// Commands where there is no Vulkan driver, or no loader: what needs no device is done, the processor computes the rest.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "app/state/session_file.h"
#include "core/file.h"
#include "support/decode_npy.h"
#include "support/deviation.h"
#include "support/golden.h"
#include "support/program.h"
#include "support/temporary_directory.h"

namespace no_driver_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNoDriver = "VK_ICD_FILENAMES=/nonexistent.json VK_DRIVER_FILES=/nonexistent.json";
constexpr const char* kNote = "headlight: note: computing on the processor, which is slower: no Vulkan ";

/// The one line that says where it is computed.
void check_note(const Outcome& outcome, const std::string& what = "device: install ") {
  CHECK(outcome.err.starts_with(kNote + what));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

/// A command that succeeds.
Outcome done(const std::vector<std::string>& arguments, const std::string& prefix = kNoDriver,
             const std::string& input = "") {
  const Outcome outcome = run_headlight(arguments, prefix, input);
  INFO(arguments.front());
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  return outcome;
}

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The largest difference between the arrays of two folders, whose names are the same.
double difference_of(const fs::path& left, const fs::path& right) {
  double largest = 0.0;
  int arrays = 0;
  for (const auto& entry : fs::directory_iterator(left)) {
    if (entry.path().extension() != ".npy") continue;
    const Tensor a = files::decode_npy(read_file(entry.path())),
                 b = files::decode_npy(read_file(right / entry.path().filename()));
    REQUIRE(a.shape == b.shape);
    const std::vector<double> expected(b.values.begin(), b.values.end());
    test::raise_to(largest, test::deviation(a.values, expected).max_abs);
    ++arrays;
  }
  CHECK(arrays > 0);
  return largest;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("what needs no device says nothing of it") {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"models"},
                                                      {"info", "--model", "captions-gpt2"},
                                                      {"tokenize", "--model", "captions-gpt2", "--text", "a dog"},
                                                      {"export", "--help"}}) {
      CHECK(done(arguments).err.empty());
    }
  }

  TEST_CASE("captures become pages, figures and arrays without a device") {
    const TemporaryDirectory folder;
    const fs::path captures = fs::path(HEADLIGHT_GOLDEN_DIR) / "captures";
    const std::string out = (folder.path() / "out").string();
    CHECK(done({"export", "--capture", (captures / "queries.safetensors").string(), "--stages", "weights,scaled", "--format",
                "npy,svg", "--out", out})
              .err.empty());
    const nlohmann::json expected = test::golden("captures/queries_expected.json");
    for (const char* stage : {"weights", "scaled"}) {
      const Tensor tensor = files::decode_npy(read_file(fs::path(out) / (std::string(stage) + ".npy")));
      CHECK(test::deviation(tensor.values, test::flatten(expected.at(stage))).max_abs < 5e-7);
    }
    const fs::path page = folder.path() / "vision.html";
    const std::vector<std::string> page_of = {"export", "--capture", (captures / "vision.safetensors").string(), "--out"};
    CHECK(done(with(page_of, {page.string()})).err.empty());
    CHECK(read_file(page).starts_with("<!DOCTYPE html>"));
    CHECK(done(with(page_of, {(folder.path() / "again.html").string(), "--device", "cpu"})).err.empty());
    CHECK(read_file(page) == read_file(folder.path() / "again.html"));
  }

  TEST_CASE("export, run, survey and the writers compute on the processor, and say so in one line") {
    const TemporaryDirectory folder;
    const auto path = [&](const char* name) { return (folder.path() / name).string(); };
    const std::vector<std::string> exported = {
        "export", "--text", "a dog and a cat", "--stages", "weights,q,hidden,logits", "--format", "npy", "--out"};
    check_note(done(with(exported, {path("fallback")})));
    CHECK(done(with(exported, {path("asked"), "--device", "cpu"})).err.empty());
    CHECK(difference_of(path("fallback"), path("asked")) == 0.0);
    const nlohmann::json record = nlohmann::json::parse(read_file(fs::path(path("asked")) / "run.json"));
    CHECK(record.dump().find("processor (without Vulkan)") != std::string::npos);

    app::State state;
    state.text() = "one two three";
    app::save_session(path("notes.headlight.json"), state);
    const Outcome recorded = done({"run", path("notes.headlight.json"), "--record"});
    check_note(recorded);
    CHECK(recorded.out.find("device: processor (without Vulkan)\n") != std::string::npos);
    CHECK(done({"run", path("notes.headlight.json")}).out.find("as saved, bit for bit") != std::string::npos);

    write_file_atomically(path("corpus.txt"), "a dog runs\na cat sits on a mat\n");
    check_note(done({"survey", path("corpus.txt"), "--metrics", "entropy", "--out", path("survey"), "--quiet"}));
    CHECK(fs::exists(path("survey") + "/survey.json"));
    check_note(done({"generate", "--text", "a dog", "--max-tokens", "3"}));
    check_note(done({"translate", "--max-tokens", "3"}, kNoDriver, "ein Hund\n"));
  }

  TEST_CASE("a device that is named must be there, and what draws says what to install") {
    CHECK(complaint_of(run_headlight({"export", "--text", "a", "--device", "llvmpipe", "--out", "x"}, kNoDriver), 1)
              .starts_with("no Vulkan device: install "));
    CHECK(complaint_of(run_headlight({"screenshot", "--out", "x.png"}, kNoDriver), 1)
              .starts_with("no Vulkan device to draw with: install "));
    CHECK(complaint_of(run_headlight({"devices"}, kNoDriver), 1).starts_with("no Vulkan device: install "));
  }

  TEST_CASE("without the Vulkan loader the program starts") {
    const TemporaryDirectory folder;
    // The loader's library is found first in this folder, where it is none.
    write_file_atomically(folder.path() / "libvulkan.so.1", "no library");
    write_file_atomically(folder.path() / "libvulkan.so", "no library");
    const std::string no_loader = "LD_LIBRARY_PATH=" + folder.path().string();
    CHECK(done({"models"}, no_loader).err.empty());
    check_note(done({"export", "--preset", "notebook-004", "--stages", "weights", "--format", "npy", "--out",
                     (folder.path() / "out").string()},
                    no_loader),
               "loader (");
    CHECK(complaint_of(run_headlight({"screenshot", "--out", "x.png"}, no_loader), 1).starts_with("no Vulkan loader ("));
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("the processor's numbers are the device's") {
    const TemporaryDirectory folder;
    const std::vector<std::vector<std::string>> cases = {
        {"--preset", "notebook-000"},
        {"--preset", "notebook-002"},
        {"--preset", "notebook-004"},
        {"--model", "captions-gpt2", "--text", "a dog and a cat on the beach", "--mask-expr", "q - k < 3"},
        {"--model", "captions-gpt2", "--text", "a dog and a cat", "--mask", "causal+window:3"},
        {"--model", "multi30k-de-en", "--text", "ein Hund", "--target", "a dog"},
    };
    double largest = 0.0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto path = [&](const char* name) { return (folder.path() / (name + std::to_string(i))).string(); };
      const std::vector<std::string> arguments =
          with({"export", "--stages", "q,k,v,masked,weights,heads,output", "--format", "npy"}, cases[i]);
      done(with(arguments, {"--out", path("device")}), "");
      done(with(arguments, {"--out", path("cpu"), "--device", "cpu"}), "");
      CAPTURE(i);
      test::raise_to(largest, difference_of(path("cpu"), path("device")));
    }
    MESSAGE("at most ", largest);
    CHECK(largest < 2e-5);  // observed 5.8e-6
  }
}

}  // namespace no_driver_test
