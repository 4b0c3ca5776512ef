#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

#include "attention/mask.h"
#include "core/tensor.h"
#include "inference/reuse.h"
#include "inference/run.h"
#include "model/network.h"

namespace headlight::gpu {
class Context;
}

namespace headlight::inference {

/// The form in which weights are kept on the device; arithmetic is in float32 with either. F32: without a change of a
/// number, 16-bit ones and the blocks of ops::WeightType as their file has them, all others as float32. F16: each
/// rounded to float16.
enum class Precision : std::uint8_t { F32, F16 };

/// Bytes of weights that are on the device, and all of them. Returning false cancels: load() throws Error.
using LoadObserver = std::function<bool(std::size_t done_bytes, std::size_t total_bytes)>;

/// A look at a network of one stack before all of its weights are on the device.
struct FirstLayers {
  std::uint32_t count = 0;  ///< of layers that suffice for it; 0, or all of them: there is no such look
  /// Loading the others must be expected to take so long, by what the first ones took: sooner, nothing is worth showing.
  double least_rest_ms = 300.0;
  /// Called within load(), on its thread: run() of a network that has `layers`, the first ones alone and nothing after
  /// them, is allowed from now on until it returns. What such a run computes, that of the whole network computes as well,
  /// bit by bit. Other calls of the session aren't allowed; a run that is kept may be asked while the load goes on.
  std::function<void(const std::shared_ptr<const model::Layers>& layers)> ready = {};
};

/// Kernels that are compiled of those that run() waits for.
using CompileObserver = std::function<void(std::size_t done, std::size_t total)>;

/// Layers of a long pass that are computed, and all of them. Returning false cancels: run() throws Error of kind Cancelled.
using PassObserver = std::function<bool(std::size_t done, std::size_t total)>;

/// Multiply-adds from which a pass is long: some second on a processor.
inline constexpr double kLongPass = 2e10;

/// Queries, keys and values of one attention block that no layer projected, as of a capture: row i of a head is
/// softmax_j(cap(qᵢ·kⱼ · scale)) over the keys that are no padding, with a causal mask over those with j ≤ i, with a window
/// over those with |i − j| < window.
struct GivenAttention {
  model::BlockRef block;  ///< the run's only one
  Tensor q;               ///< [head, query, d_k]
  Tensor k;               ///< [KV head, key, d_k]; their number divides that of the heads
  Tensor v;               ///< [KV head, key, d_v]; empty: the block has no values
  model::Scale scale = {};
  float softcap = 0.0F;  ///< scaled scores s become softcap · tanh(s / softcap); 0: off
  bool is_causal = false;
  std::uint32_t window = 0;                           ///< 0: none
  std::optional<attention::KeyRange> real_keys = {};  ///< the others are padding; nullopt: none is
};

/// The name of a session without a device, where devices have names.
inline constexpr std::string_view kProcessorName = "processor (without Vulkan)";

/// Runs networks on one device, or without one. Not thread-safe: one owner calls it, and its calls block until all is done.
class Session {
 public:
  /// `tuning_file` remembers which kernels are the fastest on which device (ops/tuning.h); where it doesn't know this one, a
  /// guess serves until tune_step() has measured. Empty: the guess stays.
  explicit Session(gpu::Context& context, const std::filesystem::path& tuning_file = {});
  /// Makes a session without a device: passes are computed whole, by the processor (inference/processor_run.h).
  Session();
  /// Runs must have gone before.
  ~Session();
  Session(Session&&) noexcept;

  /// Streams a network's weights to the device, in place of those there, which stay until the last run with them is gone.
  /// Throws Error before anything is allocated when the device can't hold them, with the sum and what to do about it.
  void load(std::shared_ptr<const model::Layers> layers, Precision precision, const LoadObserver& observer = {},
            const FirstLayers& first = {});
  /// Frees weights that no run has, and scratch.
  void unload();

  /// Throws Error where the device has less memory than a run of this input takes (inference/memory_estimate.h). run() asks
  /// it too.
  void expect_room(const model::Network& network, const model::ModelInput& input) const;

  /// One forward pass: a single submission, or a few where it is long. Weights go up once for each model::Layers object, in
  /// the precision that load() chose last. `base` is an earlier run of this session: what the new one would compute again,
  /// it shares with it – the tokens before the first edit of a causal model, the layers before the first changed mask or
  /// gain – and the rest is computed into memory of its own. Other runs stay as they are, whether this succeeds or throws.
  /// Throws Error in one line when the input is not valid or the device can't hold it (needed and available bytes).
  std::shared_ptr<const Run> run(PassInputs pass, const std::shared_ptr<const Run>& base = nullptr);
  /// Computes the pass as run() above does, but the caller gives `base` away: its memory is computed into when nothing
  /// else has a handle on it, so the device needs memory for one run only. `base` is null afterwards. When this throws,
  /// `base` is what it was, unless the device was lost or needed the base's memory to try again: then it is null.
  std::shared_ptr<const Run> run(PassInputs pass, std::shared_ptr<const Run>&& base);
  /// Passes with these changes after the own interventions of `base`, a run of this session, of one of its lines, computed
  /// together: items of one run, which has only the layers from the first changed one on. Its numbers are those of passes
  /// computed one by one where the device's kernels sum a row in the same order whatever is computed with it, as the
  /// functions for processors do; else they differ by float32's rounding. Null where these passes can't be one
  /// (can_copy()), or the base can't be begun from. Throws as run() does.
  std::shared_ptr<const Run> run_copies(const Run& base, std::uint32_t line, std::span<const Interventions> changes);
  /// Attention of one block without a network. Its rows are computed when tiles ask for them, with the kernels of run(). No
  /// run() takes it for a base. Throws Error of kind OutOfDeviceMemory when the device can't hold it. Of sessions with a
  /// device only, as most_tensor_bytes() and tune_step().
  std::shared_ptr<const Run> attend(const GivenAttention& given);
  /// Bytes that one tensor of attend() may have, with rows of whole vec4: more can't be bound at once.
  std::size_t most_tensor_bytes() const;

  /// Called within run(), before it compiles the kernels that its pass lacks and the one that shows a map, and after each.
  void watch_compiling(CompileObserver observer);
  /// Called within run() of a pass of `long_pass` multiply-adds or more, before the first layer and after each. Such a pass
  /// is submitted layer by layer.
  void watch_passes(PassObserver observer, double long_pass = kLongPass);

  /// Forgets kernels that no pass and no tile has needed in so long (ops::Kernels::forget_unused).
  void forget_unused_kernels(std::chrono::steady_clock::duration for_so_long);

  /// Has the device been measured? If not, each step takes up to a second the first time a machine sees a kernel; do them
  /// when the user doesn't wait. Runs stay as they are.
  bool is_tuned() const;
  void tune_step();

 private:
  struct State;
  struct Processor;
  std::unique_ptr<State> state_;          ///< null without a device
  std::unique_ptr<Processor> processor_;  ///< null with one
};

}  // namespace headlight::inference
