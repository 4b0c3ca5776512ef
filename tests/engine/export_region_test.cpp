// A part of every map: how it is typed, how much it is before it is written, and how a long export ends early.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "app/engine/runner.h"
#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/figures/plan.h"
#include "app/state/comparison.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "engine/fake_runner.h"
#include "engine/reference_runner.h"
#include "engine/small_export.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace export_region_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
namespace fs = std::filesystem;

namespace {

/// One head of `tokens` tokens.
ExportOptions long_options(const fs::path& folder, int tokens) {
  ExportOptions options = small_options(folder);
  std::string& text = std::get<Playground>(options.inputs.source).text;
  text.clear();
  for (int i = 0; i < tokens; ++i) text += "w" + std::to_string(i % 7) + " ";
  options.layers = options.heads = IndexSet(0);
  return options;
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename() != "run.json") bytes += entry.file_size();
  }
  return bytes;
}

struct Told {
  std::uint64_t numbers = 0, bytes = 0;
};
Told told_size(const FakeRunner& runner, const ExportOptions& options) {
  const inference::Run& run = *runner.newest;
  const model::Network& network = *run.inputs().network;
  const std::vector<ExportBlocks> blocks = select_blocks(run, network, options);
  const ExportPlan plan = plan_export(options, blocks, network, run.inputs().input);
  return {.numbers = plan.numbers, .bytes = plan.bytes()};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a part of an axis is typed as two numbers, and is refused where the axis ends before it") {
    CHECK(parse_index_range("--queries", "10:20") == IndexRange{.first = 10, .end = 20});
    CHECK(test::error_message([] { static_cast<void>(parse_index_range("queries", "10-20")); }) ==
          "queries: expected FIRST:END as in 0:1000, found '10-20'");
    CHECK(test::error_message([] { static_cast<void>(parse_index_range("keys", "a:20")); }).starts_with("keys"));
    CHECK(part_complaint({.first = 0, .end = 6}, "keys", 6).empty());
    const std::string complaint = ": there are keys 0 to 5; the second number is one past the last that is written";
    CHECK(part_complaint({.first = 0, .end = 7}, "keys", 6) == "0:7" + complaint);
    CHECK(part_complaint({.first = 9, .end = 10}, "keys", 6) == "9: there are keys 0 to 5");
    CHECK(part_complaint({.first = 3, .end = 3}, "keys", 6) == "3:3" + complaint);
  }

  TEST_CASE("what is told to be written is what is written: of npy to the byte, of text and images about") {
    const auto log = std::make_shared<FakeLog>();
    FakeRunner runner("fake", log);
    const TemporaryDirectory folder;
    ExportOptions options = long_options(folder.path(), 120);
    options.stages = {Stage::Q, Stage::Weights};
    options.queries = IndexRange{.first = 10, .end = 110};
    options.keys = IndexRange{.first = 0, .end = 50};
    run_export(runner, options);
    const Told size = told_size(runner, options);
    CHECK(size.numbers == 100 * 50 + 120 * runner.newest->shape({}).d_k);
    CHECK(size.bytes == bytes_in(folder.path()));

    ExportOptions other = options;
    for (const ExportFormat format : {ExportFormat::Csv, ExportFormat::Tiles, ExportFormat::Png}) {
      const TemporaryDirectory another;
      other.directory = another.path();
      other.formats = {format};
      run_export(runner, other);
      const double told = static_cast<double>(told_size(runner, other).bytes);
      CAPTURE(to_string(format));
      const double ratio = told / static_cast<double>(bytes_in(another.path()));
      CHECK(ratio >
            0.2);  // observed 1.2 to 3.1: numbers that tell their position are longer and more colourful than weights
      CHECK(ratio < 5.0);
    }
    other.formats = {ExportFormat::Csv};
    other.stages = {Stage::Weights};
    const std::uint64_t part = told_size(runner, other).numbers;
    other.queries = other.keys = std::nullopt;
    CHECK(told_size(runner, other).numbers == 120 * 120);
    CHECK(part == 100 * 50);
  }

  TEST_CASE("what is told of each kind of figure is about what its files have") {
    State state;
    for (int i = 0; i < 24; ++i) state.text() += " w" + std::to_string(i % 7);
    state.playground().settings.heads = 3;
    state.playground().settings.d_model = 24;
    State other = state;
    other.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    ReferenceRunner runner;
    for (const FigureKind* kind : figure_kinds().first(figure_kinds().size() - kFiguresOfViews)) {
      if (kind == &kPredictionsFigure) continue;  // a playground predicts nothing
      for (const ExportFormat format : {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Pdf}) {
        CAPTURE(kind->id);
        CAPTURE(to_string(format));
        const TemporaryDirectory folder;
        ExportOptions options;
        options.inputs = run_inputs(state);
        options.formats = {format};
        options.views = {kind};
        options.layers = 0;
        options.directory = folder.path();
        if (kind == &kPairFigure) options.baseline = make_baseline(other);
        options.writes_differences = false;
        RunSource sources(std::make_shared<ModelCache>());
        const RunSource::Source& source = sources.build(options.inputs);
        const std::shared_ptr<const inference::Run> run = compute_run(runner, source, options.inputs, nullptr);
        const std::vector<ExportBlocks> blocks = select_blocks(*run, *source.network, options);
        const double told = static_cast<double>(plan_export(options, blocks, *source.network, *source.input).bytes());
        run_export(runner, options);
        const double ratio = told / static_cast<double>(bytes_in(folder.path()));
        CAPTURE(ratio);
        CHECK(ratio > 0.3);  // observed 0.56 to 2.26
        CHECK(ratio < 4.0);
      }
    }
  }

  TEST_CASE("a page above 20 MB is written, and a note says how large it is and what to do") {
    FakeRunner runner("fake", std::make_shared<FakeLog>());
    const TemporaryDirectory folder;
    ExportOptions options = long_options(folder.path(), 1'700);
    options.heads.reset();
    options.layers.reset();
    options.formats = {ExportFormat::Html};
    const ExportReport report = run_export(runner, options);
    const std::uint64_t bytes = fs::file_size(folder.path() / "attention.html");
    CHECK(bytes > 20'000'000);
    REQUIRE(report.notes.size() == 1);
    CHECK(report.notes.front() == "attention.html has " + std::to_string(bytes / 1'000'000) +
                                      " MB, which browsers open slowly; choose fewer layers, heads or queries");
    options.layers = 0;
    CHECK(run_export(runner, options).notes.empty());
  }

  TEST_CASE("a whole head of a long text passes in strips, tells how far it is, and leaves nothing half written") {
    const auto log = std::make_shared<FakeLog>();
    FakeRunner runner("fake", log);
    constexpr int kTokens = 2'600;
    for (const ExportFormat format : {ExportFormat::Npy, ExportFormat::Tiles, ExportFormat::Png}) {
      CAPTURE(to_string(format));
      const TemporaryDirectory folder;
      ExportOptions options = long_options(folder.path(), kTokens);
      options.stages = {Stage::Scores};  // as tiles the colours' range takes a pass of its own
      options.formats = {format};
      log->largest = 0;
      std::vector<double> shares;
      run_export(runner, options, [&](const ExportProgress& progress) {
        if (progress.total > 0 && progress.done == 0) shares.push_back(progress.share);
        return true;
      });
      CHECK(log->largest <= 1 << 20);
      CHECK(std::ranges::is_sorted(shares));
      CHECK(shares.back() > 0.8);
      CHECK(shares.back() <= 1.0);
      CHECK(std::ranges::count_if(shares, [](double share) { return share > 0.0 && share < 1.0; }) >= 3);

      const TemporaryDirectory other;
      options.directory = other.path();
      const int before = log->evaluations;
      const std::string why = test::error_message(
          [&] { run_export(runner, options, [&](const ExportProgress& progress) { return progress.share < 0.3; }); });
      CHECK(why == "cancelled after 0 of 2 files");
      CHECK(log->evaluations > before);
      std::vector<std::string> left;
      for (const auto& entry : fs::recursive_directory_iterator(other.path())) {
        if (entry.is_regular_file()) left.push_back(entry.path().filename().string());
      }
      CHECK(left.empty());
    }
  }
}

}  // namespace export_region_test
