#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "app/engine/gpu_runner.h"

namespace headlight::app {

/// The real device, which counts passes: those alone, and those that are computed together.
class CountingRunner final : public Runner {
 public:
  struct Counts {
    int alone = 0;
    std::size_t copies = 0;
  };
  /// `most_copies`: 1 computes changed passes one by one.
  explicit CountingRunner(std::shared_ptr<Counts> counts, std::size_t most_copies = 32)
      : inner_(std::make_unique<GpuRunner>("")), counts_(std::move(counts)), most_copies_(most_copies) {}

  /// Does it give a pass the same bits, whatever is computed with it?
  bool is_exact() const { return inner_->context().device().runs_host_steps; }

  std::string device_name() const override { return inner_->device_name(); }
  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override {
    inner_->load(std::move(layers), precision, observer);
  }
  void unload() override { inner_->unload(); }
  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override {
    ++counts_->alone;
    return inner_->run(std::move(pass), std::move(base));
  }
  std::shared_ptr<const inference::Run> run_copies(const inference::Run& base, std::uint32_t line,
                                                   std::span<const inference::Interventions> changes) override {
    if (changes.size() > most_copies_) return nullptr;
    std::shared_ptr<const inference::Run> copies = inner_->run_copies(base, line, changes);
    if (copies) counts_->copies += changes.size();
    return copies;
  }

 private:
  std::unique_ptr<GpuRunner> inner_;
  std::shared_ptr<Counts> counts_;
  std::size_t most_copies_;
};

}  // namespace headlight::app
