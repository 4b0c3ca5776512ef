#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/context.h"
#include "gpu/kernel.h"
#include "ops/tuning.h"

namespace headlight::ops {

/// The kernels of one device, compiled when first used, and which of several that do the same is the fastest there.
class Kernels {
 public:
  explicit Kernels(gpu::Context& context);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  gpu::Context& context() const { return context_; }

  /// A kernel by its name in src/ops/CMakeLists.txt; asserts that there is one.
  const gpu::Kernel& operator[](std::string_view name);
  /// "name_texel" when `texel`, else "name".
  const gpu::Kernel& load(std::string_view name, bool texel);

  /// Kernels loaded so far: a pass that raises it also compiles, and drivers do that inside the submission.
  std::size_t loaded_count() const { return loaded_.size(); }

  const Tuning& tuning() const { return tuning_; }
  void set_tuning(const Tuning& tuning) { tuning_ = tuning; }

  /// How many of `count` parts that cost so many multiply-adds each fit into a submission of their own; at least one.
  std::uint32_t parts_at_once(std::uint32_t count, double multiply_adds_each) const;

  /// Bytes that a binding may span: storage buffers, or texel buffers of vec4.
  std::size_t max_binding(bool texel) const;

  /// Workgroups in one long row, as many rows as an axis of the device's grid needs for them. Some of the last row have
  /// nothing to do.
  struct Fold {
    std::uint32_t groups = 0;  ///< of a row
    std::uint32_t rows = 0;
  };
  Fold fold(std::uint32_t groups) const;

 private:
  gpu::Context& context_;
  std::map<std::string, std::unique_ptr<gpu::Kernel>, std::less<>> loaded_;
  Tuning tuning_;
};

}  // namespace headlight::ops
