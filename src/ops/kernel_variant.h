#pragma once

#include <array>
#include <compare>
#include <filesystem>

#include "gpu/kernel.h"
#include "ops/weight_type.h"

namespace headlight::ops {

/// The compute shaders, in the order of their facts in kernel_variant.cpp.
enum class Shader : std::uint8_t {
  AddRows,
  AddToHead,
  AttentionBlockScores,   ///< constants: rows, rounds_products
  AttentionBlockSoftmax,  ///< has_extras
  AttentionBlockValues,   ///< rows
  AttentionCellsExact,    ///< rounds_products
  AttentionCellsPooled,   ///< has_extras, means_weights, rounds_products
  AttentionCellsTiled,
  AttentionMerge,
  AttentionNaive,
  AttentionTiled,  ///< lanes, rolled
  AverageHead,
  CountOddNumbers,
  DistanceScores,
  DropHead,
  ExpandBlocks,  ///< type
  ExpertsGroup,
  ExpertsRoute,
  ExpertsSum,
  HalfProbe,
  LinearGemv,    ///< activation, rows
  LinearMatrix,  ///< activation, lanes
  LinearMatrixLarge,
  LinearNaive,  ///< activation
  LinearRowScales,
  LinearShuffle,  ///< activation, rows
  LinearSum,      ///< activation
  LinearTiled,    ///< activation, lanes
  LinearVec4,     ///< activation, rows
  MatrixRegion,
  Norm,  ///< lanes
  ReplaceHead,
  Rotate,
  ScaleHead,
};
inline constexpr std::size_t kShaders = 34;

/// Is it of lib/matrix_product.glsl?
constexpr bool is_of_matrices(Shader shader) {
  return shader == Shader::LinearMatrix || shader == Shader::LinearMatrixLarge;
}
/// Subgroups of such a shader's workgroup.
constexpr std::uint32_t matrix_subgroups(Shader shader) { return shader == Shader::LinearMatrixLarge ? 8 : 4; }

/// A kernel: a shader, the module of it that is needed, and the values of its specialization constants.
struct KernelVariant {
  Shader shader = Shader::AddToHead;
  // Modules of one shader differ in types of bindings and in features that the device must have:
  bool reads_texels = false;             ///< operands are texel buffers
  WeightType weights = WeightType::F32;  ///< in a storage buffer; texel buffers convert float16 by themselves
  bool shuffles = false;                 ///< lanes exchange rows by subgroup shuffles
  bool multiplies_matrices = false;      ///< by the device's units for them (DeviceInfo::matrix_lanes)
  bool reads_half_bits = false;          ///< of float16: converted by integers, where the device's conversion isn't exact
  bool of_experts = false;               ///< rows and weights are found by a routing buffer (ops/experts.h)
  std::array<std::uint32_t, 3> constants = {};  ///< by constant_id, as many as the shader has; the rest is 0
  /// MaskExpressions::glsl; with it the kernel is compiled at run time. Only of shaders that include lib/mask.glsl.
  std::string expressions = {};

  auto operator<=>(const KernelVariant&) const = default;
};

/// "linear_vec4.texel.activation=0.rows=8", for reports and messages.
std::string to_string(const KernelVariant& variant);

/// One SPIR-V module that the build compiled (src/ops/CMakeLists.txt).
struct KernelModule {
  std::string_view shader;                    ///< "linear_vec4"
  std::string_view file;                      ///< "linear_vec4.comp"
  std::span<const std::string_view> defines;  ///< of TEXEL=1, HALF=1, BFLOAT=1, SHUFFLE=1, MATRIX=1, EXPERTS=1
  std::span<const std::uint32_t> spirv;
};
std::span<const KernelModule> kernel_modules();

/// Returns the words that reflection reads: the module's own, or those of a module with the same interface where
/// reflection may not know all of the module's types.
std::span<const std::uint32_t> interface_words(const KernelModule& module);

/// Did the compiler of this build know matrices of subgroups (GL_KHR_cooperative_matrix)? glslc of Debian 12 doesn't.
bool has_matrix_kernels();

/// A shader, or a file that shaders include, as the build embeds it (cmake/Kernels.cmake): what kernels with expressions are
/// compiled from.
struct ShaderText {
  std::string_view path;  ///< "lib/mask.glsl"
  std::string_view text;
};
std::span<const ShaderText> shader_texts();

/// Compiles the kernel where it has expressions: from `folder`, or from what the build embeds where that is empty. Throws
/// Error when the build has no such module or it doesn't compile.
gpu::KernelSource kernel_source(const KernelVariant& variant, const std::filesystem::path& folder = {});

/// Every variant that the ops can ask for, but those with reads_half_bits, which differ in a few instructions; `is_cpu`: on
/// a device that is the processor (DeviceInfo::is_cpu).
std::vector<KernelVariant> kernel_variants(bool is_cpu);

}  // namespace headlight::ops
