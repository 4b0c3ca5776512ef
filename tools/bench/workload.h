#pragma once

#include <memory>
#include <string>

#include "gpu/stream.h"
#include "inference/session.h"
#include "ops/attention_blocks.h"
#include "ops/cells.h"
#include "ops/kernels.h"
#include "ops/linear.h"
#include "tools/bench/operation.h"

namespace headlight::bench {

/// One size's operands on the device, made of normal random numbers (the same in every run), for every operation except
/// Forward and HeadMerge.
class Workload {
 public:
  Workload(ops::Kernels& kernels, const Size& size);

  const Size& size() const { return size_; }

  /// Records one call.
  void record(gpu::Stream& stream, Operation operation) const;

  /// Dispatches of one call, without running it.
  std::uint32_t dispatches(Operation operation) const;

  /// The kernel that an operation runs, as a report names it.
  std::string variant(Operation operation) const;

 private:
  void record_projection(gpu::Stream& stream, ops::LinearKernel kernel) const;
  void record_steps(gpu::Stream& stream, ops::BlockSteps steps) const;
  void record_tile(gpu::Stream& stream, const ops::Region& region) const;
  ops::AttentionKernel blocks() const;
  ops::AttentionInputs inputs() const;
  ops::AttentionOutputs outputs() const;

  ops::Kernels& kernels_;
  Size size_;
  float scale_ = 1.0f;
  ops::PackedLinear projections_, output_;
  ops::DeviceTensor x_, q_, k_, v_, merged_, stats_, y_;
  gpu::Buffer mask_words_, cells_;
  ops::MaskData mask_;
  std::unique_ptr<ops::AttentionScratch> scratch_;
};

/// Dispatches of such a pass that count what isn't a number in it (inference/run_findings.h): on the host one for all; on
/// the device one for its attention and one for its last state.
std::uint32_t counts_of_pass(const gpu::Context& context);

/// The same size as a network of one layer, run by a session: Forward.
class WholePass {
 public:
  explicit WholePass(const Size& size);

  /// One pass through the session, in place of the last one.
  inference::RunTiming run(inference::Session& session, std::shared_ptr<const inference::Run>& last) const;

  /// Of the layer's outputs, in units of their root mean square, against model::reference.
  double largest_error(inference::Session& session) const;

  /// Bytes that its weights take on the device; the rest of a run's memory should grow with n · d.
  std::size_t weight_bytes() const;

 private:
  std::shared_ptr<const model::Network> network_;
  model::ModelInput input_;
  attention::MaskSet masks_;
};

}  // namespace headlight::bench
