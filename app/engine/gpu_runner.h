#pragma once

#include "app/engine/runner.h"
#include "gpu/context.h"
#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// Passes over a few tokens choose other kernels than passes over many, and a driver may take a second to compile one. These
/// passes, run when the first heatmap is there and the user hasn't typed yet, make it do so before the user waits.
class WarmUp {
 public:
  /// After each pass; the first one of a network decides whether there is anything to warm up.
  void note(const inference::Run& run);
  bool is_pending() const { return !row_counts_.empty(); }
  /// One more pass, based on the newest run, which stays. Throws what Session::run throws.
  void step(inference::Session& session, const std::shared_ptr<const inference::Run>& run);

 private:
  std::shared_ptr<const model::Layers> warm_;  ///< whose kernels are compiled, or will be
  std::vector<std::uint32_t> row_counts_;      ///< still to be tried
};

/// The real Runner: a device and a session on it, or a session without a device.
class GpuRunner final : public Runner {
 public:
  /// "cpu": without Vulkan, and so where no device is named and there is none, unless it `needs_device`; the first pass or
  /// model says that in one line on standard error, once. Throws Error in one line when there is no such device.
  /// A processor's kernels are in the program's memory: those that no pass and no tile used for `kernels_kept` are given
  /// back with the unused memory.
  explicit GpuRunner(const std::string& device, bool needs_device = false,
                     std::chrono::seconds kernels_kept = std::chrono::minutes(10));

  /// Of a runner with a device.
  gpu::Context& context() { return *context_; }
  /// For what asks more than a Runner can do.
  inference::Session& session() { return session_; }

  std::string device_name() const override {
    return context_ ? context_->device().name : std::string(inference::kProcessorName);
  }
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override {
    say_where();
    session_.load(std::move(layers), precision, observer);
    warm_up_ = {};
  }
  void load_in_order(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
                     const inference::LoadObserver& observer, const inference::FirstLayers& first) override {
    say_where();
    session_.load(std::move(layers), precision, observer, first);
    warm_up_ = {};
  }
  void unload() override {
    session_.unload();
    warm_up_ = {};
  }
  void expect_room(const model::Network& network, const model::ModelInput& input) const override {
    session_.expect_room(network, input);
  }
  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override {
    say_where();
    std::shared_ptr<const inference::Run> run = session_.run(std::move(pass), std::move(base));
    warm_up_.note(*run);
    return run;
  }
  std::shared_ptr<const inference::Run> run_capture(std::shared_ptr<const capture::CaptureFile> file) override;
  std::shared_ptr<const inference::Run> run_copies(const inference::Run& base, std::uint32_t line,
                                                   std::span<const inference::Interventions> changes) override {
    return session_.run_copies(base, line, changes);
  }
  void watch_compiling(inference::CompileObserver observer) override { session_.watch_compiling(std::move(observer)); }
  void watch_passes(inference::PassObserver observer) override { session_.watch_passes(std::move(observer)); }
  bool has_idle_work() const override { return warms_up() || !session_.is_tuned(); }
  void work_while_idle(const std::shared_ptr<const inference::Run>& run) override {
    if (warm_up_.is_pending()) return warm_up_.step(session_, run);
    session_.tune_step();
    if (session_.is_tuned()) warm_up_ = {};  // other kernels from now on
  }
  bool warms_up() const override { return warm_up_.is_pending(); }
  void give_back_unused_memory() override {
    if (!context_) return;
    if (context_->device().is_cpu) session_.forget_unused_kernels(kernels_kept_);
    context_->give_back_unused_memory();
  }

 private:
  void say_where() const;

  std::string reason_;                     ///< why there is no device; empty: there is one, or none was asked for
  std::unique_ptr<gpu::Context> context_;  ///< null without a device
  inference::Session session_;
  std::chrono::seconds kernels_kept_;
  WarmUp warm_up_;
};

}  // namespace headlight::app
