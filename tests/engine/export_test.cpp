// Figures, tables and records of an export, and what is refused.
#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/figures/plan.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/state/mask_json.h"
#include "core/error.h"
#include "core/file.h"
#include "engine/evaluate.h"
#include "engine/fake_runner.h"
#include "engine/reference_runner.h"
#include "engine/small_export.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/temporary_directory.h"

namespace export_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
namespace fs = std::filesystem;

namespace {

/// Returns the names that the dialog would have announced for the last run.
std::vector<std::string> told_names(const Exporter& exporter, const ExportOptions& options) {
  const inference::Run& run = *exporter.runner.newest;
  const std::vector<ExportBlocks> blocks = select_blocks(run, *run.inputs().network, options);
  return plan_export(options, blocks, *run.inputs().network, run.inputs().input).names(options);
}

/// Sorted.
std::vector<std::string> names_of(const ExportReport& report) {
  std::vector<std::string> names;
  for (const fs::path& file : report.files) names.push_back(file.filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("layers that nothing is written of aren't computed, and the others' numbers and names are the same") {
    Exporter exporter;
    ReferenceRunner reference;
    ExportOptions options = small_options(exporter.directory.path() / "whole");
    options.stages = {Stage::Weights, Stage::Output};
    options.formats = {ExportFormat::Csv};
    run_export(reference, options);
    options.layers = IndexSet(0);
    options.directory = exporter.path("first");
    const ExportReport report = run_export(reference, options);
    CHECK(report.files.size() == 2 * 3 + 2 + 1);
    for (const fs::path& file : report.files) {
      CAPTURE(file.filename().string());
      if (file.extension() == ".csv") CHECK(read_file(file) == read_file(exporter.path("whole") / file.filename()));
    }
    const auto computed = [&] {
      run_export(exporter.runner, options);
      return exporter.runner.newest->inputs().network->layers;
    };
    const auto first = computed();
    CHECK(first->encoder.size() == 1);
    CHECK_FALSE(first->encoder.front().feed_forward);
    CHECK_FALSE(first->unembedding);
    for (const char* name : {"gpt2", "bert", "gpt_neox", "gemma2", "opt-post-norm"}) {  // MLPs of all kinds
      CAPTURE(name);
      ExportOptions of_model = options;
      State state;
      select_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/" + name, {});
      state.model().ids = {{5, 9, 2, 7}};
      of_model.inputs = run_inputs(state);
      run_export(exporter.runner, of_model);
      CHECK(exporter.runner.newest->inputs().network->layers->encoder.size() == 1);
    }
    options.formats = {ExportFormat::Svg};
    options.views = {&kMetricsFigure};  // of all layers
    CHECK(computed()->encoder.size() == 2);
    options.views = {&kHeadFigure};
    CHECK(computed()->encoder.size() == 1);
    options.formats = {ExportFormat::Npy};
    options.hidden = true;
    static_cast<void>(test::error_message([&] { computed(); }));  // the fake has no such numbers
    CHECK(exporter.runner.newest->inputs().network->layers->encoder.size() == 2);
  }

  TEST_CASE("a sheet that no image has room for is refused before anything is computed, with what makes it smaller") {
    Exporter exporter;
    State state;
    state.text() = "one two three";
    state.playground().settings.d_model = 64;
    state.playground().settings.heads = 64;
    state.playground().settings.layers = 6;
    ExportOptions options;
    options.inputs = run_inputs(state);
    options.formats = {ExportFormat::Png};
    options.views = {&kGridFigure};
    options.directory = exporter.directory.path();
    options.set(kFigureLook.dpi, kMaxDpi);
    const std::string why = exporter.refusal(options);
    CAPTURE(why);
    CHECK(why.find("--dpi ") != std::string::npos);
    CHECK(why.find("--layers") != std::string::npos);
    CHECK(exporter.log->runs == 0);
    CHECK(exporter.file_count() == 0);
    options.set(kFigureLook.dpi, 96);
    options.layers = IndexSet(3);
    CHECK(run_export(exporter.runner, options).files.size() == 2);
  }

  TEST_CASE("a selection that doesn't exist says what does") {
    Exporter exporter;
    const auto refusal = [&](auto change) {
      ExportOptions options = small_options(exporter.directory.path() / "never made");
      change(options);
      return exporter.refusal(options);
    };
    CHECK(refusal([](ExportOptions& o) { o.heads = IndexSet(3); }) == "--head 3: there are heads 0 to 2");
    CHECK(refusal([](ExportOptions& o) { o.layers = IndexSet(9); }) == "--layer 9: there are layers 0 to 1");
    CHECK(refusal([](ExportOptions& o) { o.batch = 2; }) == "--batch 2: there are batch items 0 to 1");
    CHECK(refusal([](ExportOptions& o) { o.kind = model::BlockKind::Cross; }) ==
          "--block cross: there is no such attention here; it is encoder");
    CHECK(exporter.file_count() == 0);
  }

  TEST_CASE("CSV has a file for each matrix, with tokens along it") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Csv};
    options.layers = IndexSet(0);
    options.batch = 1;
    const ExportReport report = run_export(exporter.runner, options);
    CHECK(report.files.size() == 4);
    const std::string csv = read_file(exporter.path("layer-00_batch-1_head-02_weights.csv"));
    CHECK(csv.starts_with("query/key,four,\"\"\"five\"\"\",<pad>\nfour,1200,1200.01,1200.02\n"));
  }

  TEST_CASE("figures: one a map, a sheet of all heads, and names that were told beforehand") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Png, ExportFormat::Svg};
    options.stages = {Stage::Weights, Stage::Merged};
    options.batch = 0;
    const ExportReport report = run_export(exporter.runner, options);
    const std::vector<std::string> written = names_of(report);
    CHECK(written == told_names(exporter, options));
    CHECK(written.size() == 2 * 2 * (3 + 1 + 1) + 1);
    CHECK(read_file(exporter.path("layer-00_batch-0_heads.png")).starts_with("\x89PNG"));
    const std::string svg = read_file(exporter.path("layer-01_batch-0_head-02_weights.svg"));
    CHECK(svg.find("layer 1, head 2") != std::string::npos);
    CHECK(svg.find("two") != std::string::npos);
  }

  TEST_CASE("a figure of a padded line shows its own tokens; arrays and tables keep the padding") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Svg, ExportFormat::Csv};
    options.stages = {Stage::Q, Stage::K, Stage::Weights};
    options.views = {&kHeadFigure, &kHeadsFigure, &kGridFigure};
    const ExportReport report = run_export(exporter.runner, options);
    std::size_t of_short_line = 0, of_long_line = 0;
    for (const fs::path& file : report.files) {
      if (file.extension() != ".svg") continue;
      CAPTURE(file);
      CHECK(read_file(file).find("pad&gt;") == std::string::npos);
      ++(file.filename().string().find("batch-1") != std::string::npos ? of_short_line : of_long_line);
    }
    CHECK(of_short_line > 10);
    CHECK(of_long_line == of_short_line);
    CHECK(read_file(exporter.path("layer-00_batch-1_head-02_weights.csv")).find("<pad>") != std::string::npos);

    // The cells of the two tokens that "four five" has, with padding on either side.
    const auto& run = *exporter.runner.newest;
    const std::vector<ExportBlocks> blocks = select_blocks(run, *run.inputs().network, options);
    CHECK(extent_of(blocks.front(), Stage::Weights).rows == 3);
    for (const std::uint32_t start : {0u, 1u}) {
      model::ModelInput input = run.inputs().input;
      input.source.starts = {0, start};
      const ExportBlocks own = without_padding(blocks.front(), input, 1);
      for (const Stage stage : {Stage::Weights, Stage::Q, Stage::K}) {
        CHECK(extent_of(own, stage).rows == 2);
        const TileQuery drawn = selected_matrix(own, own.layers.front(), stage, 1, 0);
        CHECK(drawn.row == start);
        CHECK(drawn.column == (stage == Stage::Weights ? start : 0));
      }
      CHECK(extent_of(own, Stage::Weights).columns == 2);
      CHECK(matrix_axes(input, own, {.block = own.layers.front(), .batch = 1, .stage = Stage::Q}).rows.size() == 2);
      CHECK(extent_of(without_padding(blocks.front(), input, 0), Stage::Q).rows == 3);
    }
  }

  TEST_CASE("means have files of their own, with the names that were told beforehand") {
    for (const HeadMean mean : {HeadMean::Layer, HeadMean::Kind}) {
      Exporter exporter;
      ExportOptions options = small_options(exporter.directory.path());
      options.formats = {ExportFormat::Csv, ExportFormat::Npy, ExportFormat::Svg};
      options.stages = {Stage::Weights, Stage::Merged};
      options.mean = mean;
      const ExportReport report = run_export(exporter.runner, options);
      CHECK(report.notes == std::vector<std::string>{"merged is left out: only weights have a mean over heads"});
      const std::vector<std::string> written = names_of(report);
      CHECK(written == told_names(exporter, options));
      const std::uint32_t layers = mean == HeadMean::Layer ? 2 : 1;
      CHECK(written.size() == layers * 2 * 2 + 1 + 1);
      CHECK(exporter.npy("weights.npy").shape == Shape{layers, 2, 3, 3});
      CHECK(exporter.json("run.json")["selection"]["mean"] == (mean == HeadMean::Layer ? "layer" : "all"));
      const std::string name = mean == HeadMean::Layer ? "layer-01_batch-1_mean_weights" : "batch-1_mean_weights";
      const std::string svg = read_file(exporter.path(name + ".svg"));
      CHECK(svg.find(mean == HeadMean::Layer ? "layer 1, mean of 3 heads" : "mean of all 6 heads") != std::string::npos);
    }
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.mean = HeadMean::Kind;
    options.layers = IndexSet(1);
    CHECK(exporter.refusal(options) == "--mean all is over all layers: leave out --layer");
    options.layers.reset();
    options.heads = IndexSet(1);
    CHECK(exporter.refusal(options) == "--mean is over all heads: leave out --head");
  }

  TEST_CASE("weights as norms have names of their own, in every format") {
    for (const HeadMean mean : {HeadMean::None, HeadMean::Layer}) {
      Exporter exporter;
      ExportOptions options = small_options(exporter.directory.path());
      options.formats = {ExportFormat::Npy, ExportFormat::Csv, ExportFormat::Svg, ExportFormat::Png, ExportFormat::Tiles};
      options.weighs_values = true;
      options.mean = mean;
      options.batch = 1;
      const std::vector<std::string> written = names_of(run_export(exporter.runner, options));
      CHECK(written == told_names(exporter, options));
      const bool is_mean = mean == HeadMean::Layer;
      const TileQuery query{.quantity = is_mean ? kNormsOfLayer : kNorms,
                            .block = {.kind = model::BlockKind::EncoderSelf, .layer = {1}},
                            .batch = 1,
                            .head = is_mean ? 0U : 2U,
                            .rows = 3,
                            .columns = 3};
      const attention::Tile tile = app::evaluate({.run = *exporter.runner.newest}, query);
      const Tensor norms = exporter.npy("norms.npy");
      CHECK((is_mean ? norms.at({1, 0, 1, 2}) : norms.at({1, 0, 2, 1, 2})) == tile.at(1, 2));
      CHECK(tile.at(1, 2) > 0.0F);
      const std::string name = is_mean ? "layer-01_batch-1_mean_norms" : "layer-01_batch-1_head-02_norms";
      CHECK(read_file(exporter.path(name + ".svg")).find("norms ‖α·v·W_O‖") != std::string::npos);
      const nlohmann::json tiles = exporter.json(name + ".tiles/index.json");
      CHECK(tiles["low"] == 0.0F);
      CHECK(tiles["high"].get<float>() == *std::ranges::max_element(tile.values));
      CHECK(exporter.json("run.json")["selection"]["norms"] == true);
    }
  }

  TEST_CASE("a part of every map, with its tokens, in each format; other stages are whole") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Npy, ExportFormat::Csv, ExportFormat::Svg};
    options.stages = {Stage::Weights, Stage::Q};
    options.queries = IndexRange{.first = 1, .end = 3};
    options.keys = IndexRange{.first = 2, .end = 3};
    options.batch = 0;
    run_export(exporter.runner, options);
    const Tensor weights = exporter.npy("weights.npy");
    REQUIRE(weights.shape == Shape{2, 1, 3, 2, 1});
    CHECK(weights.at({1, 0, 2, 0, 0}) == exporter.runner.newest->value(2, 1, 2));
    CHECK(exporter.npy("q.npy").shape == Shape{2, 1, 3, 3, 2});
    const std::string csv = read_file(exporter.path("layer-00_batch-0_head-02_weights.csv"));
    CHECK(csv == "query/key,three\ntwo,1201.02\nthree,1202.02\n");
    const std::string svg = read_file(exporter.path("layer-00_batch-0_head-02_weights.svg"));
    CHECK(svg.find("three") != std::string::npos);
    CHECK(svg.find(">one<") == std::string::npos);
    CHECK(exporter.json("run.json")["selection"]["queries"] == nlohmann::json::parse("[[1, 3]]"));
    for (const IndexRange wrong : {IndexRange{2, 2}, {0, 4}, {3, 1}}) {
      options.queries = wrong;
      CHECK(exporter.refusal(options).find("there are queries 0 to 2") != std::string::npos);
    }
  }

  TEST_CASE("a map as tiles: a pixel for each cell, with an index, one tile in memory at a time") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    State state;
    for (int i = 0; i < 1'100; ++i) state.text() += " w" + std::to_string(i % 7);
    state.playground().settings.d_model = 6;
    state.playground().settings.heads = 3;
    options.inputs = run_inputs(state);
    options.formats = {ExportFormat::Tiles};
    options.stages = {Stage::Weights, Stage::Q};
    options.layers = IndexSet(0);
    options.heads = IndexSet(1);
    double largest_share = 0.0;
    const ExportReport report = run_export(exporter.runner, options, [&](const ExportProgress& progress) {
      largest_share = std::max(largest_share, progress.share);
      return true;
    });
    CHECK(names_of(report) == told_names(exporter, options));
    CHECK(exporter.log->largest <= std::size_t{1024} * 1024);
    CHECK(largest_share > 0.5);
    CHECK(largest_share <= 1.0);
    const nlohmann::json index = exporter.json("layer-00_batch-0_head-01_weights.tiles/index.json");
    const std::uint32_t tokens = exporter.runner.newest->shape({}).queries;
    CHECK(index["queries"] == tokens);
    CHECK(index["edge"] == 1024);
    CHECK(index["low"] == 0.0);
    CHECK(index["tiles"].size() == 4);
    CHECK(index["tiles"][3]["file"] == "y001_x001.png");
    CHECK(index["tiles"][3]["x"] == 1024);
    const std::string last = read_file(exporter.path("layer-00_batch-0_head-01_weights.tiles/y001_x001.png"));
    REQUIRE(last.starts_with("\x89PNG"));
    const auto side = [&](std::size_t at) {  // big-endian in the header
      return static_cast<std::uint32_t>(static_cast<unsigned char>(last[at + 2])) << 8 |
             static_cast<std::uint32_t>(static_cast<unsigned char>(last[at + 3]));
    };
    CHECK(side(16) == tokens - 1024);
    CHECK(side(20) == tokens - 1024);
  }

  TEST_CASE("run.json tells where the numbers come from") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    attention::MaskSpec& mask = options.inputs.masks[model::BlockKind::EncoderSelf];
    mask.rule.causal = true;
    mask.fill = attention::MaskFill::MinusOneBillion;
    mask.painted[{.layer = {}, .batch = {}, .head = 2}].paint({0, 2}, true);
    mask.biases[{.layer = 1, .batch = {}, .head = {}}].paint({2, 1}, 0.5F);
    mask.matrix = attention::BooleanMask{1, 1, 3, 3, {1, 0, 1, 1, 1, 1, 1, 1, 0}};
    run_export(exporter.runner, options);
    const nlohmann::json run = exporter.json("run.json");
    CHECK(mask_from_json(run["masks"]["encoder"], "masks.encoder") == mask);  // as sessions have it
    CHECK(run["masks"]["encoder"]["matrix"] == nlohmann::json::parse(R"({"shape":[1,1,3,3],"rows":["101","111","110"]})"));
    CHECK(run["masks"]["encoder"]["painted"] ==
          nlohmann::json::parse(R"([{"layer":null,"batch":null,"head":2,"cells":[[0,2,true]]}])"));
    CHECK_FALSE(run["masks"].contains("cross"));
    CHECK_FALSE(run.contains("target_tokens"));
    CHECK_FALSE(run.contains("view"));
    CHECK(run["device"] == "fake");
    CHECK(run["model"]["heads"] == 3);
    CHECK(run["model"]["text"] == std::get<Playground>(options.inputs.source).text);
    CHECK(run["tokens"]["lengths"] == nlohmann::json({3, 2}));
    CHECK(run["tokens"]["texts"][1][2] == "<pad>");
    CHECK(run["masks"]["encoder"]["rule"] == "causal");
    CHECK(run["stages"][0]["file"] == "weights.npy");
    CHECK(run["stages"][0]["axes"] == nlohmann::json({"layer", "batch", "head", "query", "key"}));
    CHECK(run["model"]["attention"]["encoder"]["scale"].get<float>() == doctest::Approx(0.70710678f));
  }

  TEST_CASE("a stage that the network doesn't have is left out with a note, and alone it is an error") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    std::get<Playground>(options.inputs.source).settings.output_projection = false;
    options.stages = {Stage::Output, Stage::Weights};
    options.logits = true;
    const ExportReport report = run_export(exporter.runner, options);
    REQUIRE(report.notes.size() == 2);
    CHECK(report.notes[0] == "output is left out: there is no output projection");
    CHECK(report.notes[1] == "logits is left out: this network has none");
    CHECK(exporter.json("run.json")["selection"]["notes"].size() == 2);
    options.stages = {Stage::Output};
    CHECK(exporter.refusal(options).find("there is nothing to write: output") == 0);
  }

  TEST_CASE("the encoder-decoder's files begin with the kind of attention") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.inputs.source = Notebook{"notebook-002"};
    run_export(exporter.runner, options);
    for (const char* name : {"encoder_weights.npy", "decoder_weights.npy", "cross_weights.npy"}) {
      CHECK(fs::exists(exporter.path(name)));
    }
    CHECK(exporter.json("run.json")["masks"].size() == 3);
    CHECK(exporter.json("run.json")["target_tokens"]["length"] == exporter.runner.newest->inputs().input.target->length);
  }

  TEST_CASE("progress counts files, and an observer can stop the export") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.stages = {Stage::Q, Stage::K, Stage::V};
    std::vector<std::string> seen;
    run_export(exporter.runner, options, [&](const ExportProgress& progress) {
      CHECK(progress.total == 4);
      if (seen.empty() || seen.back() != progress.file) seen.push_back(progress.file);
      CHECK(progress.done + 1 == seen.size());
      return true;
    });
    CHECK(seen == std::vector<std::string>{"q.npy", "k.npy", "v.npy", "run.json"});

    const TemporaryDirectory other;
    options.directory = other.path();
    const auto stop_at_k = [](const ExportProgress& progress) { return progress.file != "k.npy"; };
    CHECK(test::error_message([&] { run_export(exporter.runner, options, stop_at_k); }) == "cancelled after 1 of 4 files");
    CHECK(fs::exists(other.path() / "q.npy"));
    CHECK(std::distance(fs::directory_iterator(other.path()), fs::directory_iterator()) == 1);
  }

  TEST_CASE("a folder that can't be written is one line") {
    Exporter exporter;
    const ExportOptions options = small_options("/proc/headlight");
    CHECK(exporter.refusal(options).find("/proc/headlight") != std::string::npos);
  }
}

}  // namespace export_test
