// Tokens on the command line: tokenize and detokenize.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "support/golden_model.h"
#include "support/program.h"
#include "support/temporary_directory.h"

namespace tokenize_command_test {

using namespace headlight;

namespace {

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

/// Returns a command's answer to lines on standard input.
Outcome answer(const std::vector<std::string>& arguments, const std::string& input) {
  Outcome outcome = run_headlight(arguments, "", input);
  INFO(outcome.err);
  return outcome;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(nlohmann::json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("tokenize answers a line with ids, tokens and byte ranges") {
    const Outcome outcome = answer({"tokenize", "--model", golden_path("bert")}, "the cat\n\nTHE cat");
    CHECK(outcome.status == 0);
    const std::vector<nlohmann::json> lines = json_lines(outcome.out);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0]["ids"] == nlohmann::json({2, 38, 39, 3}));
    CHECK(lines[0]["tokens"] == nlohmann::json({"[CLS]", "the", "cat", "[SEP]"}));
    CHECK(lines[0]["offsets"] == nlohmann::json({{0, 0}, {0, 3}, {4, 7}, {0, 0}}));
    CHECK(lines[1]["ids"] == nlohmann::json({2, 3}));
    CHECK(lines[2]["ids"] == lines[0]["ids"]);  // lower-cased
    const Outcome plain = answer({"tokenize", "--model", golden_path("bert"), "--no-special"}, "the cat\n");
    CHECK(json_lines(plain.out).at(0)["ids"] == nlohmann::json({38, 39}));
    CHECK(answer({"tokenize", "--model", golden_path("bert")}, "").out == "");
  }

  TEST_CASE("tokenize --text and detokenize --ids answer without standard input") {
    const std::vector<std::string> tokenize = {"tokenize", "--model", golden_path("bert")};
    std::vector<std::string> given = tokenize;
    given.insert(given.end(), {"--text", "the cat", "--text", "THE cat", "--text", "the"});
    const Outcome outcome = answer(given, "not read\n");
    CHECK(outcome.out == answer(tokenize, "the cat\nTHE cat\nthe\n").out);
    CHECK(json_lines(outcome.out).size() == 3);
    // A line feed is part of a text.
    std::vector<std::string> one = tokenize;
    one.insert(one.end(), {"--text", "THE cat\nthe"});
    const auto tokens = json_lines(answer(one, "").out);
    REQUIRE(tokens.size() == 1);
    CHECK(tokens[0]["tokens"] == nlohmann::json({"[CLS]", "the", "cat", "the", "[SEP]"}));
    CHECK(answer({"detokenize", "--model", golden_path("gpt2"), "--ids", "98,108", "--ids", "98"}, "").out ==
          "the cat\nthe\n");
    CHECK(complaint({"detokenize", "--model", golden_path("gpt2"), "--ids", "x"}, 1) ==
          "line 1: 'x' is no token id: give whole numbers from 0");
  }

  TEST_CASE("tokenize --chat has the tokens that the model's template writes") {
    const TemporaryDirectory folder;
    const std::filesystem::path model = folder.path() / "chat";
    std::filesystem::copy(golden_path("gpt2"), model, std::filesystem::copy_options::recursive);
    const auto chat = [&](const char* source, std::vector<std::string> more = {}) {
      std::ofstream(model / "chat_template.jinja") << source;
      more.insert(more.begin(), {"tokenize", "--model", model.string(), "--chat", "--text", "the cat"});
      return answer(more, "");
    };
    constexpr const char* kSource =
        "{% for m in messages %}{{ m.content }}{% endfor %}<|endoftext|>{{ ' the' if enable_thinking is defined }}";
    const std::string plain = answer({"tokenize", "--model", golden_path("gpt2"), "--text", "the cat<|endoftext|>"}, "").out;
    const Outcome found = chat(kSource);
    CHECK(found.status == 0);
    CHECK(found.err.empty());
    CHECK(json_lines(found.out).at(0)["ids"] == json_lines(plain).at(0)["ids"]);
    CHECK(json_lines(chat(kSource, {"--thinking", "unset"}).out) == json_lines(found.out));
    CHECK(json_lines(chat(kSource, {"--thinking", "off"}).out).at(0)["ids"].size() ==
          json_lines(found.out).at(0)["ids"].size() + 1);
    // A mark in pieces is told.
    CHECK(chat("{{ messages[0].content }}<|im_end|>")
              .err.find("the chat template writes <|im_end|>, which this vocabulary has "
                        "in pieces") != std::string::npos);
    CHECK(complaint({"tokenize", "--model", golden_path("gpt2"), "--chat", "--text", "a"}, 1)
              .find("has no chat template: leave --chat out") != std::string::npos);
  }

  TEST_CASE("tokenize takes broken UTF-8 and writes strict JSON") {
    const Outcome outcome = answer({"tokenize", "--model", golden_path("gpt2")}, "a \xff b\n");
    CHECK(outcome.status == 0);
    const nlohmann::json line = json_lines(outcome.out).at(0);
    CHECK(line["offsets"].back() == nlohmann::json({4, 5}));
  }

  TEST_CASE("detokenize reads what tokenize writes, lists and plain numbers") {
    const std::vector<std::string> detokenize = {"detokenize", "--model", golden_path("gpt2")};
    const Outcome tokens = answer({"tokenize", "--model", golden_path("gpt2")}, "the cat sat\n\na \\n b\n");
    CHECK(answer(detokenize, tokens.out).out == "the cat sat\n\na \\n b\n");
    CHECK(answer(detokenize, "[98, 108]\n98 108\n98,\t108\n\n[]\n{\"ids\": [98]}").out ==
          "the cat\nthe cat\nthe cat\n\n\nthe\n");
    const std::vector<std::string> bert = {"detokenize", "--model", golden_path("bert")};
    CHECK(answer(bert, "2 38 39 3").out == "the cat\n");
    CHECK(answer({"detokenize", "--model", golden_path("bert"), "--keep-special"}, "2 38 39 3").out ==
          "[CLS] the cat [SEP]\n");
    CHECK(answer({"detokenize", "--model", golden_path("gpt2"), "--json"}, "98 108").out == "\"the cat\"\n");
  }

  TEST_CASE("a bad line ends the command with its number, after the lines before it") {
    const std::vector<std::string> detokenize = {"detokenize", "--model", golden_path("gpt2")};
    CHECK(answer(detokenize, "98\n98 x\n98\n").out == "the\n");
    CHECK(complaint(detokenize, 1, "98\n98 x\n98\n", "the\n") == "line 2: 'x' is no token id: give whole numbers from 0");
    CHECK(complaint(detokenize, 1, "[1, 2") == "line 1: '[1, 2': not JSON (line 1, column 6)");
    CHECK(complaint(detokenize, 1, "{\"id\": []}") == "line 1: the object has no \"ids\"");
    CHECK(complaint(detokenize, 1, "{\"ids\": 3}") == "line 1: \"ids\" is no list");
    CHECK(complaint(detokenize, 1, "[1, -2]") == "line 1: '-2' is no token id: give whole numbers from 0");
    CHECK(complaint(detokenize, 1, "[1.5]") == "line 1: '1.5' is no token id: give whole numbers from 0");
    CHECK(complaint(detokenize, 1, "5000000000") == "line 1: '5000000000' is no token id: give whole numbers from 0");
    CHECK(complaint(detokenize, 1, "98\n128", "the\n") == "line 2: id 128 is not among the vocabulary's 128");
    CHECK(complaint({"tokenize", "--model", golden_path("t5")}, 1, "a").find("no tokenizer") != std::string::npos);
    CHECK(complaint({"tokenize"}, 2) == "--model is missing: name a model's folder or .gguf file");
    CHECK(complaint({"tokenize", "--model", "/nonexistent"}, 1).find("/nonexistent: there is no such file or folder") == 0);
  }
}

}  // namespace tokenize_command_test
