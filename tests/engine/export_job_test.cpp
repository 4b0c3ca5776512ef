// An export on a thread of its own, beside an engine that goes on.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include <doctest/doctest.h>

#include "app/engine/engine.h"
#include "app/exports/job.h"
#include "core/atomic_file.h"
#include "engine/fake_runner.h"
#include "engine/small_export.h"
#include "files/npy.h"
#include "support/decode_npy.h"
#include "support/temporary_directory.h"

namespace export_job_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("cpu") {
  TEST_CASE("a job does the same beside the window, and can be cancelled or fail") {
    const auto log = std::make_shared<FakeLog>();
    const TemporaryDirectory directory;
    const ExportOptions options = small_options(directory.path());
    std::atomic<int> wakes{0};
    const auto wait = [](const ExportJob& job) {
      while (!job.is_done()) std::this_thread::yield();
      return job.result();
    };
    {
      const ExportJob job(fake_factory(log), "other", options, [&] { ++wakes; });
      const Result<ExportReport> result = wait(job);
      REQUIRE(result);
      CHECK(result->files.size() == 2);
      CHECK(job.progress().total == 2);
    }
    CHECK(wakes >= 3);
    {
      const ExportJob job(fake_factory(log), "missing", options, {});
      const Result<ExportReport> result = wait(job);
      REQUIRE_FALSE(result);
      CHECK(result.error() == "no device \"missing\"");
    }
    log->is_held = true;
    ExportJob job(fake_factory(log), "", options, {});
    job.cancel();
    log->is_held = false;
    log->is_held.notify_all();
    CHECK_FALSE(wait(job));
  }

  TEST_CASE("an export of what the engine computed opens no device, runs no pass, and the engine answers meanwhile") {
    const auto log = std::make_shared<FakeLog>();
    const TemporaryDirectory directory;
    ExportOptions options = small_options(directory.path());
    options.stages = {attention::Stage::Weights, attention::Stage::Scores};
    std::unique_ptr<ExportJob> job;
    {
      Engine engine({.open = fake_factory(log), .device = "fake", .wake = {}});
      engine.request({.revision = 1, .inputs = options.inputs});
      engine.wait_until_idle();
      REQUIRE(engine.poll()->error == "");
      {
        const ExportJob whole(engine.shared_device(), "fake", options, {});
        while (!whole.is_done()) std::this_thread::yield();
        const Result<ExportReport> result = whole.result();
        REQUIRE(result);
        CHECK(result->files.size() == 3);
      }
      CHECK(log->opened == 1);
      CHECK(log->runs == 1);

      // The run of the export stays what it was while the user goes on.
      std::atomic<bool> is_first{true};
      std::uint64_t revision = 1;
      job = std::make_unique<ExportJob>(engine.shared_device(), "fake", options, [&] { is_first = false; });
      while (is_first) std::this_thread::yield();
      RunInputs other = options.inputs;
      std::get<Playground>(other.source).text = "another text";
      engine.request({.revision = ++revision, .inputs = other});
      engine.wait_until_idle();
      const std::optional<EngineResult> answered = engine.poll();
      REQUIRE(answered);
      CHECK(std::get<Playground>(answered->inputs->source).text == "another text");
      while (!job->is_done()) std::this_thread::yield();
      const Result<ExportReport> result = job->result();
      REQUIRE(result);
      const Tensor weights = files::decode_npy(read_file(directory.path() / "weights.npy"));
      CHECK(weights.values.front() == 1000.0F);  // of the first run, head 0, row 0, column 0
      CHECK(log->opened == 1);
      CHECK(log->runs == 2);

      log->is_held = true;
      job = std::make_unique<ExportJob>(engine.shared_device(), "fake", options, [] {});
      std::thread releases([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        log->is_held = false;
        log->is_held.notify_all();
      });
      releases.join();
    }
    // The engine has ended: the job ends too, with or without its files.
    while (!job->is_done()) std::this_thread::yield();
    const Result<ExportReport> result = job->result();
    if (!result) CHECK(result.error() == "the engine has ended");
  }
}

}  // namespace export_job_test
