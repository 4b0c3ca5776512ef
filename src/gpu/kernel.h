#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::gpu {

/// The bindings and constants that a kernel expects, read from its SPIR-V.
struct Reflection {
  enum class Kind : std::uint8_t { Storage, UniformTexel };
  struct Binding {
    std::uint32_t number = 0;
    Kind kind = Kind::Storage;
    bool is_written = false;
  };
  std::vector<Binding> bindings;  ///< sorted by number
  std::uint32_t push_constant_bytes = 0;
  std::uint32_t local_size[3] = {1, 1, 1};  ///< the default where a specialization constant sets it
  std::uint32_t constants = 0;              ///< one more than the largest constant_id
};

/// Throws Error naming the kernel when the words are no compute shader or use what Headlight's kernels never use.
Reflection reflect(const std::string& kernel_name, std::span<const std::uint32_t> spirv);

class Context;

/// The source of a kernel: a module as the build embeds it, with the file and defines it was compiled from, and the
/// values of its specialization constants. Views are of static storage, or of what `compiled` shares.
struct KernelSource {
  std::string name;                           ///< for messages
  std::string_view file;                      ///< "linear_vec4.comp", under shaders/
  std::span<const std::string_view> defines;  ///< "TEXEL=1", …
  std::span<const std::uint32_t> spirv;
  std::vector<std::uint32_t> constants = {};  ///< number i is the value of constant_id i
  /// Lanes that a subgroup must have, all of them in use; 0: as the driver likes. Only of DeviceInfo::matrix_lanes.
  std::uint32_t subgroup_lanes = 0;
  /// A module with the same bindings and constants, where `spirv` has types that reflection doesn't know; else empty.
  std::span<const std::uint32_t> reflected = {};
  /// The words that `spirv` is a view of, where they were compiled at run time.
  std::shared_ptr<const std::vector<std::uint32_t>> compiled = {};
};

/// A compute pipeline, its layout taken from the SPIR-V. Several threads may make and compile kernels of one context at the
/// same time, each its own.
class Kernel {
 public:
  enum class Pipeline : std::uint8_t { Now, Later };

  /// Makes the kernel. With ContextOptions::shader_folder its source is compiled anew with libshaderc; throws Error
  /// with the compiler's message where that fails. Later: only what recording needs to know is made, and the pipeline
  /// by compile(). Throws Error when the module has more specialization constants than the source has values.
  Kernel(Context& context, KernelSource source, Pipeline pipeline = Pipeline::Now);
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;

  /// Makes the pipeline unless it is there, which takes drivers milliseconds to seconds. Throws Error that names the kernel
  /// where the driver refuses it: of kind DeviceLost or OutOfDeviceMemory if it says so.
  void compile();
  bool is_compiled() const;

  const std::string& name() const { return source_.name; }
  const KernelSource& source() const { return source_; }
  const Reflection& reflection() const { return reflection_; }

  struct Handles;
  const Handles& handles() const { return *handles_; }

 private:
  KernelSource source_;
  Reflection reflection_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace headlight::gpu
