// Captures on the command line: exported numbers, a record of them, and what is refused.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/state/session_file.h"
#include "capture/captures.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/deviation.h"
#include "support/golden.h"
#include "support/program.h"
#include "support/skip.h"

namespace capture_command_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

std::string captured(const char* name) { return (fs::path(HEADLIGHT_GOLDEN_DIR) / "captures" / name).string(); }

std::string refusal(const std::vector<std::string>& arguments, int status) {
  return complaint_of(run_headlight(arguments), status);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a capture's weights are exported as PyTorch has them, and stages that it lacks are noted") {
    const TemporaryDirectory folder;
    const std::string out = (folder.path() / "out").string();
    const Outcome outcome = run_headlight({"export", "--capture", captured("queries.safetensors"), "--stages",
                                           "weights,scaled,v", "--format", "npy", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err == "headlight: note: v is left out: it isn't captured\n");
    const nlohmann::json expected = test::golden("captures/queries_expected.json");
    const auto difference = [&](const std::string& stage) {
      const Tensor tensor = files::decode_npy(read_file(fs::path(out) / (stage + ".npy")));
      return test::deviation(tensor.values, test::flatten(expected.at(stage))).max_abs;
    };
    CHECK(difference("weights") < 1e-7);  // 2.7e-8
    CHECK(difference("scaled") < 5e-7);   // 1.2e-7
    const nlohmann::json record = nlohmann::json::parse(read_file(fs::path(out) / "run.json"));
    // A clone beside the folder for temporary files is named by its place from there.
    CHECK(record.at("model").at("capture") == app::portable_path(captured("queries.safetensors"), out));
    CHECK(record.at("masks").empty());
    CHECK(record.at("tokens").at("texts").at(0).at(3) == ",");
  }

  TEST_CASE("layers of a hybrid are chosen and named by the model's numbers") {
    const TemporaryDirectory folder;
    const std::string capture =
        test::write_capture(folder.path() / "hybrid.npz.safetensors",
                            {test::even("attention.0", {1, 1, 2, 2}), test::even("attention.1", {1, 1, 2, 2})},
                            R"("layers":"[4, 9]")")
            .string();
    const std::string out = (folder.path() / "out").string();
    const Outcome outcome =
        run_headlight({"export", "--capture", capture, "--layer", "9", "--format", "csv,svg", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(fs::exists(fs::path(out) / "layer-09_batch-0_head-00_weights.csv"));
    CHECK(read_file(fs::path(out) / "layer-09_batch-0_head-00_weights.svg").find("layer 9, head 0") != std::string::npos);
    CHECK(refusal({"export", "--capture", capture, "--layer", "1", "--out", out}, 2) ==
          "--layer 1: the layers with attention are 4, 9");
    CHECK(refusal({"screenshot", "--capture", capture, "--layer", "1", "--out", (folder.path() / "a.png").string()}, 2) ==
          "--layer 1: the layers with attention are 4, 9");
    CHECK(refusal({"describe", "--capture", capture, "--layer", "1", "--tab", "lines"}, 2) ==
          "--layer 1: the layers with attention are 4, 9");
  }

  TEST_CASE("weights over an image are a figure, which is made again from the session that it carries") {
    const TemporaryDirectory folder;
    const fs::path out = folder.path() / "out", again = folder.path() / "again";
    const Outcome outcome =
        run_headlight({"export", "--capture", captured("vision.safetensors"), "--views", "text", "--layer", "1", "--head",
                       "2", "--queries", "5", "--format", "svg", "--out", out.string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err == "");
    constexpr const char* kFile = "layer-01_batch-0_head-02_text.svg";
    const std::string svg = read_file(out / kFile);
    CHECK(svg.find("patch row 0, column 4") != std::string::npos);
    CHECK(svg.find("data:image/png;base64,") != std::string::npos);
    CHECK(svg.find("[class]") != std::string::npos);
    REQUIRE(run_headlight({"export", "--from", (out / kFile).string(), "--capture", captured("vision.safetensors"), "--out",
                           again.string()})
                .status == 0);
    CHECK(read_file(again / kFile) == svg);
  }

  TEST_CASE("figures of a head have patches on their axes, and the page of a capture its image once") {
    const TemporaryDirectory folder;
    const fs::path out = folder.path() / "out", again = folder.path() / "again";
    const Outcome outcome =
        run_headlight({"export", "--capture", captured("vision.safetensors"), "--views", "head", "--layer", "1", "--head",
                       "2", "--queries", "0:4", "--format", "svg,pdf,html", "--out", out.string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const std::string file = "layer-01_batch-0_head-02_weights";
    const std::string svg = read_file(out / (file + ".svg"));
    std::size_t images = 0;
    for (std::size_t at = svg.find("<image"); at != std::string::npos; at = svg.find("<image", at + 1)) ++images;
    CHECK(images == 3 + 24);  // of four queries the class token is no patch, nor is it among the keys
    const std::string page = read_file(out / "attention.html");
    const std::size_t image = page.find("data:image/png;base64,");
    REQUIRE(image != std::string::npos);
    CHECK(page.find("data:image/png;base64,", image + 1) == std::string::npos);
    CHECK(page.find("weights as they were saved") != std::string::npos);  // no device had a part in them
    CHECK(page.find("computed on") == std::string::npos);
    CHECK(page.find(R"("rowPatches":[{"image":0,"rows":4,"columns":6,"first":1,"step":6}])") != std::string::npos);
    for (const char* ending : {".svg", ".pdf"}) {
      REQUIRE(run_headlight({"export", "--session", (out / (file + ending)).string(), "--capture",
                             captured("vision.safetensors"), "--out", again.string()})
                  .status == 0);
      CHECK(read_file(again / (file + ending)) == read_file(out / (file + ending)));
    }
  }

  TEST_CASE("steps of captured queries, keys and values, and an image that isn't there is a note") {
    const TemporaryDirectory folder;
    const fs::path capture = folder.path() / "moved.safetensors", out = folder.path() / "out";
    fs::copy_file(captured("vision_values.safetensors"), capture);
    const Outcome outcome = run_headlight({"export", "--capture", capture.string(), "--views", "steps", "--layer", "0",
                                           "--head", "3", "--format", "svg", "--out", out.string()});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err.find("headlight: note: Image: ") == 0);
    CHECK(outcome.err.find("patches are shown without the image") != std::string::npos);
    const std::string svg = read_file(out / "layer-00_batch-0_head-03_steps.svg");
    for (const char* title :
         {"queries Q, 25 × 8", "values V, 25 × 8", "attention weights, 25 × 25", "merged heads, 25 × 32"}) {
      CAPTURE(title);
      CHECK(svg.find(title) != std::string::npos);
    }
  }

  TEST_CASE("what is odd about captured numbers is a note of the export and of its record") {
    const TemporaryDirectory folder;
    test::MadeTensor made = test::even("attention.0", {1, 1, 3, 3});
    made.values[0] = 1.0F;
    made.values[8] = std::nanf("");
    const std::string file = test::write_capture(folder.path() / "odd.safetensors", {made}).string();
    const std::string out = (folder.path() / "out").string();
    const Outcome outcome = run_headlight({"export", "--capture", file, "--format", "csv", "--out", out});
    REQUIRE(outcome.status == 0);
    CHECK(outcome.err ==
          "headlight: note: of the capture's rows that were read: 1 cell is NaN or infinite; 1 row does not sum to 1, the "
          "worst to 1.667 (encoder layer 0, head 0, line 1, query 0)\n");
    const nlohmann::json record = nlohmann::json::parse(read_file(fs::path(out) / "run.json"));
    CHECK(record.dump().find("1 row does not sum to 1") != std::string::npos);
    const std::string csv = read_file(fs::path(out) / "layer-00_batch-0_head-00_weights.csv");
    CHECK(csv.find("0,1,0.33333334,0.33333334") != std::string::npos);  // as they are
    CHECK(csv.find("nan") != std::string::npos);
  }

  TEST_CASE("of a capture of 10 GB what is asked is read, whatever the rest of the file has") {
    const TemporaryDirectory folder;
    constexpr std::uint64_t kTokens = 50'000, kBytes = kTokens * kTokens * sizeof(float);
    std::string header =
        fmt::format(R"({{"attention.0":{{"dtype":"F32","shape":[1,1,{0},{0}],"data_offsets":[0,{1}]}}}})", kTokens, kBytes);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string begin(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) begin[i] = static_cast<char>(header.size() >> (8 * i) & 0xFFU);
    const fs::path file = folder.path() / "large.safetensors";
    write_file_atomically(file, begin + header);
    std::error_code error;
    fs::resize_file(file, begin.size() + header.size() + kBytes, error);  // without taking the room
    if (error) return test::skip("no file of 10 GB can be made here: " + error.message());
    const std::string out = (folder.path() / "out").string();
    const Outcome outcome = run_headlight({"export", "--capture", file.string(), "--queries", "49998-49999", "--keys", "0:3",
                                           "--format", "csv", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(read_file(fs::path(out) / "layer-00_batch-0_head-00_weights.csv") ==
          "query/key,0,1,2\n49998,0,0,0\n49999,0,0,0\n");
    fs::resize_file(file, begin.size() + header.size() + kBytes - 1);
    const Outcome cut = run_headlight({"export", "--capture", file.string(), "--format", "csv", "--out", out});
    CHECK(cut.status == 1);
    CHECK(cut.err.find("large.safetensors") != std::string::npos);
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("what contradicts a capture, and files that are none, are refused in one line") {
    const std::string file = captured("self.safetensors");
    CHECK(refusal({"view", "--capture", file, "--text", "a"}, 2) ==
          "--text and --capture exclude each other: a capture brings its own tokens");
    CHECK(refusal({"view", "--capture", file, "--model", "captions-gpt2"}, 2) ==
          "--model and --capture exclude each other: a capture brings its own tokens");
    CHECK(refusal({"view", "--capture", file, "--seed", "3"}, 2) ==
          "--seed and --capture exclude each other: a capture brings its own tokens");
    for (const std::vector<std::string>& change :
         {std::vector<std::string>{"--mask", "causal"}, {"--mask-expr", "k <= q"}, {"--replace-pattern", "L0H0=first"}}) {
      std::vector<std::string> arguments = {"screenshot", "--out", "x.png", "--capture", file};
      arguments.insert(arguments.end(), change.begin(), change.end());
      CHECK(refusal(arguments, 2) ==
            "--capture: its weights are as they were saved; masks and heads are changed in a network (--model)");
    }
    CHECK(refusal({"view", "--capture", "missing.npz"}, 1).find("missing.npz: No such file or directory") !=
          std::string::npos);
    CHECK(refusal({"view", "--capture", "missing.safetensors"}, 1).find("can't open ") == 0);
    CHECK(refusal({"missing.npz"}, 1) == "missing.npz: there is no such file or folder");
    CHECK(refusal({"view", "--capture", captured("translator.json")}, 1).find("is no capture: it ends in neither") !=
          std::string::npos);
  }
}

}  // namespace capture_command_test
