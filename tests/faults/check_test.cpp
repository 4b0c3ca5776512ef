// `headlight check`: its report, and what a device does to it that crashes, hangs, is lost or computes wrong numbers.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/deviation.h"
#include "support/program.h"
#include "support/skip.h"

namespace check_test {

using namespace headlight;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// The first line of the first device with this name; null: there is none.
json line_of(const json& report, const std::string& name) {
  for (const json& line : report.at("devices").at(0).at("lines")) {
    if (line.at("name") == name) return line;
  }
  return nullptr;
}

json report_of(const Outcome& outcome) {
  INFO(outcome.err);
  REQUIRE(json::accept(outcome.out));
  return json::parse(outcome.out);
}

/// The shaders, of which one computes wrong scores where lanes shuffle rows.
void copy_shaders(const fs::path& to) {
  fs::copy(HEADLIGHT_SHADER_SOURCES, to, fs::copy_options::recursive);
  const fs::path file = to / "attention_block_scores.comp";
  std::string text = read_file(file);
  const std::string right = "uint(r % 8));";
  REQUIRE(text.find(right) != std::string::npos);
  text.replace(text.find(right), right.size(), "uint(r % 8)) * 3.0;");
  write_file_atomically(file, text);
}

/// Returns the numbers of the one .csv file in a folder.
std::vector<double> numbers_of(const fs::path& folder) {
  std::vector<double> numbers;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".csv") continue;
    const std::string text = read_file(file.path());
    for (std::size_t at = 0; at < text.size();) {
      char* end = nullptr;
      const double number = std::strtod(text.c_str() + at, &end);
      if (end != text.c_str() + at) numbers.push_back(number);
      at = std::min(text.find_first_of(",\n", at), text.size()) + 1;
    }
  }
  return numbers;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return 1e9;
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) test::widen(largest, a[i], b[i]);
  return largest;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("check: one report without paths or names, and nothing wrong") {
    const Outcome outcome = run_headlight({"check", "--quick", "--json"});
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out.size() < 100'000);
    CHECK(outcome.out.find("/tmp") == std::string::npos);
    CHECK(outcome.out.find("/home") == std::string::npos);
    const json report = report_of(outcome);
    CHECK(report.at("quick") == true);
    REQUIRE_FALSE(report.at("devices").empty());
    std::set<std::string> groups;
    for (const json& line : report.at("devices").at(0).at("lines")) {
      groups.insert(line.at("group"));
      CHECK((line.at("status") == "ok" || line.at("status") == "warn"));
      CHECK_FALSE(line.at("what").get<std::string>().empty());
    }
    for (const char* group : {"driver", "limits", "heaps", "queues", "float controls", "cooperative matrices", "arithmetic",
                              "choices", "captions"}) {
      CAPTURE(group);
      CHECK(groups.contains(group));
    }
    CHECK(line_of(report, "exp").at("numbers").at("units") > 0.0);
    CHECK(line_of(report, "captions-gpt2, default").at("numbers").at("weights") < 1e-5);  // observed 4.1e-7
    const Outcome table = run_headlight({"check", "--groups", "arithmetic"});
    CHECK(table.status == 0);
    CHECK(table.out.find("  ok    arithmetic             exp(0): is 1\n") != std::string::npos);
  }

  TEST_CASE("check: norms, rotation, edits, experts and blocks are right") {
    const Outcome outcome = run_headlight({"check", "--groups", "small", "--json"});
    CAPTURE(outcome.out);
    CHECK(outcome.status == 0);
    const json line = line_of(report_of(outcome), "norms, rotation, edits, experts, blocks");
    CHECK(line.at("numbers").at("right") == 21);
    CHECK(line.at("numbers").at("error") < 1e-6);
  }

  TEST_CASE("check: a crash and a hang are lines, and what comes after is checked by another process") {
    for (const auto& [fault, words] : {std::pair("crash float32", "signal 6"), {"hang float32", "hangs: no line for 5 s"}}) {
      const Outcome outcome = run_headlight({"check", "--groups", "arithmetic", "--patience", "5", "--json"},
                                            "HEADLIGHT_CHECK_FAULT='" + std::string(fault) + "'");
      CAPTURE(outcome.out);
      CHECK(outcome.status == 1);
      const json report = report_of(outcome);
      CHECK(report.at("devices").at(0).at("status") == "fail");
      const json line = line_of(report, "float32");
      CHECK(line.at("status") == "fail");
      CHECK(line.at("what").get<std::string>().find(words) != std::string::npos);
      CHECK(line_of(report, "float16").at("status") == "ok");
    }
  }

  TEST_CASE("check: a process that ends twice without a fault, as where memory runs out, blames no kernel") {
    const Outcome outcome =
        run_headlight({"check", "--groups", "arithmetic", "--json"}, "HEADLIGHT_CHECK_FAULT='memory float32'");
    CAPTURE(outcome.out);
    CHECK(outcome.status == 0);
    const json report = report_of(outcome);
    const json line = line_of(report, "float32");
    CHECK(line.at("status") == "warn");
    CHECK(line.at("what").get<std::string>().starts_with("not checked: the process ended with exit status 1"));
    CHECK(line_of(report, "float16").at("status") == "ok");
    CHECK(report.at("devices").at(0).at("excluded").empty());
  }

  TEST_CASE("check: a lost device is a line") {
    const Outcome outcome = run_headlight({"check", "--groups", "arithmetic,captions", "--json"},
                                          "VK_LAYER_PATH='" HEADLIGHT_FAULT_LAYER
                                          "' VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_fault "
                                          "HEADLIGHT_VALIDATION=0 HEADLIGHT_FAULT='QueueSubmit 1 -4'");
    CAPTURE(outcome.out);
    CHECK(outcome.status == 1);
    const json report = report_of(outcome);
    for (const char* name : {"float32", "captions-gpt2, default"}) {
      CHECK(line_of(report, name).at("status") == "fail");
      CHECK(line_of(report, name).at("what").get<std::string>().find("lost") != std::string::npos);
    }
  }

  TEST_CASE("check: a kernel with wrong numbers is told, and not chosen from then on") {
    const TemporaryDirectory folder;
    const fs::path shaders = folder.path() / "shaders";
    copy_shaders(shaders);
    const std::string kept = "HEADLIGHT_KERNELS=shaders XDG_CACHE_HOME='" + (folder.path() / "cache").string() + "'";
    const std::string broken = kept + " HEADLIGHT_SHADERS='" + shaders.string() + "'";
    const std::vector<std::string> weights{
        "export",   "--model", "captions-gpt2", "--text", "a dog and a cat", "--stages", "merged",
        "--format", "csv",     "--layer",       "0",      "--head",          "0",        "--out"};
    const auto numbers = [&](const std::string& name, const std::string& environment) {
      std::vector<std::string> arguments = weights;
      arguments.push_back((folder.path() / name).string());
      const Outcome outcome = run_headlight(arguments, environment);
      INFO(outcome.err);
      REQUIRE(outcome.status == 0);
      return numbers_of(folder.path() / name);
    };
    const std::vector<double> right = numbers("right", kept);
    CHECK(right.size() > 100);
    if (!(largest_difference(numbers("wrong", broken), right) > 0.01)) {
      test::skip("lanes of this driver don't shuffle");
      return;
    }
    const Outcome found = run_headlight({"check", "--groups", "choices", "--json"}, broken);
    CAPTURE(found.out);
    CHECK(found.status == 1);
    const json excluded = report_of(found).at("devices").at(0).at("excluded");
    CHECK(std::ranges::any_of(
        excluded, [](const json& name) { return name.get<std::string>().starts_with("attention_block_scores"); }));
    CHECK(std::ranges::none_of(excluded, [](const json& name) { return name.get<std::string>().starts_with("linear_"); }));
    CHECK(run_headlight({"devices"}, kept)
              .out.find("left out, for `headlight check` found wrong numbers: attention_block_scores") != std::string::npos);
    const double difference = largest_difference(numbers("without", broken), right);
    CAPTURE(difference);
    CHECK(difference < 1e-5);  // observed 0
    const Outcome again = run_headlight({"check", "--groups", "choices", "--json"}, kept);
    CHECK(again.status == 0);
    CHECK_FALSE(report_of(again).at("devices").at(0).at("excluded").empty());  // only a whole check takes kernels back
    CHECK(run_headlight({"check", "--forget"}, kept).out.find("used again: attention_block_scores") != std::string::npos);
    CHECK(run_headlight({"devices"}, kept).out.find("left out") == std::string::npos);
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("check: a wrong command line") {
    CHECK(run_headlight({"check", "--groups", "linaer"}).status == 2);
    CHECK(run_headlight({"check", "--patience", "soon"}).status == 2);
    CHECK(run_headlight({"check", "--quik"}).status == 2);
  }
}

}  // namespace check_test
