#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <string>

#include "app/engine/run_source.h"
#include "inference/run.h"
#include "inference/session.h"

namespace headlight::app {

/// A run that exists already, and what it was made of.
struct KnownRun {
  std::shared_ptr<const inference::Run> run;
  RunSource::Source source;
};

/// One device with a Session on it, as the engine and the exporter see it. Tests bring their own, without a GPU.
class Runner {
 public:
  /// Runs must have gone before.
  virtual ~Runner() = default;

  virtual std::string device_name() const = 0;
  /// These are inference::Session's.
  virtual void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
                    const inference::LoadObserver& observer) = 0;
  /// Session::load with a look at the first layers; most have none.
  virtual void load_in_order(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
                             const inference::LoadObserver& observer, const inference::FirstLayers& /*first*/) {
    load(std::move(layers), precision, observer);
  }
  virtual void unload() = 0;
  /// Session::expect_room; fakes have room for everything.
  virtual void expect_room(const model::Network& /*network*/, const model::ModelInput& /*input*/) const {}
  /// The caller gives `base` away, as to Session::run.
  virtual std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                                    std::shared_ptr<const inference::Run>&& base) = 0;
  /// A capture's run: its weights are read on the host; those of queries and keys are computed there too, if this runner
  /// has no device.
  virtual std::shared_ptr<const inference::Run> run_capture(std::shared_ptr<const capture::CaptureFile> file);
  /// Session::run_copies's; null where these passes can't be computed together: then they are computed one by one.
  virtual std::shared_ptr<const inference::Run> run_copies(const inference::Run& /*base*/, std::uint32_t /*line*/,
                                                           std::span<const inference::Interventions> /*changes*/) {
    return nullptr;
  }
  virtual void watch_compiling(inference::CompileObserver /*observer*/) {}
  virtual void watch_passes(inference::PassObserver /*observer*/) {}
  /// Work for when the user doesn't wait (compiling what later passes need, Session::tune_step); fakes have none. `run`: the
  /// newest.
  virtual bool has_idle_work() const { return false; }
  virtual void work_while_idle(const std::shared_ptr<const inference::Run>& /*run*/) {}
  /// Is that work what the next keystroke will need?
  virtual bool warms_up() const { return false; }
  /// Gives device memory that no run holds back to the driver, for when the user has rested.
  virtual void give_back_unused_memory() {}
};

/// The run of a source: a pass of its network on the runner's device, or a capture's numbers (Runner::run_capture). The
/// caller gives `base` away, as to Session::run; one that isn't a run of this runner is no base.
std::shared_ptr<const inference::Run> compute_run(Runner& runner, const RunSource::Source& source, const RunInputs& inputs,
                                                  std::shared_ptr<const inference::Run>&& base);

/// Opens a device by name or index; an empty one means the best. Throws Error in one line when there is none.
using RunnerFactory = std::function<std::unique_ptr<Runner>(const std::string& device)>;

/// The name that means no device: the processor computes without Vulkan.
inline constexpr std::string_view kWithoutDevice = "cpu";

/// The real Runner: gpu::Context and inference::Session (GpuRunner).
std::unique_ptr<Runner> open_gpu_runner(const std::string& device);
/// The same where there is a device; else one without.
std::unique_ptr<Runner> open_runner(const std::string& device);

}  // namespace headlight::app
