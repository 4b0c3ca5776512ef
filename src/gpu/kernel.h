#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gpu/reflect.h"

namespace headlight::gpu {

class Context;

/// One kernel as the build embeds it: its name, the source and defines it was compiled from, and its words.
struct KernelSource {
  std::string_view name;
  std::string_view file;                      ///< "linear_vec4.comp", under shaders/
  std::span<const std::string_view> defines;  ///< "TEXEL=1", …
  std::span<const std::uint32_t> spirv;
};

/// A compute pipeline, its layout taken from the SPIR-V. Several threads may make and compile kernels of one context at the
/// same time, each its own.
class Kernel {
 public:
  enum class Pipeline : std::uint8_t { Now, Later };

  /// With ContextOptions::shader_folder the source is compiled anew with libshaderc; Error with its message if it doesn't.
  /// Later: only what recording needs to know is made, and the pipeline by compile().
  Kernel(Context& context, const KernelSource& source, Pipeline pipeline = Pipeline::Now);
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;

  /// Makes the pipeline unless it is there, which takes drivers milliseconds to seconds.
  void compile();
  bool is_compiled() const;

  const std::string& name() const { return name_; }
  const Reflection& reflection() const { return reflection_; }

  struct Handles;
  const Handles& handles() const { return *handles_; }

 private:
  std::string name_;
  Reflection reflection_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace headlight::gpu
