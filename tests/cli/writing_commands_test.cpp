// `headlight translate` and `headlight generate` as people run them, with the small random models.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "inference/decoding.h"
#include "support/decode_npy.h"
#include "support/deviation.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/program.h"

namespace writing_commands_test {

using namespace headlight;
using namespace headlight::inference;
namespace fs = std::filesystem;

namespace {

using Ids = std::vector<std::uint32_t>;

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

std::vector<std::string> command(const char* verb, std::string_view model, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {verb, "--model", golden_path(model)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Runs the program; its kernels, compiled by the driver, are kept from one run to the next: they would take longer than
/// all the rest.
Outcome run(const std::vector<std::string>& arguments, const std::string& input) {
  static const TemporaryDirectory kernels;
  return run_headlight(arguments, "MESA_SHADER_CACHE_DIR=" + kernels.path().string(), input);
}

/// Returns the output of a command that succeeds.
std::string answer(const std::vector<std::string>& arguments, const std::string& input = "") {
  const Outcome outcome = run(arguments, input);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  return outcome.out;
}

/// The one line on standard error of a command that fails with this status.
std::string complaint(const std::vector<std::string>& arguments, int status, const std::string& input = "",
                      const std::string& expected_out = "") {
  const Outcome outcome = run(arguments, input);
  CHECK(outcome.out == expected_out);
  return complaint_of(outcome, status);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    REQUIRE(end != std::string::npos);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

nlohmann::json read_json(const fs::path& path) { return nlohmann::json::parse(read_file(path)); }

/// The ids of run.json's tokens of one side.
std::string id_list(const nlohmann::json& tokens) {
  return fmt::format("{}", fmt::join(tokens["ids"][0].get<std::vector<std::uint32_t>>(), ","));
}

/// Requires the same shape, and returns the largest difference of the numbers.
double difference(const fs::path& left, const fs::path& right) {
  const Tensor a = files::decode_npy(read_file(left)), b = files::decode_npy(read_file(right));
  REQUIRE(a.shape == b.shape);
  double largest = 0.0;
  for (std::size_t i = 0; i < a.values.size(); ++i) test::widen(largest, a.values[i], b.values[i]);
  return largest;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("translate and generate tell their flags, and --help lists both") {
    const std::string all = answer({"--help"});
    CHECK(all.find("\n  translate ") != std::string::npos);
    CHECK(all.find("\n  generate ") != std::string::npos);
    for (const char* verb : {"translate", "generate"}) {
      const std::string help = answer({verb, "--help"});
      for (const char* flag : {"--model", "--text", "--batch", "--max-tokens", "--precision", "--device", "--attention",
                               "weights.npy", "run.json", "_heads.png", "Examples:"}) {
        INFO(flag);
        CHECK(help.find(flag) != std::string::npos);
      }
    }
    for (const char* flag : {"--temperature", "--top-k", "--top-p", "--seed", "--samples"}) {
      INFO(flag);
      CHECK(answer({"generate", "--help"}).find(flag) != std::string::npos);
    }
  }

  TEST_CASE("flags out of range are named with the range") {
    const auto refused = [](const char* verb, const char* flag, const char* value) {
      return complaint({verb, flag, value, "--text", "a"}, 2);
    };
    CHECK(refused("translate", "--batch", "0") == "--batch: expected a whole number from 1 to 4096, found '0'");
    CHECK(refused("translate", "--max-tokens", "0") == "--max-tokens: expected a whole number from 1 to 4096, found '0'");
    CHECK(refused("translate", "--precision", "f8").find("--precision: there is no 'f8'") == 0);
    CHECK(refused("generate", "--temperature", "-1") == "--temperature: expected a number from 0 to 10, found '-1'");
    CHECK(refused("generate", "--top-p", "1.5") == "--top-p: expected a number from 0 to 1, found '1.5'");
    CHECK(refused("generate", "--top-k", "x").find("--top-k: expected a whole number") == 0);
    CHECK(refused("generate", "--samples", "0").find("--samples: expected a whole number from 1") == 0);
    CHECK(refused("translate", "--temperature", "1").find("unknown flag --temperature") == 0);
    CHECK(complaint({"generate", "--samples", "2", "--temperature", "0"}, 2).find("--samples: at --temperature 0") == 0);
  }

  TEST_CASE("models that can't do it are refused with the command that can") {
    CHECK(complaint(command("translate", "gpt2"), 2) ==
          "--model: gpt2 (GPT-2) continues texts and translates none: use headlight generate");
    CHECK(complaint(command("generate", "marian"), 2) ==
          "--model: marian (Marian) translates texts and continues none: use headlight translate");
    CHECK(complaint(command("translate", "bert"), 2) == "--model: bert (BERT) fills gaps at most: it writes no text");
    CHECK(complaint(command("generate", "bert-base-model"), 2).find("fills gaps at most") != std::string::npos);
    CHECK(complaint(command("translate", "t5"), 1).find("has no tokenizer") != std::string::npos);
    CHECK(complaint({"translate", "--model", "/nonexistent/model"}, 1).find("/nonexistent/model: there is no such file") ==
          0);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "translate writes a line for each line, what greedy decoding gives, empty ones empty") {
    const std::string input = "the cat sat on the mat\n\nthe dog\r\n  \na cat and a dog sat\n";
    const std::string out = answer(command("translate", "marian", {"--max-tokens", "9"}), input);
    const std::vector<std::string> lines = lines_of(out);
    REQUIRE(lines.size() == 5);
    const auto model = open_model(test::golden_model_path("marian"));
    Session session(context);
    const std::vector<Decoded> decoded =
        decode(session, *model, {.lines = {"the cat sat on the mat", "the dog", "a cat and a dog sat"}}, {.most_tokens = 9});
    std::size_t next = 0;
    for (const std::size_t line : {0u, 2u, 4u}) {
      const std::string text = model->target_tokenizer->decode(decoded[next++].ids);
      CHECK(lines[line] == (text.starts_with(' ') ? text.substr(1) : text));
      CHECK(lines[line] != "");
    }
    CHECK(lines[1] == "");
    CHECK(lines[3] == "");
    // The output is the same one by one and as flags; half precision gives as many lines.
    CHECK(answer(command("translate", "marian", {"--max-tokens", "9", "--batch", "1"}), input) == out);
    CHECK(answer(command("translate", "marian", {"--max-tokens", "9", "--text", "the dog"})) == lines[2] + "\n");
    CHECK(lines_of(answer(command("translate", "marian", {"--precision", "f16"}), input)).size() == 5);
    CHECK(answer(command("translate", "marian")) == "");
    CHECK(answer(command("translate", "marian", {"--text", ""})) == "\n");
  }

  TEST_CASE("generate continues each line, greedily or by its seed") {
    const std::vector<std::string> greedy = lines_of(
        answer(command("generate", "gpt2", {"--temperature", "0", "--max-tokens", "5"}), "the cat\n\nthe dog sat\n"));
    REQUIRE(greedy.size() == 3);
    CHECK(greedy[0].starts_with("the cat"));
    CHECK(greedy[0].size() > 7);
    CHECK(greedy[2].starts_with("the dog sat"));
    const std::vector<std::string> flags = {"--samples", "3", "--seed", "4", "--max-tokens", "6", "--temperature", "2"};
    const std::string sampled = answer(command("generate", "gpt2", flags), "the cat\nthe dog\n");
    const std::vector<std::string> samples = lines_of(sampled);
    REQUIRE(samples.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) CHECK(samples[i].starts_with(i < 3 ? "the cat" : "the dog"));
    CHECK(samples[0] != samples[1]);
    CHECK(answer(command("generate", "gpt2", flags), "the cat\nthe dog\n") == sampled);
    CHECK(answer(command("generate", "gpt2", {"--samples", "3", "--seed", "5", "--max-tokens", "6", "--temperature", "2"}),
                 "the cat\nthe dog\n") != sampled);
    // The second line's first sample is its number's, 4 + 3.
    CHECK(answer(command("generate", "gpt2",
                         {"--seed", "7", "--max-tokens", "6", "--temperature", "2", "--text", "the dog"})) ==
          samples[3] + "\n");
  }

  TEST_CASE("no line and an empty line begin a text, where the model knows how") {
    const std::vector<std::string> flags = {"--max-tokens", "6", "--samples", "2", "--temperature", "1.5"};
    const std::string none = answer(command("generate", "gpt2", flags));
    CHECK(lines_of(none).size() == 2);
    CHECK(answer(command("generate", "gpt2", flags), "\n") == none);
    std::vector<std::string> with_text = flags;
    with_text.insert(with_text.end(), {"--text", ""});
    CHECK(answer(command("generate", "gpt2", with_text)) == none);
  }

  TEST_CASE("a line that can't be written ends the command with its number, behind those before it") {
    std::string words;
    for (int i = 0; i < 40; ++i) words += "cat ";
    const std::string first = answer(command("translate", "marian"), "the cat\n");
    CHECK(complaint(command("translate", "marian"), 1, "the cat\n" + words + "\nthe dog\n", first)
              .find("line 2: the text has ") == 0);
    CHECK(complaint(command("translate", "marian"), 1, "the cat\nthe \xff cat\n", first) ==
          "line 2: byte 4 is not UTF-8: convert the text");
    // These commands have no flag that stretches positions.
    CHECK(
        complaint(command("generate", "gpt2"), 1, words + "\n").ends_with("but the model has positions for 32: shorten it"));
  }

  TEST_CASE("translate --attention writes what export writes of the finished translation") {
    const TemporaryDirectory directory;
    const fs::path maps = directory.path() / "maps";
    const std::vector<std::string> lines = {"the cat sat on the mat", "", "the dog"};
    answer(command("translate", "marian", {"--max-tokens", "5", "--attention", maps.string()}),
           lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n");
    CHECK_FALSE(fs::exists(maps / "line-0002"));
    for (const std::size_t line : {0u, 2u}) {
      const fs::path folder = maps / fmt::format("line-{:04}", line + 1),
                     exported = directory.path() / fmt::format("{}", line);
      const nlohmann::json record = read_json(folder / "run.json");
      answer(command("export", "marian",
                     {"--text", lines[line], "--target-ids", id_list(record["target_tokens"]), "--stages", "weights",
                      "--format", "npy", "--out", exported.string()}));
      for (const char* kind : {"encoder", "decoder", "cross"}) {
        const std::string name = fmt::format("{}_weights.npy", kind);
        CHECK(difference(folder / name, exported / name) < 1e-5);  // observed 0
      }
      for (const char* name : {"cross_layer-00_heads.png", "cross_layer-01_heads.png", "alignment.png"}) {
        CHECK(read_file(folder / name).starts_with("\x89PNG"));
      }
      const nlohmann::json alignment = read_json(folder / "alignment.json");
      CHECK(alignment["layer"] == 1);
      CHECK(alignment["target"].size() == record["target_tokens"]["ids"][0].size());
      // The map itself says the same: the largest mean of the heads among the source's words, which <eos> follows.
      const Tensor weights = files::decode_npy(read_file(folder / "cross_weights.npy"));
      const std::uint32_t heads = weights.axis(2), queries = weights.axis(3), keys = weights.axis(4);
      CHECK(alignment["source"].size() == keys);
      for (const nlohmann::json& pair : alignment["alignment"]) {
        const auto mean = [&](std::uint32_t key) {
          double sum = 0.0;
          for (std::uint32_t head = 0; head < heads; ++head) {
            const std::size_t row = (std::size_t{heads} + head) * queries + pair["target"].get<std::uint32_t>() - 1;
            sum += static_cast<double>(weights.values[row * keys + key]);
          }
          return sum / heads;
        };
        const double largest = mean(pair["source"].get<std::uint32_t>());
        CHECK(std::abs(largest - pair["weight"].get<double>()) < 1e-6);  // observed 3e-8
        for (std::uint32_t key = 0; key + 1 < keys; ++key) CHECK(mean(key) <= largest + 1e-6);
      }
    }
  }

  TEST_CASE("generate --attention writes what export writes of the finished text") {
    const TemporaryDirectory directory;
    const fs::path maps = directory.path() / "maps", exported = directory.path() / "exported";
    answer(command("generate", "gpt2",
                   {"--text", "the cat", "--max-tokens", "60", "--samples", "2", "--attention", maps.string()}));
    const fs::path folder = maps / "line-0001-sample-2";
    const nlohmann::json record = read_json(folder / "run.json");
    CHECK(record["tokens"]["ids"][0].size() <= 32);  // all positions there are, however much was asked for
    answer(
        command("export", "gpt2",
                {"--ids", id_list(record["tokens"]), "--stages", "weights", "--format", "npy", "--out", exported.string()}));
    CHECK(difference(folder / "weights.npy", exported / "weights.npy") < 1e-5);  // observed 0
    CHECK(read_file(folder / "layer-01_heads.png").starts_with("\x89PNG"));
    CHECK_FALSE(fs::exists(folder / "alignment.json"));
  }
}

}  // namespace writing_commands_test
