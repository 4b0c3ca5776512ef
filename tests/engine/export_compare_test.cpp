// Exports of two runs: every number is the one's minus the other's, and run.json has both.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/state/comparison.h"
#include "app/state/session_file.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "engine/reference_runner.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace export_compare_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
namespace fs = std::filesystem;

namespace {

State small_state(const std::string& text) {
  State state;
  state.text() = text;
  state.playground().settings.d_model = 6;
  state.playground().settings.heads = 3;
  return state;
}

/// Exports into a folder of its own name, on the reference.
struct ComparedExport {
  TemporaryDirectory directory;
  ReferenceRunner runner;

  ExportOptions options(const State& state, const std::string& folder) const {
    ExportOptions options;
    options.inputs = run_inputs(state);
    options.stages = {Stage::Q, Stage::Masked, Stage::Weights, Stage::Output};
    options.hidden = true;
    options.formats = {ExportFormat::Npy};
    options.directory = directory.path() / folder;
    return options;
  }
  Tensor npy(const std::string& name) const { return files::decode_npy(read_file(directory.path() / name)); }
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every number of a compared export is one run's minus the other's, bit for bit") {
    ComparedExport work;
    const State now = small_state("one two three"), then = small_state("one two four");
    run_export(work.runner, work.options(now, "now"));
    run_export(work.runner, work.options(then, "then"));
    ExportOptions compared = work.options(now, "both");
    compared.baseline = make_baseline(then);
    const ExportReport report = run_export(work.runner, compared);
    CHECK(report.notes.empty());
    for (const std::string name : {"q", "masked", "weights", "output", "encoder_output"}) {
      CAPTURE(name);
      const Tensor left = work.npy("now/" + name + ".npy"), right = work.npy("then/" + name + ".npy"),
                   difference = work.npy("both/difference_" + name + ".npy");
      REQUIRE(difference.shape == left.shape);
      bool differs = false;
      for (std::size_t i = 0; i < left.values.size(); ++i) {
        CHECK(difference.values[i] == left.values[i] - right.values[i]);
        differs = differs || difference.values[i] != 0.0F;
      }
      CHECK(differs);
    }
    const auto record = nlohmann::json::parse(read_file(work.directory.path() / "both/run.json"));
    CHECK(record["model"]["text"] == "one two three");
    CHECK(record["minus"]["name"] == "as trained");
    CHECK(record["minus"]["model"]["text"] == "one two four");
    CHECK(record["minus"]["tokens"]["texts"][0][2] == "four");
    CHECK(record["minus"]["masks"]["encoder"]["rule"] == "none");
    CHECK(record["stages"][2]["stage"] == "difference_weights");
    CHECK_FALSE(nlohmann::json::parse(read_file(work.directory.path() / "now/run.json")).contains("minus"));
  }

  TEST_CASE("with another run beside it numbers stay the run's own, and pairs alone show both") {
    ComparedExport work;
    const State now = small_state("one two three"), then = small_state("one two four");
    ExportOptions options = work.options(now, "now");
    options.layers = options.heads = IndexSet(1);
    options.formats = {ExportFormat::Npy, ExportFormat::Svg};
    options.views = {&kTextFigure, &kHeadFigure};
    run_export(work.runner, options);
    ExportOptions beside = options;
    beside.directory = work.directory.path() / "beside";
    beside.baseline = make_baseline(then);
    beside.writes_differences = false;
    beside.views.push_back(&kPairFigure);
    const ExportReport report = run_export(work.runner, beside);
    CHECK(report.notes.empty());
    CHECK(report.files.size() == 5 + 1 + 4 + 1 + 1);  // arrays, a text, matrices, the pair, run.json
    for (const auto& entry : fs::directory_iterator(options.directory)) {
      const fs::path name = entry.path().filename();
      if (name == "run.json") continue;
      CAPTURE(name.string());
      CHECK(read_file(beside.directory / name) == read_file(entry.path()));
    }
    const std::string pair = read_file(beside.directory / "layer-01_batch-0_head-01_side_by_side.svg");
    CHECK(pair.find(">three<") != std::string::npos);
    CHECK(pair.find(">four<") != std::string::npos);
    const auto record = nlohmann::json::parse(read_file(beside.directory / "run.json"));
    CHECK_FALSE(record.contains("minus"));
    CHECK(record["selection"]["beside"]["tokens"]["texts"][0][2] == "four");
  }

  TEST_CASE("a pair whose other text has another length shows that by the run's positions") {
    ComparedExport work;
    ExportOptions options = work.options(small_state("one two three four"), "pair");
    options.layers = options.heads = IndexSet(1);
    options.formats = {ExportFormat::Svg};
    options.views = {&kPairFigure};
    options.baseline = make_baseline(small_state("one two"));
    options.writes_differences = false;
    const std::string pair = read_file(run_export(work.runner, options).files.front());
    CHECK(pair.find(">four<") != std::string::npos);
    const auto record = nlohmann::json::parse(read_file(work.directory.path() / "pair/run.json"));
    CHECK(record["selection"]["beside"]["tokens"]["texts"][0].size() == 2);
  }

  TEST_CASE("figures, tables, tiles and means of differences are written under their own names, as they are told") {
    ComparedExport work;
    const State now = small_state("one two three");
    State then = now;
    then.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    then.gains[{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1}] = 0.0F;
    ExportOptions options = work.options(now, "figures");
    options.hidden = false;
    options.stages = {Stage::Weights};
    options.layers = 1;
    options.heads = 2;
    options.formats = {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Csv, ExportFormat::Tiles};
    options.baseline = make_baseline(then);
    const ExportReport report = run_export(work.runner, options);
    for (const char* extension : {"png", "svg", "csv", "tiles"}) {
      CAPTURE(extension);
      CHECK(fs::exists(options.directory / (std::string("layer-01_batch-0_head-02_difference_weights.") + extension)));
    }
    const std::string figure = read_file(options.directory / "layer-01_batch-0_head-02_difference_weights.svg");
    CHECK(figure.find("difference of attention weights") != std::string::npos);
    for (const char* word : {"minus", "causal", "knocked"}) {  // which are wrapped
      CAPTURE(word);
      CHECK(figure.find(word) != std::string::npos);
    }
    const auto index =
        nlohmann::json::parse(read_file(options.directory / "layer-01_batch-0_head-02_difference_weights.tiles/index.json"));
    CHECK(index["stage"] == "difference-weights");
    CHECK(index["low"].get<float>() == -index["high"].get<float>());
    CHECK(index["high"].get<float>() > 0.0F);
    const auto record = nlohmann::json::parse(read_file(options.directory / "run.json"));
    CHECK(record["minus"]["masks"]["encoder"]["rule"] == "causal");
    CHECK(record["minus"]["model"]["gains"][0]["gain"] == 0.0F);

    options = work.options(now, "means");
    options.hidden = false;
    options.stages = {Stage::Weights};
    options.mean = HeadMean::Layer;
    options.baseline = make_baseline(then);
    run_export(work.runner, options);
    CHECK(work.npy("means/difference_weights.npy").shape == Shape{2, 1, 3, 3});
    options.formats = {ExportFormat::Png};
    const ExportReport means = run_export(work.runner, options);
    CHECK(means.files.front().filename() == "layer-00_batch-0_mean_difference_weights.png");
  }

  TEST_CASE("a figure of a difference is made again from what it carries, and not without its baseline") {
    ComparedExport work;
    State now = small_state("one two three");
    now.compare.baseline = make_baseline(small_state("one two four"));
    ExportOptions options = work.options(now, "first");
    options.hidden = false;
    options.stages = {Stage::Weights};
    options.formats = {ExportFormat::Svg};
    options.baseline = *now.compare.baseline;
    options.session = to_text(to_json(now), -1);
    const fs::path file = run_export(work.runner, options).files.front();
    const std::optional<nlohmann::json> figure = load_figure(file);
    const Result<State> state = load_session(file);
    REQUIRE(figure.has_value());
    REQUIRE(state);
    ExportOptions again = options_of_figure(*figure, state->compare.baseline);
    again.inputs = run_inputs(*state);
    again.session = to_text(to_json(*state), -1);
    again.formats = {ExportFormat::Svg};
    again.directory = work.directory.path() / "again";
    CHECK(read_file(run_export(work.runner, again).files.front()) == read_file(file));
    CHECK(test::error_message([&] { static_cast<void>(options_of_figure(*figure)); }) ==
          "the figure shows a difference, but its session has no baseline");
  }

  TEST_CASE("one file holds the differences of all arrays; a page holds none and says so") {
    ComparedExport work;
    ExportOptions options = work.options(small_state("one two three"), "both");
    options.baseline = make_baseline(small_state("one two four"));
    options.formats = {ExportFormat::Npy, ExportFormat::Npz, ExportFormat::Html};
    const ExportReport report = run_export(work.runner, options);
    REQUIRE(report.notes.size() == 1);
    CHECK(report.notes.front().find("no means or differences") != std::string::npos);
    CHECK_FALSE(fs::exists(options.directory / "attention.html"));
    const std::string archive = read_file(options.directory / "numbers.npz");  // stored, not compressed
    for (const std::string name : {"q", "masked", "weights", "output", "encoder_output"}) {
      CAPTURE(name);
      const std::string array = read_file(options.directory / ("difference_" + name + ".npy"));
      CHECK(archive.find("difference_" + name + ".npy") != std::string::npos);
      CHECK(archive.find(array) != std::string::npos);
    }
  }

  TEST_CASE("runs that can't be compared are refused in one line, and nothing is written") {
    ComparedExport work;
    ExportOptions options = work.options(small_state("one two three"), "never");
    options.baseline = make_baseline(small_state("one two\nthree"));
    CHECK(test::error_message([&] { run_export(work.runner, options); }) ==
          "the runs can't be compared: the baseline has 2 × 2 queries and 2 keys, this run 1 × 3 and 3");
    State model = small_state("");
    change_to_model(model, "/nowhere/model");
    options.baseline = make_baseline(model);
    CHECK(test::error_message([&] { run_export(work.runner, options); }) ==
          "the runs can't be compared: the baseline is of a model, this one isn't");
    CHECK_FALSE(fs::exists(options.directory));
  }
}

}  // namespace export_compare_test
