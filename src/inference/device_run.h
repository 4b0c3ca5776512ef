#pragma once

#include "attention/run.h"
#include "inference/device_layers.h"
#include "inference/layer_recorder.h"
#include "inference/run.h"
#include "inference/run_tensors.h"
#include "inference/state_reader.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// A run whose tensors are on a session's device. The session must outlive it.
class DeviceRun final : public Run {
 public:
  DeviceRun(PassInputs inputs, const RunTiming& timing, const RunFindings& findings, ops::Kernels& kernels,
            std::shared_ptr<const DeviceLayers> layers, attention::AttentionRun blocks, RunTensors tensors);

  const ops::Kernels* kernels() const { return &kernels_; }
  const std::shared_ptr<const DeviceLayers>& layers() const { return layers_; }
  const attention::AttentionRun& attention_run() const { return run_; }
  const RunTensors& tensors() const { return tensors_; }

  /// A pass that overwrote this run's tensors didn't end: from now on every question throws Error.
  void destroy() const { is_destroyed_ = true; }
  bool is_destroyed() const { return is_destroyed_; }

  std::vector<model::BlockRef> blocks() const override;
  BlockShape shape(model::BlockRef block) const override;
  std::uint64_t version(model::BlockRef block) const override;
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override;
  Tensor hidden(Stack stack) const override;
  Tensor encoder_output() const override;
  bool has_logits() const override;
  Tensor logits() const override;
  Tensor logits(std::span<const StateRef> states) const override;
  std::vector<Tensor> residuals(std::span<const ResidualRows> requests) const override;
  std::vector<Tensor> products(std::span<const Product> products) const override;
  Answers answer(const Questions& questions) const override;

 private:
  /// The states of a stack; none without such a stack.
  std::optional<StateReader> reader(Stack stack) const;
  Stack last_stack() const;
  std::uint32_t last_layer() const;
  const model::TokenBatch& tokens(Stack stack) const;
  /// Rows whose logits fit into one tensor comfortably.
  std::uint32_t rows_at_once() const;
  RecordedLogits record_logits(gpu::Stream& stream, std::span<const StateRows> rows) const;
  Tensor read_logits(std::span<const StateRows> rows) const;
  RecordedRows record_residuals(gpu::Stream& stream, std::span<const ResidualRows> requests) const;
  /// Computes stages of the stream again, those that `stages` has keys for, of these tokens; returns what must live until
  /// the submission is done.
  std::shared_ptr<const void> record_stream(gpu::Stream& stream, model::BlockRef block, ops::Rows rows,
                                            StreamStages& stages) const;
  /// Requests of stages of the stream, by their indices in ascending order.
  void evaluate_stream(model::BlockRef block, std::span<const attention::TileRequest> requests,
                       std::span<const std::size_t> indices, std::vector<attention::Tile>& tiles) const;
  void check() const;
  /// Throws Error where this is a run of copies that begins after so few layers.
  void check_layer(Stack stack, std::uint32_t layer) const;

  ops::Kernels& kernels_;
  std::shared_ptr<const DeviceLayers> layers_;
  attention::AttentionRun run_;
  RunTensors tensors_;
  mutable bool is_destroyed_ = false;
};

}  // namespace headlight::inference
