#pragma once

#include <memory>
#include <string>

#include "app/engine/engine_tasks.h"
#include "app/engine/runner.h"

namespace headlight::app {

/// The engine's device as a Runner for another thread: its runs are computed and asked on the engine's thread, piece by
/// piece between the user's requests, with the weights that are on the device already. Any one thread; blocks while the
/// engine is busy. Throws Error of kind Cancelled when the engine has ended, and of kind DeviceLost when its device was
/// opened again.
class EngineRunner final : public Runner {
 public:
  explicit EngineRunner(std::shared_ptr<EngineTasks> tasks) : tasks_(std::move(tasks)) {}

  std::string device_name() const override;
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override;
  /// The engine's weights stay.
  void unload() override {}
  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override;
  std::shared_ptr<const inference::Run> run_capture(std::shared_ptr<const capture::CaptureFile> file) override;
  std::optional<KnownRun> find(const RunInputs& inputs) override;

 private:
  std::shared_ptr<EngineTasks> tasks_;
};

}  // namespace headlight::app
