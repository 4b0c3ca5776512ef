#pragma once

#include <map>
#include <set>

#include "gpu/context.h"
#include "gpu/kernel.h"
#include "ops/host_threads.h"
#include "ops/kernel_variant.h"
#include "ops/tuning.h"

namespace headlight::ops {

/// Progress of the kernels that a pass waits for: how many are compiled. Called on the requesting thread, before the first
/// with 0 and after each.
using CompileObserver = std::function<void(std::size_t done, std::size_t total)>;

/// The conversions from float16 of a device that keep subnormal numbers (below 2^-14). Vulkan lets each flush them to
/// 0, and no property of a device says whether it does.
struct HalfConversions {
  bool unpacking_keeps = false;  ///< unpackHalf2x16
  bool texels_keep = false;      ///< texel buffers of float16
};

/// The kernels of one device, compiled at their first use, and the fastest choice among equivalent ones.
class Kernels {
 public:
  explicit Kernels(gpu::Context& context);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  gpu::Context& context() const { return context_; }
  /// The constant of kernels whose sums must have the bits of the program's own attention (AttentionKernel::Host).
  std::uint32_t rounds_products() const { return context_.device().is_cpu ? 1 : 0; }

  /// Throws Error when the build has no module for the variant, or the driver refuses to make its pipeline.
  const gpu::Kernel& operator[](const KernelVariant& variant);

  /// Returns the kernel for a caller that can use another in its place: null when the driver refuses this one, now or
  /// before. Drivers do so for lack of registers, and some call that a lack of memory; a device that is lost is an
  /// Error.
  const gpu::Kernel* find(const KernelVariant& variant);
  /// Has the driver refused the variant, or has exclude() left it out?
  bool is_refused(const KernelVariant& variant) const {
    return refused_.contains(variant) || (!excluded_.empty() && excluded_.contains(to_string(variant)));
  }

  /// Leaves kernels out (names of to_string) whose numbers were found to be wrong, as if the driver refused them: find() has
  /// none of them, operator[] only where nothing can take their place.
  void exclude(std::set<std::string> names) { excluded_ = std::move(names); }

  /// While one exists, kernels that aren't compiled yet are only listed: streams skip their dispatches
  /// (gpu::Stream::is_complete), and the caller records the stream again after compile_listed().
  class Listing {
   public:
    explicit Listing(Kernels& kernels) : kernels_(kernels) { kernels_.is_listing_ = true; }
    ~Listing() { kernels_.is_listing_ = false; }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;

   private:
    Kernels& kernels_;
  };
  /// Names (to_string) of kernels that were requested and aren't compiled, in order of request.
  std::vector<std::string> listed() const;
  bool has_listed() const { return !listed_.empty(); }
  /// Compiles these, in their order, on as many threads as the processor has (ops/compile.h), and forgets the list. What the
  /// driver refuses is remembered: the next recording chooses other kernels, or throws what the driver says.
  void compile_listed(const CompileObserver& observer = {});

  /// Forgets kernels that were not requested for `for_so_long`; no recorded stream may hold one. On a processor each
  /// takes half a megabyte of the program's memory or more. A kernel that is requested again is compiled anew, mostly
  /// from the driver's cache.
  void forget_unused(std::chrono::steady_clock::duration for_so_long);
  /// Returns the number of kernels in memory.
  std::size_t loaded() const { return loaded_.size(); }

  /// Forgets kernels with expressions beyond those of the texts used last; no recorded stream may hold one.
  void forget_old_expressions();

  const Tuning& tuning() const { return tuning_; }
  void set_tuning(const Tuning& tuning) { tuning_ = tuning; }

  /// Returns the device's conversions of float16; measured at the first call.
  const HalfConversions& half_conversions();

  /// Threads of the ops that compute on the host.
  HostThreads& host_threads();

  /// Returns how many of `count` parts, each of the given multiply-adds, fit into one submission; at least one.
  std::uint32_t parts_at_once(std::uint32_t count, double multiply_adds_each) const;

  /// The most bytes of a binding: a storage buffer, or a texel buffer of vec4.
  std::size_t max_binding(bool texel) const;

  /// A linear count of workgroups, split into rows where it exceeds the limit of one axis of the device's grid. Some in the
  /// last row are idle.
  struct Fold {
    std::uint32_t groups = 0;  ///< of a row
    std::uint32_t rows = 0;
  };
  Fold fold(std::uint32_t groups) const;

 private:
  struct Loaded {
    std::unique_ptr<gpu::Kernel> kernel;
    std::chrono::steady_clock::time_point last_use = {};
  };
  using LoadedKernels = std::map<KernelVariant, Loaded>;

  LoadedKernels::iterator forget(LoadedKernels::iterator kernel);

  gpu::Context& context_;
  LoadedKernels loaded_;
  std::set<KernelVariant> refused_;
  std::set<std::string> excluded_;
  std::vector<gpu::Kernel*> listed_;
  bool is_listing_ = false;
  std::vector<std::string> expressions_;  ///< of loaded kernels, in the order of their last use
  Tuning tuning_;
  std::optional<HalfConversions> half_conversions_;
  std::unique_ptr<HostThreads> host_threads_;  ///< from the first use on
};

}  // namespace headlight::ops
