#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "inference/language_model.h"
#include "support/program.h"
#include "support/temporary_directory.h"
#include "tools/bench/bench.h"
#include "tools/bench/random_model.h"
#include "tools/bench/report.h"

namespace headlight::bench {
namespace {

/// Runs headlight-bench, which HEADLIGHT_PROGRAM is here.
Outcome run_bench(const std::vector<std::string>& arguments) { return run_headlight(arguments); }

struct Cases {
  std::vector<Result> measured;
  std::vector<Skipped> skipped;

  Listener listener() {
    return {.measured = [this](const Result& result) { measured.push_back(result); },
            .skipped = [this](const Skipped& one) { skipped.push_back(one); }};
  }
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("flops of a layer counted by hand") {
    const Size size{.n = 2, .d_model = 4, .heads = 2};
    CHECK(flops(Operation::QkvGemm, size) == 2 * 2 * 4 * 12);
    CHECK(flops(Operation::LinearNaive, size) == flops(Operation::QkvGemm, size));
    CHECK(flops(Operation::OutputProjection, size) == 2 * 2 * 4 * 4);
    // Query 0 sees one key, query 1 sees two; each pair costs 2 numbers a head, multiplied and added.
    CHECK(flops(Operation::AttentionScores, size) == 3 * 2 * 2 * 2);
    CHECK(flops(Operation::AttentionMerge, size) == 3 * 2 * 2 * 2);
    CHECK(flops(Operation::Attention, size) == 2 * flops(Operation::AttentionScores, size));
    CHECK(flops(Operation::Forward, size) ==
          flops(Operation::QkvGemm, size) + flops(Operation::Attention, size) + flops(Operation::OutputProjection, size));
    CHECK(flops(Operation::Tile, size) == 3 * 2 * 2);
    CHECK(flops(Operation::MaskedSoftmax, size) == 0);
  }

  TEST_CASE("bytes of a layer's operands and results counted by hand") {
    const Size size{.n = 2, .d_model = 4, .heads = 2};
    CHECK(least_bytes(Operation::QkvGemm, size) == 4 * (2 * 4 + 3 * 16 + 3 * 4 + 3 * 8));
    CHECK(least_bytes(Operation::LinearNaive, size) == least_bytes(Operation::QkvGemm, size));
    CHECK(least_bytes(Operation::OutputProjection, size) == 4 * (8 + 16 + 4 + 8));
    CHECK(least_bytes(Operation::AttentionScores, size) == 4 * (8 + 8 + 2 * 3));  // Q, K, and three pairs in two heads
    CHECK(least_bytes(Operation::AttentionMerge, size) == least_bytes(Operation::AttentionScores, size));
    CHECK(least_bytes(Operation::Attention, size) == 4 * (4 * 8 + 2 * 2 * 2));
    CHECK(least_bytes(Operation::Forward, size) == 4 * (8 + 4 * 16 + 4 * 4 + 8));
    CHECK(least_bytes(Operation::Tile, size) == 4 * (2 * 2 + 2 * 2 + 2 * 2 + 2 * 4));
    CHECK(least_bytes(Operation::TilePooled, size) == 4 * (2 * 2 + 2 * 2 + 2 * 2 + 2));
    for (const Operation operation : operations()) {
      CHECK((least_bytes(operation, size) > 0.0) == (flops(operation, size) > 0.0));
    }
  }

  TEST_CASE("a tile of a long map lies below the diagonal, where every cell is visible") {
    const Size size{.n = 4096, .d_model = 64, .heads = 1};
    CHECK(tile_edge(size) == 1024);
    CHECK(flops(Operation::Tile, size) == 1024.0 * 1024.0 * 2 * 64);
  }

  TEST_CASE("operations have one name each, in their order") {
    std::map<std::string_view, int> names;
    for (const Operation operation : operations()) ++names[to_string(operation)];
    CHECK(names.size() == operations().size());
    CHECK(to_string(Operation::QkvGemm) == "qkv_gemm");
    CHECK(to_string(Operation::TilePooled) == "tile_pooled");
    CHECK(operations().back() == Operation::TilePooled);
  }

  TEST_CASE("the median of rounds, without the warm-up") {
    CHECK(median({3.0, 1.0, 2.0}) == 2.0);
    CHECK(median({4.0, 1.0, 2.0, 3.0}) == 2.5);
    const std::array walls{100.0, 5.0, 1.0, 3.0};
    std::size_t calls = 0;
    const Timing timing =
        measure({.count = 3}, [&] { return Timing{.wall_ms = walls.at(calls++), .gpu_ms = 0.5, .dispatches = 2}; });
    CHECK(calls == 4);
    CHECK(timing.wall_ms == 3.0);
    CHECK(timing.gpu_ms == 0.5);
    CHECK(timing.dispatches == 2);
  }

  TEST_CASE("without a count, at least three rounds and no more than the budget holds") {
    std::uint32_t calls = 0;
    measure({.count = 0, .budget_ms = 0.0}, [&] { return Timing{.wall_ms = 1.0 * ++calls}; });
    CHECK(calls == 1 + Rounds::kFewest);
    calls = 0;
    measure({.count = 0, .budget_ms = 1e9}, [&] { return Timing{.wall_ms = 1.0 * ++calls}; });
    CHECK(calls == 1 + Rounds::kMax);
  }

  TEST_CASE("a line of JSON says what was measured, on what") {
    gpu::DeviceInfo device;
    device.name = "a device";
    device.driver = "a driver";
    const Result softmax{
        Operation::MaskedSoftmax, {64, 512, 8}, {.wall_ms = 2.0, .gpu_ms = 0.0, .dispatches = 1}, "blocks", {}, {}};
    const nlohmann::json row = nlohmann::json::parse(json_row(softmax, device));
    CHECK(row["op"] == "masked_softmax");
    CHECK(row["n"] == 64);
    CHECK(row["d_model"] == 512);
    CHECK(row["heads"] == 8);
    CHECK(row["causal"] == true);
    CHECK(row["wall_ms"] == 2.0);
    CHECK(row["gpu_ms"].is_null());  // the device has no timestamps
    CHECK(row["gflops"].is_null());
    CHECK(row["driver"] == "a driver");
    CHECK(row["dispatches"] == 1);
    CHECK(row["device_bytes"].is_null());

    device.timestamp_period_ns = 1.0f;
    Result gemm{Operation::QkvGemm, {64, 512, 8}, {.wall_ms = 2.0, .gpu_ms = 1.5, .dispatches = 1}, "vec4", 7, 3};
    const nlohmann::json other = nlohmann::json::parse(json_row(gemm, device));
    CHECK(other["causal"] == false);
    CHECK(other["gpu_ms"] == 1.5);
    CHECK(other["gflops"].get<double>() == doctest::Approx(6.0 * 64 * 512 * 512 / 2e-3 * 1e-9));
    CHECK(other["device_bytes"] == 7);
    CHECK(other["state_bytes"] == 3);
  }

  TEST_CASE("help, manual page and completions name every flag, and help every operation") {
    const Outcome help = run_bench({"--help"});
    CHECK(help.status == 0);
    CHECK(help.out.find("Usage: headlight-bench [FLAG VALUE]...") != std::string::npos);
    for (const Operation operation : operations())
      CHECK(help.out.find(fmt::format("  {:<20} ", to_string(operation))) != std::string::npos);
    const TemporaryDirectory folder;
    REQUIRE(run_headlight({folder.path().string()}, "", "", HEADLIGHT_MANUAL).status == 0);
    const std::string page = read_file(folder.path() / "man/man1/headlight-bench.1");
    const std::string bash = read_file(folder.path() / "bash-completion/completions/headlight-bench");
    const std::string zsh = read_file(folder.path() / "zsh/vendor-completions/_headlight-bench");
    const std::string fish = read_file(folder.path() / "fish/vendor_completions.d/headlight-bench.fish");
    CHECK(bash.find("complete -F _headlight_bench headlight-bench\n") != std::string::npos);
    CHECK(zsh.starts_with("#compdef headlight-bench\n"));
    CHECK(fish.find("__fish_seen_subcommand_from") == std::string::npos);  // it has no commands
    for (const std::string flag : {"ops", "head-grid", "roofline", "check", "device", "version"}) {
      CAPTURE(flag);
      CHECK(help.out.find("--" + flag) != std::string::npos);
      CHECK(page.find("\\-\\-" + std::regex_replace(flag, std::regex("-"), "\\-")) != std::string::npos);
      CHECK(bash.find("--" + flag) != std::string::npos);
      CHECK(zsh.find("'*--" + flag + "[") != std::string::npos);
      CHECK(fish.find(" -l " + flag + " ") != std::string::npos);
    }
  }

  TEST_CASE("what bench refuses, each in one line") {
    const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
      const Outcome outcome = run_bench(arguments);
      CAPTURE(outcome.err);
      CHECK(outcome.status == 2);
      CHECK(outcome.out.empty());
      CHECK(outcome.err.starts_with("headlight-bench: "));
      CHECK(outcome.err.find(message) != std::string::npos);
      CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
    };
    refused({"--ops", "qkv_gem"}, "did you mean qkv_gemm?");
    refused({"--n", "0"}, "--n: expected a whole number from 1 to 32768");
    refused({"--n", "16,,64"}, "has an empty name in it");
    refused({"--d-model", "512", "--heads", "7"}, "7 heads don't divide a d_model of 512");
    refused({"--d-model", "512,768", "--heads", "8"}, "they go in pairs");
    refused({"--format", "xml"}, "choose among table, json");
    refused({"--rounds", "0"}, "--rounds: expected a whole number");
    refused({"--viewer", "--head-grid", "12"}, "--head-grid: expected LAYERSxHEADS as in 12x12, found '12'");
    refused({"--viewer", "--head-grid", "12x65"}, "--head-grid: expected a whole number from 1 to 64");
    refused({"--hed-grid", "12x12"}, "unknown flag --hed-grid, did you mean --head-grid? (see headlight-bench --help)");
    refused({"quick"}, "'quick'");
    refused({"--head-grid", "12x12"}, "--head-grid goes with --viewer, and without --model");
  }
}

namespace {

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> rows;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    rows.push_back(nlohmann::json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return rows;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every operation is measured, and merging heads costs nothing") {
    gpu::Context context;
    ops::Kernels kernels(context);
    Cases cases;
    const Plan plan{.operations = {operations().begin(), operations().end()},
                    .sizes = {{.n = 17, .d_model = 24, .heads = 3}},
                    .rounds = {.count = 1}};
    run(kernels, {}, plan, cases.listener());
    REQUIRE(cases.measured.size() == operations().size());
    CHECK(cases.skipped.empty());
    for (std::size_t i = 0; i < cases.measured.size(); ++i) {
      const Result& result = cases.measured[i];
      CAPTURE(to_string(result.operation));
      CHECK(result.operation == operations()[i]);
      CHECK_FALSE(result.variant.empty());
      const bool is_merge = result.operation == Operation::HeadMerge;
      CHECK((result.timing.wall_ms > 0.0) == !is_merge);
      CHECK((result.timing.dispatches > 0) == !is_merge);
      CHECK(result.device_bytes.has_value() == (result.operation == Operation::Forward));
      if (result.device_bytes) CHECK(*result.state_bytes < *result.device_bytes);
    }
    CHECK(context.validation_messages().empty());
  }

  TEST_CASE("measuring leaves the tuning as it was") {
    gpu::Context context;
    ops::Kernels kernels(context);
    const ops::Tuning before = kernels.tuning();
    Cases cases;
    run(kernels, {},
        {.operations = {Operation::LinearNaive}, .sizes = {{.n = 1, .d_model = 8, .heads = 1}}, .rounds = {.count = 1}},
        cases.listener());
    CHECK(kernels.tuning() == before);
  }

  TEST_CASE("a case that would take too long is skipped, foretold from a shorter one") {
    gpu::Context context;
    ops::Kernels kernels(context);
    Cases cases;
    const Plan plan{.operations = {Operation::QkvGemm},
                    .sizes = {{.n = 8, .d_model = 32, .heads = 1}, {.n = 64, .d_model = 32, .heads = 1}},
                    .rounds = {.count = 1},
                    .longest_ms = 1e-6};
    run(kernels, {}, plan, cases.listener());
    REQUIRE(cases.measured.size() == 1);
    REQUIRE(cases.skipped.size() == 1);
    CHECK(cases.skipped[0].size.n == 64);
    // Eight times the arithmetic, a warm-up and a round.
    CHECK(cases.skipped[0].expected_ms == doctest::Approx(cases.measured[0].timing.wall_ms * 8 * 2));
  }

  TEST_CASE("the program prints one JSON object a line") {
    const Outcome outcome = run_bench(
        {"--ops", "qkv_gemm,forward", "--n", "5", "--d-model", "16", "--heads", "2", "--rounds", "1", "--format", "json"});
    REQUIRE(outcome.status == 0);
    const std::vector<nlohmann::json> rows = json_lines(outcome.out);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0]["op"] == "qkv_gemm");
    CHECK(rows[1]["op"] == "forward");
    CHECK(rows[1]["n"] == 5);
    CHECK(rows[1]["device_bytes"].is_number());
  }

  TEST_CASE("a roofline is drawn of what was measured and of loops that were measured with it") {
    const TemporaryDirectory folder;
    const std::string file = (folder.path() / "roofline.svg").string();
    const std::vector<std::string> measured = {
        "--ops",     "output_projection,masked_softmax", "--n", "16", "--d-model", "64", "--heads", "4", "--rounds", "1",
        "--roofline"};
    std::vector<std::string> with_file = measured;
    with_file.push_back(file);
    const Outcome outcome = run_bench(with_file);
    REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
    CHECK(outcome.out.find("1 operations in " + file) != std::string::npos);  // softmax counts no flops
    const std::string svg = read_file(file);
    for (const char* text :
         {"multiply-adds, shader: ", "copy, device: ", ">output_projection</text>", ">16\u00D764</text>"}) {
      CAPTURE(text);
      CHECK(svg.find(text) != std::string::npos);
    }
    std::vector<std::string> with_other = measured;
    with_other.emplace_back("roofline.jpg");
    CHECK(run_bench(with_other).err.find("name a file that ends in .svg, .pdf or .png") != std::string::npos);
  }

  TEST_CASE("the window is launched and typed into offscreen, and each keystroke's maps come to be seen") {
    const Outcome outcome = run_bench({"--viewer", "--rounds", "3", "--format", "json"});
    REQUIRE_MESSAGE(outcome.status == 0, outcome.err);
    const std::vector<nlohmann::json> rows = json_lines(outcome.out);
    REQUIRE(rows.size() > 4);
    CHECK(rows[0]["op"] == "launch");
    CHECK(rows[0]["all_maps_ms"] >= rows[0]["wall_ms"]);
    for (std::size_t i = 1; i < 4; ++i) {
      CHECK(rows[i]["op"] == "keystroke");
      CHECK(rows[i]["wall_ms"] >= rows[i]["map_ms"]);
      CHECK(rows[i]["map_ms"] >= rows[i]["run_ms"]);
      CHECK(rows[i]["drawn"] >= 1);
    }
    std::vector<nlohmann::json> experiments, frames;
    for (std::size_t i = 4; i < rows.size(); ++i) {
      const bool is_frame = rows[i]["op"].get<std::string>().starts_with("view-");
      (is_frame ? frames : experiments).push_back(rows[i]);
      CHECK(rows[i]["wall_ms"] > 0.0);
    }
    REQUIRE(experiments.size() == 20);
    for (std::size_t i = 0; i < experiments.size(); ++i) {
      CHECK(experiments[i]["op"] == (i < 10 ? "paint" : "knockouts"));
      CHECK(experiments[i]["n"] == 64);
      if (i >= 10) CHECK(experiments[i]["heads"] == 32);
    }
    REQUIRE(frames.size() > 10);
    CHECK(frames[0]["op"] == "view-head");
    for (const nlohmann::json& frame : frames) CHECK(frame["n"] == 128);
  }

  TEST_CASE("bench --model paints a cell in each of three layers, and those below are kept") {
    const RandomModel random(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "models/gpt2", 4, 4);
    const Outcome outcome =
        run_bench({"--model", random.folder().string(), "--n", "8", "--rounds", "1", "--format", "json"});
    REQUIRE(outcome.status == 0);
    std::map<std::string, nlohmann::json> rows;
    for (const nlohmann::json& row : json_lines(outcome.out)) rows[row["op"].get<std::string>()] = row;
    for (const char* op : {"model_forward", "model_append", "model_paint_0", "model_paint_2", "model_paint_3",
                           "model_load_with_map", "model_first_map"}) {
      REQUIRE(rows.contains(op));
      CHECK(rows[op]["wall_ms"] > 0.0);
    }
    CHECK(rows["model_first_map"]["wall_ms"] < rows["model_load_with_map"]["wall_ms"]);
    CHECK(rows["model_paint_0"]["dispatches"] == rows["model_forward"]["dispatches"]);
    CHECK(rows["model_paint_2"]["dispatches"] < rows["model_paint_0"]["dispatches"]);
    CHECK(rows["model_paint_3"]["dispatches"] < rows["model_paint_2"]["dispatches"]);
  }

  TEST_CASE("a random model has the layers and heads that were asked for, and leaves no files") {
    const std::filesystem::path like = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "models/gpt2";
    std::filesystem::path folder;
    {
      const RandomModel random(like, 3, 5);
      folder = random.folder();
      const auto model = inference::open_model(folder);
      CHECK(model->description.layers == 3);
      CHECK(model->network->blocks().size() == 3);
      CHECK(model->network->layer(model->network->blocks().front()).config.heads == 5);
    }
    CHECK_FALSE(std::filesystem::exists(folder));
    CHECK_THROWS_AS(RandomModel(folder, 1, 1), Error);
  }
}

}  // namespace headlight::bench
