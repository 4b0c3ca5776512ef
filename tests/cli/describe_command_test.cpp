// Views in words and numbers.
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "support/golden_model.h"
#include "support/program.h"
#include "support/temporary_directory.h"

namespace describe_command_test {

using namespace headlight;

namespace {

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

std::string described(const std::string& view) {
  const Outcome outcome =
      run_headlight({"describe", "-m", golden_path("gpt2"), "the cat sat", "--tab", view, "--layer", "1", "--head", "2"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every view is described: title, numbers, tokens, formulas") {
    struct Case {
      const char* view;
      std::vector<const char*> words;
    };
    const std::vector<Case> cases = {
        {"head", {"attention weights · layer 1, head 2", "|query \\ key|", "|masked|", "softmax"}},
        {"lines", {"|head|query|key|weight|", "lines in all"}},
        {"text", {"cat", "attends to"}},
        {"side_by_side", {"### ", "|query \\ key|"}},
        {"block", {"residual stream", "MLP"}},
        {"steps", {"### ", "queries Q", "attention weights"}},
        {"neuron", {"scale", "weight"}},
        {"heads", {"layer", "head"}},
        {"model", {"- L0 H0 ", "→"}},
        {"predictions", {"%", "layer"}},
        {"logits", {"layer", "head"}},
        {"flow", {"|layer|from|to|by|share|change|", "edges in all"}},
        {"why", {"query written by", "parts sum to the score"}},
        {"what_if", {"layer", "head"}}};
    for (const Case& one : cases) {
      const std::string text = described(one.view);
      INFO(text);
      CHECK(text.starts_with("# "));
      for (const char* word : one.words)
        CHECK_MESSAGE(text.find(word) != std::string::npos, std::string(one.view), ": ", word);
    }
  }

  TEST_CASE("a notebook's cell is described, and a file gets its numbers or its figure") {
    const TemporaryDirectory folder;
    const auto run = [&](std::vector<std::string> arguments) {
      for (const char* more : {"--preset", "notebook-004", "--tab", "notebook", "--notebook-cell", "58"})
        arguments.emplace_back(more);
      const Outcome outcome = run_headlight(arguments);
      INFO(outcome.err);
      CHECK(outcome.status == 0);
      return outcome.out;
    };
    const std::string text = run({"describe"});
    INFO(text);
    CHECK(text.find("the notebook prints 4.3783, this pass gives 4.378265") != std::string::npos);
    CHECK(text.find("omega_2") != std::string::npos);
    run({"screenshot", "--out", (folder.path() / "cell.csv").string()});
    const std::string csv = read_file(folder.path() / "cell.csv", std::size_t{1} << 20);
    CHECK(csv.starts_with("cell,title,tensor,place,printed,ours,units off\n"));
    CHECK(csv.find("\n58,Its weights,attention_weights_2,") != std::string::npos);
    run({"screenshot", "--out", (folder.path() / "cell.svg").string()});
    CHECK(read_file(folder.path() / "cell.svg", std::size_t{1} << 22).find("<svg") != std::string::npos);
  }

  TEST_CASE("the numbers of a described map are the exported ones, to four digits") {
    const Outcome csv = run_headlight(
        {"export", "-m", golden_path("gpt2"), "the cat sat", "--layer", "1", "--head", "2", "--format", "csv", "-o", "-"});
    std::vector<std::string> expected;
    std::istringstream lines(csv.out);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string field;
      std::getline(fields, field, ',');
      while (std::getline(fields, field, ',')) {
        if (const float value = std::stof(field); value > 0.0F)
          expected.push_back(fmt::format("{:.4g}", static_cast<double>(value)));
      }
    }
    CHECK(expected.size() >= 6);
    const std::string text = described("head");
    std::size_t at = 0;
    for (const std::string& number : expected) {
      CAPTURE(number);
      at = text.find("|" + number + "|", at);
      REQUIRE(at != std::string::npos);
    }
    const nlohmann::json json =
        nlohmann::json::parse(run_headlight({"describe", "-m", golden_path("gpt2"), "the cat sat", "--tab", "head",
                                             "--layer", "1", "--head", "2", "--json"})
                                  .out);
    CHECK(json.at("view") == "head");
    CHECK(json.at("text") == text);
    CHECK(complaint_of(run_headlight({"describe", "-m", golden_path("bert"), "the cat", "--tab", "logits"}), 1)
              .find("This view doesn't take this model's logits apart: ") == 0);
    const Outcome alone = run_headlight({"describe", "-m", golden_path("gpt2"), "the cat", "--tab", "patching"});
    CHECK(complaint_of(alone, 1).find("Patching needs two texts: Open a second text") == 0);
  }
}

}  // namespace describe_command_test
