#pragma once

#include <memory>
#include <string>
#include <utility>

#include "app/engine/runner.h"
#include "app/engine/warm_up.h"
#include "gpu/context.h"
#include "inference/session.h"

namespace headlight::app {

/// The real Runner: a device and a session on it.
class GpuRunner final : public Runner {
 public:
  /// Throws Error in one line when there is no such device.
  explicit GpuRunner(const std::string& device);

  /// For what asks more than a Runner can do.
  inference::Session& session() { return session_; }

  std::string device_name() const override { return context_.device().name; }
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override {
    session_.load(std::move(layers), precision, observer);
    warm_up_ = {};
  }
  void unload() override {
    session_.unload();
    warm_up_ = {};
  }
  inference::RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                           const attention::MaskSet& masks, const inference::HeadGains& gains) override {
    const inference::RunTiming timing = session_.run(network, input, masks, gains);
    warm_up_.note(network, input, masks, gains);
    return timing;
  }
  void watch_compiling(inference::CompileObserver observer) override { session_.watch_compiling(std::move(observer)); }
  std::vector<model::BlockRef> blocks() const override { return session_.blocks(); }
  inference::BlockShape shape(model::BlockRef block) const override { return session_.shape(block); }
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) override {
    return session_.evaluate(requests);
  }
  Tensor encoder_output() override { return session_.encoder_output(); }
  Tensor hidden(inference::Stack stack) override { return session_.hidden(stack); }
  bool has_logits() const override { return session_.has_logits(); }
  Tensor logits() override { return session_.logits(); }
  Tensor logits(std::span<const inference::StateRef> states) override { return session_.logits(states); }
  bool has_idle_work() const override { return warms_up() || !session_.is_tuned(); }
  void work_while_idle() override {
    if (warm_up_.is_pending()) return warm_up_.step(session_);
    session_.tune_step();
    if (session_.is_tuned()) warm_up_ = {};  // other kernels from now on
  }
  bool warms_up() const override { return warm_up_.is_pending(); }

 private:
  gpu::Context context_;
  inference::Session session_;
  WarmUp warm_up_;
};

}  // namespace headlight::app
