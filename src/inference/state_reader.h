#pragma once

#include <utility>

#include "attention/run.h"
#include "core/tensor.h"
#include "inference/device_layers.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// Consecutive tokens' states after some layers, of every batch item.
struct StateRows {
  std::uint32_t layer = 0;
  ops::Rows tokens;
  std::shared_ptr<const ops::PackedLinear> translator = {};  ///< that is applied to the states first; or null
};

/// Rows of states whose copies are recorded on a stream, to be read when its submission is done.
class RecordedRows {
 public:
  /// Rows [rows.first, rows.end()) of one batch item. `state` [batch, 1, token, d] must outlive the submission.
  void add(gpu::Stream& stream, const ops::DeviceTensor& state, std::uint32_t item, ops::Rows rows);
  /// Keeps what the submission uses until this is gone.
  void keep(std::shared_ptr<const void> used) { kept_.push_back(std::move(used)); }
  /// [rows.count, d] of each, in the order in which they were added.
  std::vector<Tensor> read(const gpu::Submission& submission) const;

 private:
  struct Part {
    gpu::Download bytes;
    std::uint32_t rows = 0, width = 0;
  };
  std::vector<Part> parts_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// Logits whose computation is recorded on a stream, to be read when its submission is done.
class RecordedLogits {
 public:
  /// [batch, row, vocabulary]
  Tensor read(const gpu::Submission& submission) const;

 private:
  friend class StateReader;
  std::optional<ops::DeviceTensor> translated_, normed_, transformed_;
  ops::DeviceTensor logits_;
  std::uint32_t rows_ = 0;
  float softcap_ = 0.0F;
  std::optional<gpu::Download> bytes_;
};

/// Reads what a pass left: hidden states, and logits computed from them on request, so that a pass needn't compute a
/// vocabulary's worth of numbers for every token.
class StateReader {
 public:
  /// `states`: the stack's, [layer + 1]; `final_norm` and `unembedding` null where there are none; `length`: tokens.
  StateReader(ops::Kernels& kernels, std::span<const attention::DeviceTensorPtr> states, const ops::DeviceNorm* final_norm,
              std::uint32_t length)
      : kernels_(kernels), states_(states), final_norm_(final_norm), length_(length) {}

  /// [layer + 1, batch, token, d]; the last one after the final norm.
  Tensor hidden() const;
  /// [batch, token, d]: the last state after the final norm.
  Tensor output() const;
  /// Records the logits of all rows; the rows together must be few enough for a tensor.
  RecordedLogits record_logits(gpu::Stream& stream, const DeviceUnembedding& weights, const model::Unembedding& source,
                               std::span<const StateRows> rows) const;

 private:
  ops::Kernels& kernels_;
  std::span<const attention::DeviceTensorPtr> states_;
  const ops::DeviceNorm* final_norm_;
  std::uint32_t length_;
};

}  // namespace headlight::inference
