#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/mask.h"
#include "attention/stage.h"
#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// One device with a Session on it, as the engine and the exporter see it. Tests bring their own, without a GPU.
class Runner {
 public:
  virtual ~Runner() = default;

  virtual std::string device_name() const = 0;
  /// The rest is inference::Session's, word for word.
  virtual void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
                    const inference::LoadObserver& observer) = 0;
  virtual void unload() = 0;
  virtual inference::RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                                   const attention::MaskSet& masks, const inference::HeadGains& gains = {}) = 0;
  virtual std::vector<model::BlockRef> blocks() const = 0;
  virtual inference::BlockShape shape(model::BlockRef block) const = 0;
  virtual std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) = 0;
  virtual Tensor encoder_output() = 0;
  virtual Tensor hidden(inference::Stack stack) = 0;
  virtual bool has_logits() const = 0;
  virtual Tensor logits() = 0;
  virtual Tensor logits(std::span<const inference::StateRef> states) = 0;
  virtual void watch_compiling(inference::CompileObserver /*observer*/) {}
  /// Work for when nobody waits (compiling what later passes need, Session::tune_step); fakes have none.
  virtual bool has_idle_work() const { return false; }
  virtual void work_while_idle() {}
  /// Is that work what the next keystroke will need?
  virtual bool warms_up() const { return false; }
};

/// Opens a device by name or index; an empty one means the best. Throws Error in one line when there is none.
using RunnerFactory = std::function<std::unique_ptr<Runner>(const std::string& device)>;

/// The real thing: gpu::Context and inference::Session.
std::unique_ptr<Runner> open_gpu_runner(const std::string& device);

}  // namespace headlight::app
