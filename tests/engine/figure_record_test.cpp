// Figures that are made again from what they carry.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/engine/runner.h"
#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/state/comparison.h"
#include "app/state/session_file.h"
#include "app/state/state_json.h"
#include "core/file.h"
#include "core/json.h"
#include "engine/fake_runner.h"
#include "engine/small_export.h"
#include "support/error_message.h"
#include "support/svg_words.h"
#include "support/temporary_directory.h"

namespace figure_record_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
namespace fs = std::filesystem;

namespace {

/// Exports, then makes every figure again from its file alone, and compares all bytes.
std::size_t compare_with_again(const ExportOptions& options, const fs::path& folder) {
  FakeRunner runner{"fake", std::make_shared<FakeLog>()};
  std::size_t compared = 0;
  for (const fs::path& file : run_export(runner, options).files) {
    if (!is_figure_path(file)) continue;
    INFO(file.string());
    const std::optional<nlohmann::json> figure = load_figure(file);
    REQUIRE(figure.has_value());
    const Result<State> state = load_session(file);
    REQUIRE(state);
    ExportOptions again = options_of_figure(*figure, state->compare.baseline);
    again.inputs = run_inputs(*state);
    again.choice = figure_choice(*state);
    again.session = to_text(to_json(*state), -1);
    again.formats = {parse_format(file.extension().string().substr(1)).value()};
    again.directory = folder / "again";
    FakeRunner other{"fake", std::make_shared<FakeLog>()};  // its first run has the numbers of the other's first
    const ExportReport report = run_export(other, again);
    REQUIRE(report.files.size() == 2);  // and run.json
    CHECK(report.files.front().filename() == file.filename());
    CHECK(read_file(report.files.front()) == read_file(file));
    ++compared;
  }
  return compared;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every figure is made again from its file, byte for byte") {
    const TemporaryDirectory folder;
    ExportOptions options = small_options(folder.path() / "first");
    State state;
    state.text() = "one two, three\nfour \"five\"";
    state.playground().settings.d_model = 6;
    state.playground().settings.heads = 3;
    options.session = to_text(to_json(state), -1);
    options.formats = {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Pdf};
    options.stages = {Stage::Weights, Stage::K, Stage::Merged};
    options.layers = IndexSet(1);
    options.queries = IndexSet(0);
    options.queries->add({.first = 2, .end = 3});
    options.keys = IndexRange{.first = 1, .end = 3};
    options.set(kFigureLook.title, "</title> \"quoted\" ü");
    options.set(kFigureLook.map_edge_mm, 84.0F);
    options.set(kFigureLook.dpi, 300);
    options.set(kFigureLook.color_map, chart::ColorMap::Magma);
    options.set(kFigureLook.is_row_normalized, true);
    options.color_limits[Stage::Weights] = {.low = 0.0F, .high = 0.5F};
    options.set(kFigureDetails.is_dark, true).set(kFigureDetails.is_transparent, true);
    options.set(kFigureDetails.font, exporting::FigureFont::Serif);
    options.set(kFigureParts.subtitle, false).set(kFigureParts.word_marks, false);
    // The files are of both lines: three heads and a sheet of weights and of keys, and the merged heads.
    CHECK(compare_with_again(options, folder.path()) == 3 * 2 * (4 + 4 + 1));
    options.stages = {Stage::Weights};
    options.heads = parse_index_set("--heads", "0,2");
    options.formats = {ExportFormat::Svg};
    CHECK(compare_with_again(options, folder.path()) == 2 * 3);
    options.heads.reset();
    options.mean = HeadMean::Layer;
    CHECK(compare_with_again(options, folder.path()) == 2);
    options.layers.reset();
    options.mean = HeadMean::Kind;
    CHECK(compare_with_again(options, folder.path()) == 2);
  }

  TEST_CASE("every kind of figure is written in every format, has its words as text, and is made again byte for byte") {
    const TemporaryDirectory folder;
    State state;
    state.text() = "one two, three\nfour \"five\"";
    state.playground().settings.d_model = 6;
    state.playground().settings.heads = 3;
    state.view.lines.threshold = 0.25F;
    state.view.lines.hidden_heads = {1};
    state.view.locked = LockedToken{.side = MapSide::Key, .token = 1};
    state.heads.order = evaluation::HeadMetric::Entropy;
    ExportOptions options = small_options(folder.path() / "first");
    options.choice = figure_choice(state);
    options.session = to_text(to_json(state), -1);
    options.formats = {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Pdf};
    options.set(kFigureDetails.is_dark, true);
    options.set(kFigureDetails.font, exporting::FigureFont::Serif);
    options.set(kFigureLook.dpi, 96);
    struct Case {
      const char* id;
      std::size_t figures;  ///< of two layers, two batch items and three heads
      std::vector<std::string> words;
    };
    const std::vector<Case> cases = {{"grid", 2, {"L0 H0", "L1 H2"}},
                                     {"model", 2, {"L0 H0", "L1 H2", "ordered by entropy", "Rows: query"}},
                                     {"lines", 4, {"one", "two", "head 0", "head 2", "weights from 0.25 on, of key 1"}},
                                     {"text", 12, {"one", "three", "is attended by"}},
                                     {"steps", 12, {"one", "queries Q, 3 × 2", "attention weights, 3 × 3"}},
                                     {"metrics", 2, {"Heads by what they do", "entropy", "layer", "head"}}};
    for (const Case& one : cases) {
      CAPTURE(std::string(one.id));
      options.views = {find_figure_kind(one.id)};
      options.directory = folder.path() / one.id;
      REQUIRE(options.views.front() != nullptr);
      CHECK(compare_with_again(options, folder.path()) == 3 * one.figures);
      std::string svg;
      for (const fs::directory_entry& entry : fs::directory_iterator(options.directory)) {
        const bool is_first = entry.path().filename().string().find("batch-1") == std::string::npos;
        if (entry.path().extension() == ".svg" && is_first) svg = test::svg_words(read_file(entry.path()));
      }
      for (const std::string& word : one.words) {
        CAPTURE(word);
        CHECK(svg.find(word) != std::string::npos);
      }
      if (std::string_view(one.id) == "lines") CHECK(svg.find("head 1") == std::string::npos);  // hidden
    }
  }

  TEST_CASE("a pair shows both runs, and is made again from the baseline in its session") {
    const TemporaryDirectory folder;
    State other;
    other.text() = "six two, three\nfour seven";
    other.playground().settings.d_model = 6;
    other.playground().settings.heads = 3;
    State state = other;
    state.text() = "one two, three\nfour \"five\"";
    state.compare.baseline = make_baseline(other);
    ExportOptions options = small_options(folder.path() / "first");
    options.baseline = *state.compare.baseline;
    options.session = to_text(to_json(state), -1);
    options.formats = {ExportFormat::Svg};
    options.layers = options.heads = IndexSet(1);
    options.batch = 0;
    options.views = {&kPairFigure, &kGridFigure, &kStepsFigure, &kLinesFigure, &kTextFigure};
    CHECK(compare_with_again(options, folder.path()) == 5);
    const std::string svg = read_file(folder.path() / "first" / "layer-01_batch-0_head-01_side_by_side.svg");
    CHECK(svg.find(">one<") != std::string::npos);
    CHECK(svg.find(">six<") != std::string::npos);
    CHECK(fs::exists(folder.path() / "first" / "batch-0_difference_grid.svg"));
  }

  TEST_CASE("what a selection has no figure of is left out with a reason, and alone it is an error") {
    const TemporaryDirectory folder;
    ExportOptions options = small_options(folder.path());
    options.formats = {ExportFormat::Svg};
    const auto refusal = [&](const FigureKind& kind, const auto& change) {
      ExportOptions own = options;
      own.views = {&kind};
      change(own);
      FakeRunner runner{"fake", std::make_shared<FakeLog>()};
      return test::error_message([&] { static_cast<void>(run_export(runner, own)); });
    };
    const auto with_mean = [](ExportOptions& own) { own.mean = HeadMean::Layer; };
    const auto with_norms = [](ExportOptions& own) { own.weighs_values = true; };
    const auto of_a_part = [](ExportOptions& own) { own.queries = parse_index_set("--queries", "0-1"); };
    CHECK(refusal(kPairFigure, [](ExportOptions&) {}).find("no other run to compare with") != std::string::npos);
    CHECK(refusal(kLinesFigure, with_mean).find("lines is left out: it has no means") != std::string::npos);
    CHECK(refusal(kLinesFigure, with_norms).find("not norms") != std::string::npos);
    CHECK(refusal(kMetricsFigure, of_a_part).find("all queries and keys") != std::string::npos);
    CHECK(refusal(kPredictionsFigure, [](ExportOptions&) {}).find("nothing is predicted") != std::string::npos);
    CHECK(refusal(kTextFigure, of_a_part).find("choose a single one") != std::string::npos);
    options.views = {&kPairFigure, &kGridFigure};
    FakeRunner runner{"fake", std::make_shared<FakeLog>()};
    const ExportReport report = run_export(runner, options);
    CHECK(report.files.size() == 3);  // the grid of both lines, and run.json
    REQUIRE(report.notes.size() == 1);
    CHECK(report.notes.front().starts_with("side_by_side is left out"));
    CHECK(find_figure_kind("nonsense") == nullptr);
  }

  TEST_CASE("the files that are announced are those that are written") {
    const TemporaryDirectory folder;
    ExportOptions options = small_options(folder.path());
    options.formats = {ExportFormat::Svg, ExportFormat::Csv};
    for (const FigureKind* kind : figure_kinds().first(figure_kinds().size() - kFiguresOfViews))
      options.views.push_back(kind);
    FakeRunner runner{"fake", std::make_shared<FakeLog>()};
    RunSource sources(std::make_shared<ModelCache>());
    const RunSource::Source& source = sources.build(options.inputs);
    const std::shared_ptr<const inference::Run> run = compute_run(runner, source, options.inputs, nullptr);
    std::vector<std::string> written;
    for (const fs::path& file : run_export(runner, options).files) written.push_back(file.filename().string());
    std::ranges::sort(written);
    const std::vector<ExportBlocks> blocks = select_blocks(*run, *source.network, options);
    CHECK(written == plan_export(options, blocks, *source.network, *source.input).names(options));
  }

  TEST_CASE("what no figure says is refused with the member's name") {
    const nlohmann::json good = {
        {"view", "head"}, {"stage", "weights"}, {"attention", "encoder"}, {"layer", 0U}, {"batch", 0U}};
    CHECK(options_of_figure(good).stages == std::vector{Stage::Weights});
    const auto refusal = [&](const char* key, const nlohmann::json& value) {
      nlohmann::json wrong = good;
      wrong[key] = value;
      return test::error_message([&] { static_cast<void>(options_of_figure(wrong)); });
    };
    const std::vector<std::pair<const char*, nlohmann::json>> wrong = {{"stage", "other"},
                                                                       {"stage", 3},
                                                                       {"attention", "none"},
                                                                       {"layer", -1},
                                                                       {"layer", 1e9},
                                                                       {"batch", nullptr},
                                                                       {"heads", {0U, 1U}},
                                                                       {"heads", {{3U, 1U}}},
                                                                       {"heads", nlohmann::json::array()},
                                                                       {"queries", "all"},
                                                                       {"keys", {{0U, 1U}, {3U, 4U}}},
                                                                       {"dpi", 0},
                                                                       {"dpi", 100'000},
                                                                       {"size_mm", 1e9},
                                                                       {"size_mm", "x"},
                                                                       {"color_map", "rainbow"},
                                                                       {"limits", {1.0, 0.0}},
                                                                       {"limits", {0.0}},
                                                                       {"font", "comic"},
                                                                       {"parts", {{"title", 3}}},
                                                                       {"parts", 3},
                                                                       {"title", 7},
                                                                       {"spread", "cubic"},
                                                                       {"view", "nonsense"},
                                                                       {"view", 3}};
    for (const auto& one : wrong) {
      const auto& key = one.first;
      const auto& value = one.second;
      CAPTURE(key);
      CAPTURE(value.dump());
      CHECK(refusal(key, value).starts_with("figure."));
    }
    CHECK(test::error_message([] { static_cast<void>(options_of_figure(nlohmann::json::array())); }).starts_with("figure"));
  }

  TEST_CASE("a figure without a session says so, and a session can be loaded from one that has it") {
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "other.svg", "<svg/>");
    const Result<State> other = load_session(folder.path() / "other.svg");
    REQUIRE_FALSE(other);
    CHECK(other.error().find("carries no session") != std::string::npos);
    ExportOptions options = small_options(folder.path());
    options.formats = {ExportFormat::Svg};
    options.heads = IndexSet(0);
    FakeRunner runner{"fake", std::make_shared<FakeLog>()};
    const ExportReport report = run_export(runner, options);  // without a session
    CHECK_FALSE(load_session(report.files.front()));
  }
}

}  // namespace figure_record_test
