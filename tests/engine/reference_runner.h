#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/runner.h"
#include "attention/reference.h"
#include "core/error.h"

namespace headlight::app {

/// A run that the reference computed: right numbers, slowly. What the viewer's tests look at is the same on any machine.
/// It applies replaced patterns alone of all interventions: gains and others change nothing here.
class ReferenceRun : public inference::Run {
 public:
  explicit ReferenceRun(inference::PassInputs pass);

  std::vector<model::BlockRef> blocks() const override { return inputs().network->blocks(); }

  inference::BlockShape shape(model::BlockRef block) const override;

  std::uint64_t version(model::BlockRef /*block*/) const override { return number_; }

  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override;

  Tensor encoder_output() const override { return encoder_output_; }
  Tensor hidden(inference::Stack /*stack*/) const override { return {}; }
  bool has_logits() const override { return inputs().network->layers->unembedding.has_value(); }
  Tensor logits() const override { return {}; }
  Tensor logits(std::span<const inference::StateRef> states) const override;
  std::vector<Tensor> residuals(std::span<const inference::ResidualRows> requests) const override;

 private:
  /// Returns the array in float32; an empty tensor for an array that isn't there.
  static Tensor rounded(const model::reference::Array& array);

  attention::Tile tile(const attention::TileRequest& request) const;

  void pool(attention::Tile& tile, const double* matrix, inference::BlockShape::Extent extent, std::uint32_t row,
            std::uint32_t column) const;

  bool is_visible(const attention::TileRequest& request, std::uint32_t query, std::uint32_t key) const;

  std::uint64_t number_ = 0;
  Tensor encoder_output_;
  std::vector<model::reference::Array> encoder_hidden_, decoder_hidden_;
  std::map<model::BlockRef, model::reference::AttentionStages> stages_;
};

/// A device without a GPU, whose runs are the reference's.
class ReferenceRunner : public Runner {
 public:
  std::string device_name() const override { return "reference"; }

  void load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
            const inference::LoadObserver& observer) override;
  void unload() override {}

  std::shared_ptr<const inference::Run> run(inference::PassInputs pass,
                                            std::shared_ptr<const inference::Run>&& base) override;
};

std::unique_ptr<Runner> open_reference_runner(const std::string& device);

}  // namespace headlight::app
