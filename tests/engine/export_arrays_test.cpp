// Arrays: a file each or one of many, their axes, and selections of layers, heads and queries.

#include <cstring>
#include <map>
#include <memory>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/figures/job.h"
#include "app/figures/plan.h"
#include "app/figures/text_index.h"
#include "core/file.h"
#include "engine/fake_runner.h"
#include "engine/small_export.h"
#include "files/npy.h"
#include "model/safetensors.h"
#include "model/zip_file.h"
#include "support/decode_npy.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace export_arrays_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;
namespace fs = std::filesystem;

namespace {

Tensor stored(const model::SafetensorsFile& file, const std::string& name) {
  for (const model::StoredTensor& tensor : file.tensors().all()) {
    if (tensor.name != name) continue;
    Tensor values(tensor.shape);
    REQUIRE(tensor.bytes.size() == values.values.size() * sizeof(float));
    std::memcpy(values.values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  FAIL("no tensor " << name);
  return {};
}

Tensor entry(const fs::path& archive, const char* name) {
  const model::ZipFile zip(archive, {.kind = ".npz", .advice = "", .part = "array"});
  const model::ZipMember* member = zip.find(name);
  REQUIRE(member != nullptr);
  return files::decode_npy({reinterpret_cast<const char*>(member->bytes.data()), member->bytes.size()});
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("one file of all arrays has the same numbers as one file each, with tokens and the record") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Npy, ExportFormat::Npz, ExportFormat::Safetensors};
    options.stages = {Stage::Q, Stage::Weights};
    run_export(exporter.runner, options);
    const model::SafetensorsFile file(exporter.path("numbers.safetensors"));
    for (const char* name : {"q", "weights"}) {
      const Tensor alone = exporter.npy(std::string(name) + ".npy");
      CHECK(stored(file, name).values == alone.values);
      CHECK(stored(file, name).shape == alone.shape);
      CHECK(entry(exporter.path("numbers.npz"), (std::string(name) + ".npy").c_str()).values == alone.values);
    }
    CHECK(stored(file, "weights").at({1, 0, 2, 1, 2}) == exporter.runner.newest->value(2, 1, 2));
    CHECK(nlohmann::json::parse(file.metadata().at("tokens")) ==
          nlohmann::json::parse(R"([["one", "two", "three"], ["four", "\"five\"", "<pad>"]])"));
    CHECK(nlohmann::json::parse(file.metadata().at("axes"))["weights"] ==
          nlohmann::json({"layer", "batch", "head", "query", "key"}));
    const nlohmann::json record = nlohmann::json::parse(file.metadata().at("run"));
    CHECK(record["device"] == "fake");
    CHECK(record["stages"][0]["file"] == "numbers.safetensors");
    const nlohmann::json beside = nlohmann::json::parse(read_file(exporter.path("run.json")));
    CHECK(beside["stages"].size() == 3 * record["stages"].size());
  }

  TEST_CASE("a single file has no record beside it") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Safetensors};
    options.file = "mine.safetensors";
    const ExportReport report = run_export(exporter.runner, options);
    REQUIRE(report.files.size() == 1);
    CHECK(report.files.front() == exporter.path("mine.safetensors"));
    CHECK(fs::exists(exporter.path("mine.safetensors")));
    CHECK_FALSE(fs::exists(exporter.path("run.json")));
    const inference::Run& run = *exporter.runner.newest;
    const std::vector<ExportBlocks> blocks = select_blocks(run, *run.inputs().network, options);
    CHECK(plan_export(options, blocks, *run.inputs().network, run.inputs().input).names(options) ==
          std::vector<std::string>{"mine.safetensors"});
  }

  TEST_CASE("lists of layers, heads and queries keep their order and their numbers, in every format") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.formats = {ExportFormat::Npy, ExportFormat::Csv, ExportFormat::Svg};
    options.layers = parse_index_set("--layers", "1");
    options.heads = parse_index_set("--heads", "2,0");
    options.queries = parse_index_set("--queries", "2,0");
    options.keys = IndexRange{.first = 1, .end = 3};
    options.batch = 0;
    run_export(exporter.runner, options);
    const Tensor weights = exporter.npy("weights.npy");
    REQUIRE(weights.shape == Shape{1, 1, 2, 2, 2});
    for (const std::uint32_t head : {0U, 1U}) {
      for (const std::uint32_t row : {0U, 1U}) {
        for (const std::uint32_t column : {0U, 1U}) {
          CHECK(weights.at({0, 0, head, row, column}) == exporter.runner.newest->value(2 * head, 2 * row, column + 1));
        }
      }
    }
    const std::string csv = read_file(exporter.path("layer-01_batch-0_head-02_weights.csv"));
    CHECK(csv == "query/key,two,three\none,1200.01,1200.02\nthree,1202.01,1202.02\n");
    CHECK_FALSE(fs::exists(exporter.path("layer-01_batch-0_head-01_weights.csv")));
    CHECK_FALSE(fs::exists(exporter.path("layer-00_batch-0_head-00_weights.csv")));
    const std::string svg = read_file(exporter.path("layer-01_batch-0_head-02_weights.svg"));
    CHECK(svg.find("three") != std::string::npos);
    options.formats = {ExportFormat::Tiles};
    CHECK(exporter.refusal(options).find("one range of queries") != std::string::npos);
  }

  TEST_CASE("queries are chosen by their tokens, in one line of a batch") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.tokens = {"three"};
    CHECK(exporter.refusal(options).find("choose one with --batch") != std::string::npos);
    options.batch = 0;
    options.queries = IndexSet(0);
    run_export(exporter.runner, options);
    const Tensor weights = exporter.npy("weights.npy");
    REQUIRE(weights.shape == Shape{2, 1, 3, 2, 3});
    CHECK(weights.at({0, 0, 1, 1, 0}) == exporter.runner.newest->value(1, 2, 0));
    options.queries.reset();
    options.tokens = {"four"};
    CHECK(exporter.refusal(options) == "--tokens: no tokens of the text are 'four'; headlight tokenize lists them");
  }

  TEST_CASE("tokens of a text: marks of spaces and inner parts, words of several tokens, repeats") {
    const std::vector<std::string> labels = {"The", "·cat", "·s", "at", "##s", "·cat", "cat", "·", "cat"};
    CHECK(to_string(tokens_of_text(labels, "cat")) == "1, 5-6, 8");
    CHECK(to_string(tokens_of_text(labels, " cat")) == "1, 5-6, 8");
    CHECK(to_string(tokens_of_text(labels, "sat")) == "2-3");
    CHECK(to_string(tokens_of_text(labels, "sats")) == "2-4");
    CHECK(to_string(tokens_of_text(labels, "The cat")) == "0-1");
    CHECK(tokens_of_text(labels, "ca").is_empty());
    CHECK(tokens_of_text(labels, " ").is_empty());
    CHECK(tokens_of_text({}, "cat").is_empty());
  }

  TEST_CASE("lists of indices") {
    CHECK(to_string(parse_index_set("--layers", "0-3,7")) == "0-3, 7");
    CHECK(to_string(parse_index_set("--layers", "7,0:4,2,4")) == "0-4, 7");
    CHECK(parse_index_set("--layers", "0-3,7").count() == 5);
    CHECK(parse_index_set("--layers", "0-3,7").contains(3));
    CHECK_FALSE(parse_index_set("--layers", "0-3,7").contains(4));
    for (const char* wrong : {"", "3-1", "4:4", "1-", "-1", "1,,2", "a", "1-2-3", "99999999999"}) {
      CAPTURE(wrong);
      CHECK(test::error_message([&] { static_cast<void>(parse_index_set("--layers", wrong)); }).starts_with("--layers"));
    }
  }

  TEST_CASE("an index of texts goes on behind its last whole line, and refuses other settings") {
    const TemporaryDirectory folder;
    const exporting::Json settings = {{"stages", {"weights"}}};
    {
      TextIndex index(folder.path(), settings);
      make_directories(folder.path() / "000000");
      for (const char* name : {"a.npy", "b.npy"}) write_file_atomically(folder.path() / "000000" / name, "1");
      index.add({.line = 0, .folder = "000000", .text = "one \"text\"", .files = 2});
      index.add({.line = 3, .folder = "", .text = "another", .files = 0, .note = "without the tokens"});
    }
    const fs::path path = folder.path() / "index.jsonl";
    const std::string whole = read_file(path);
    write_file_atomically(path, whole + R"({"line": 4, "folder": "0000)");  // killed while it wrote
    {
      TextIndex index(folder.path(), settings);
      CHECK(index.has(0, "one \"text\""));
      CHECK_FALSE(index.has(0, "one changed text"));
      CHECK(index.has(3, "another"));
      CHECK_FALSE(index.has(4, "more"));
      CHECK(read_file(path) == whole);
      fs::remove(folder.path() / "000000" / "b.npy");
      CHECK_FALSE(index.has(0, "one \"text\""));
    }
    const auto refusal = [&](const exporting::Json& of) {
      return test::error_message([&] { const TextIndex index(folder.path(), of); });
    };
    CHECK(refusal({{"stages", {"q"}}}).find("other flags") != std::string::npos);
    write_file_atomically(path, whole + "{\"line\": \"4\"}\n");
    CHECK(refusal(settings).find("line 4: it isn't a finished text") != std::string::npos);
    write_file_atomically(path, "[1]\n");
    CHECK(refusal(settings).find("line 1") != std::string::npos);
    write_file_atomically(path, "{\"settings");  // killed while it began
    CHECK(refusal(settings).empty());
    CHECK(read_file(path).starts_with("{\"settings\":"));
  }

  TEST_CASE("maps of an array are evaluated together, and those of a sheet") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.stages = {Stage::Weights};
    for (const ExportFormat format : {ExportFormat::Npz, ExportFormat::Npy, ExportFormat::Safetensors}) {
      options.formats = {format};
      exporter.log->evaluations = 0;
      exporter.log->tiles = 0;
      run_export(exporter.runner, options);
      CHECK(exporter.log->tiles == 12);  // two lines, two layers, three heads
      CHECK(exporter.log->evaluations == 1);
    }
    options.formats = {ExportFormat::Svg};
    options.views = {&kGridFigure};
    exporter.log->evaluations = 0;
    exporter.log->tiles = 0;
    CHECK(run_export(exporter.runner, options).files.size() == 3);  // of each line, and run.json
    CHECK(exporter.log->tiles.load() == 12);
    CHECK(exporter.log->evaluations.load() == 2);
  }

  TEST_CASE("one .npy a stage, with every axis in its place") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.stages = {Stage::X, Stage::Q, Stage::Weights, Stage::Merged};
    const ExportReport report = run_export(exporter.runner, options);
    CHECK(report.notes.empty());
    REQUIRE(report.files.size() == 5);
    CHECK(report.files.back().filename() == "run.json");
    CHECK(exporter.file_count() == 5);
    CHECK(exporter.npy("x.npy").shape == Shape{2, 2, 3, 6});
    CHECK(exporter.npy("q.npy").shape == Shape{2, 2, 3, 3, 2});
    CHECK(exporter.npy("merged.npy").shape == Shape{2, 2, 3, 6});
    const Tensor weights = exporter.npy("weights.npy");
    REQUIRE(weights.shape == Shape{2, 2, 3, 3, 3});
    CHECK(weights.at({1, 0, 2, 1, 2}) == exporter.runner.newest->value(2, 1, 2));
    CHECK(weights.at({0, 1, 1, 2, 0}) == exporter.runner.newest->value(1, 2, 0));
  }

  TEST_CASE("a selection keeps its axes") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.stages = {Stage::Weights, Stage::Output};
    options.layers = IndexSet(1);
    options.batch = 1;
    options.heads = IndexSet(2);
    run_export(exporter.runner, options);
    const Tensor weights = exporter.npy("weights.npy");
    REQUIRE(weights.shape == Shape{1, 1, 1, 3, 3});
    CHECK(weights.at({0, 0, 0, 1, 1}) == exporter.runner.newest->value(2, 1, 1));
    CHECK(exporter.npy("output.npy").shape == Shape{1, 1, 3, 6});
    CHECK(exporter.json("run.json")["selection"]["heads"] == nlohmann::json::parse("[[2, 3]]"));
  }

  TEST_CASE("notebook 003's merge is written both ways") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    options.inputs.source = Notebook{"notebook-003-fused"};
    options.stages = {Stage::Merged, Stage::Output};
    run_export(exporter.runner, options);
    CHECK(exporter.log->runs == 2);
    const Tensor ours = exporter.npy("merged.npy");
    const Tensor theirs = exporter.npy("merged_as_the_notebook_does.npy");
    CHECK(ours.shape == theirs.shape);
    CHECK(ours.values.front() == 1000.0f);
    CHECK(theirs.values.front() == 2000.0f);
    CHECK(fs::exists(exporter.path("output_as_the_notebook_does.npy")));
  }

  TEST_CASE("long maps pass in strips of bounded size") {
    Exporter exporter;
    ExportOptions options = small_options(exporter.directory.path());
    std::string& text = std::get<Playground>(options.inputs.source).text;
    text.clear();
    for (int word = 0; word < 1500; ++word) text += " w" + std::to_string(word);
    options.layers = IndexSet(0);
    options.heads = IndexSet(1);
    run_export(exporter.runner, options);
    CHECK(exporter.log->largest <= std::size_t{1} << 20);
    const Tensor weights = exporter.npy("weights.npy");
    REQUIRE(weights.shape == Shape{1, 1, 1, 1500, 1500});
    CHECK(weights.at({0, 0, 0, 1499, 3}) == exporter.runner.newest->value(1, 1499, 3));
  }
}

}  // namespace export_arrays_test
