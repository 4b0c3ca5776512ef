// An export in the background of an engine that goes on.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "app/engine/engine.h"
#include "app/figures/job.h"
#include "core/file.h"
#include "engine/fake_runner.h"
#include "engine/small_export.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/temporary_directory.h"

namespace export_job_test {

using namespace headlight;
using namespace headlight::app;

namespace {

void wait_for(const std::function<bool()>& is_there) {
  for (int patience = 0; patience < 2000 && !is_there(); ++patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(is_there());
}

struct Bench {
  std::shared_ptr<FakeLog> log = std::make_shared<FakeLog>();
  TemporaryDirectory directory;
  ExportOptions options = small_options(directory.path());
  std::atomic<int> wakes{0};
  Engine engine{{.open = fake_factory(log), .device = "fake", .wake = [this] { ++wakes; }}};

  void request(const RunInputs& inputs) {
    engine.request({.revision = 1, .inputs = inputs});
    engine.wait_until_idle();
    REQUIRE(engine.poll()->error == "");
  }
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("an export of what is on screen opens no device, runs no pass, and tells how far it is") {
    Bench bench;
    bench.options.stages = {attention::Stage::Weights, attention::Stage::Scores};
    bench.request(bench.options.inputs);
    bench.wakes = 0;
    const Asked<ExportJob> job = export_in_background(bench.engine, bench.options);
    bench.engine.wait_until_idle();
    REQUIRE(job.is_done());
    CHECK(job.error() == "");
    CHECK(job.result()->report.files.size() == 3);
    CHECK(job.result()->progress.total == 3);
    CHECK(bench.wakes >= 3);
    CHECK(bench.log->opened == 1);
    CHECK(bench.log->runs == 1);
  }

  TEST_CASE("its run stays what it was while the user goes on, whose requests are answered first") {
    Bench bench;
    bench.request(bench.options.inputs);
    bench.log->is_held = true;
    const Asked<ExportJob> job = export_in_background(bench.engine, bench.options);
    wait_for([&] { return job.result() != nullptr; });
    RunInputs other = bench.options.inputs;
    std::get<Playground>(other.source).text = "another text";
    bench.engine.request({.revision = 2, .inputs = other});
    bench.log->is_held = false;
    bench.log->is_held.notify_all();
    CHECK(bench.engine.wait_for(2, std::chrono::seconds(5)));
    bench.engine.wait_until_idle();
    CHECK(std::get<Playground>(bench.engine.poll()->inputs->source).text == "another text");
    CHECK(job.error() == "");
    const Tensor weights = files::decode_npy(read_file(bench.directory.path() / "weights.npy"));
    CHECK(weights.values.front() == 1000.0F);  // of the first run, head 0, row 0, column 0
    CHECK(bench.log->runs == 2);
  }

  TEST_CASE("a device lost in the middle of a file is opened again, and the export goes on where it was") {
    Bench bench;
    bench.options.formats = {ExportFormat::Npz, ExportFormat::Csv, ExportFormat::Png};
    bench.request(bench.options.inputs);
    bench.log->lost_evaluations = 1;
    const Asked<ExportJob> job = export_in_background(bench.engine, bench.options);
    bench.engine.wait_until_idle();
    REQUIRE(job.is_done());
    CHECK(job.error() == "");
    CHECK(bench.log->opened == 2);
    for (const std::filesystem::path& file : job.result()->report.files) CHECK(std::filesystem::exists(file));
  }

  TEST_CASE("letting go of it cancels it, and leaves nothing half written") {
    Bench bench;
    bench.request(bench.options.inputs);
    bench.log->is_held = true;
    {
      const Asked<ExportJob> job = export_in_background(bench.engine, bench.options);
      wait_for([&] { return job.result() != nullptr; });
    }
    bench.log->is_held = false;
    bench.log->is_held.notify_all();
    bench.engine.wait_until_idle();
    // The file whose last number was being read may be there, whole.
    CHECK_FALSE(std::filesystem::exists(bench.directory.path() / "run.json"));
    for (const auto& entry : std::filesystem::directory_iterator(bench.directory.path())) {
      CHECK(entry.path().filename() == "weights.npy");
      CHECK(files::decode_npy(read_file(entry.path())).shape.size() == 5);
    }
  }

  TEST_CASE("what fails is its error in one line, also of what is done with the files, and without a device") {
    Bench bench;
    bench.request(bench.options.inputs);
    const Asked<ExportJob> job = export_in_background(bench.engine, bench.options, [](ExportReport& report) {
      throw Error("{} files, and no clipboard\nfor them", report.files.size());
    });
    bench.engine.wait_until_idle();
    CHECK(job.is_done());
    CHECK(job.error().starts_with("2 files, and no clipboard"));
    Engine none({.open = fake_factory(bench.log), .device = "missing"});
    const Asked<ExportJob> nowhere = export_in_background(none, bench.options);
    none.wait_until_idle();
    CHECK(nowhere.error() == "no device \"missing\"");
  }
}

}  // namespace export_job_test
