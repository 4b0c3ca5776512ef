#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "inference/session.h"

namespace headlight::test {

/// A session and its newest run, each made from the one before, as a program has them that shows one run at a time.
class RunningSession : public inference::Session {
 public:
  /// Makes a session without a device.
  RunningSession() = default;
  explicit RunningSession(gpu::Context& context, const std::filesystem::path& tuning_file = {})
      : Session(context, tuning_file) {}

  inference::RunTiming run(std::shared_ptr<const model::Network> network, const model::ModelInput& input,
                           const attention::MaskSet& masks, const inference::Interventions& interventions = {}) {
    const inference::PassInputs pass{
        .network = std::move(network), .input = input, .masks = masks, .interventions = interventions};
    run_ = is_forgotten_ ? Session::run(pass) : Session::run(pass, std::move(run_));
    is_forgotten_ = false;
    return run_->timing();
  }
  /// The next run has no base.
  void forget() { is_forgotten_ = true; }
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer = {}) {
    run_.reset();
    Session::load(std::move(layers), precision, observer);
  }
  void unload() {
    run_.reset();
    Session::unload();
  }

  /// Returns the newest run; null before the first one.
  const std::shared_ptr<const inference::Run>& newest() const { return run_; }
  std::vector<model::BlockRef> blocks() const { return run_ ? run_->blocks() : std::vector<model::BlockRef>(); }
  inference::BlockShape shape(model::BlockRef block) const { return run_->shape(block); }
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const {
    return run_->evaluate(requests);
  }
  Tensor stage(model::BlockRef block, attention::Stage stage) const { return run_->stage(block, stage); }
  Tensor hidden(inference::Stack stack) const { return run_ ? run_->hidden(stack) : Tensor(); }
  Tensor encoder_output() const { return run_ ? run_->encoder_output() : Tensor(); }
  bool has_logits() const { return run_ && run_->has_logits(); }
  Tensor logits() const { return run_ ? run_->logits() : Tensor(); }
  Tensor logits(std::span<const inference::StateRef> states) const { return run_ ? run_->logits(states) : Tensor(); }
  std::vector<Tensor> residuals(std::span<const inference::ResidualRows> requests) const {
    return run_->residuals(requests);
  }

 private:
  std::shared_ptr<const inference::Run> run_;
  bool is_forgotten_ = false;
};

}  // namespace headlight::test
