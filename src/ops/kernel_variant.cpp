#include "ops/kernel_variant.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/shader_compiler.h"

namespace headlight::ops {
namespace {

struct Constant {
  std::string_view name;
  std::vector<std::uint32_t> values;         ///< that the ops use
  std::vector<std::uint32_t> shuffled = {};  ///< instead, in modules built with SHUFFLE, which fix the constant
  std::vector<std::uint32_t> on_cpu = {};    ///< instead, where the device is the processor
};
struct ShaderFacts {
  std::string_view name;
  std::vector<Constant> constants;  ///< by constant_id
};

/// The facts of each shader, in the order of the enumerators.
const std::array<ShaderFacts, kShaders>& shader_facts() {
  static const Constant activation{"activation", {0, 1, 2, 3, 4, 5, 6}}, rounds{"rounds_products", {0}, {0, 1}, {1}};
  static const std::array<ShaderFacts, kShaders> facts{
      {{"add_rows", {}},
       {"add_to_head", {}},
       {"attention_block_scores", {{"rows", {1, 8}, {16}}, rounds}},
       {"attention_block_softmax", {{"has_extras", {0, 1}}}},
       {"attention_block_values", {{"rows", {1, 8}, {8}}}},
       {"attention_cells_exact", {rounds}},
       {"attention_cells_pooled", {{"has_extras", {0, 1}}, {"means_weights", {0, 1}}, rounds}},
       {"attention_cells_tiled", {}},
       {"attention_merge", {}},
       {"attention_naive", {}},
       {"attention_tiled", {{"lanes", {64, 256}}, {"rolled", {0}, {}, {1}}}},
       {"average_head", {}},
       {"count_odd_numbers", {}},
       {"distance_scores", {}},
       {"drop_head", {}},
       {"expand_blocks", {{"type", {3, 4, 5, 6, 7, 8}}}},
       {"experts_group", {}},
       {"experts_route", {}},
       {"experts_sum", {}},
       {"half_probe", {}},
       {"linear_gemv", {activation, {"rows", {1, 2, 4, 8}}}},
       {"linear_matrix", {activation, {"lanes", {128, 256}}}},
       {"linear_matrix_large", {activation, {"lanes", {256, 512}}}},
       {"linear_naive", {activation}},
       {"linear_row_scales", {}},
       {"linear_shuffle", {activation, {"rows", {8, 16}}}},
       {"linear_sum", {activation}},
       {"linear_tiled", {activation, {"lanes", {64, 128, 256}}}},
       {"linear_vec4", {activation, {"rows", {1, 4, 8}}}},
       {"matrix_region", {}},
       {"norm", {{"lanes", {8, 64}}}},
       {"replace_head", {}},
       {"rotate", {}},
       {"scale_head", {}}}};
  return facts;
}

const ShaderFacts& facts_of(Shader shader) { return shader_facts().at(static_cast<std::size_t>(shader)); }

bool has_define(const KernelModule& module, std::string_view define) {
  return std::ranges::find(module.defines, define) != module.defines.end();
}

/// The module's variant, its constants unset.
KernelVariant variant_of(const KernelModule& module) {
  const auto& facts = shader_facts();
  const auto shader = std::ranges::find(facts, module.shader, &ShaderFacts::name);
  if (shader == facts.end()) throw Error("no enumerator names the shader '{}'", module.shader);
  return {.shader = static_cast<Shader>(shader - facts.begin()),
          .reads_texels = has_define(module, "TEXEL=1"),
          .weights = has_define(module, "HALF=1")     ? WeightType::F16
                     : has_define(module, "BFLOAT=1") ? WeightType::BF16
                                                      : WeightType::F32,
          .shuffles = has_define(module, "SHUFFLE=1"),
          .multiplies_matrices = has_define(module, "MATRIX=1"),
          .reads_half_bits = false,
          .of_experts = has_define(module, "EXPERTS=1"),
          .constants = {},
          .expressions = {}};
}

std::string embedded(std::string_view path) {
  const auto texts = shader_texts();
  const auto found = std::ranges::find(texts, path, &ShaderText::path);
  if (found == texts.end()) throw Error("there is no shader '{}'", path);
  return std::string(found->text);
}

/// Compiles the source with EXPRESSIONS defined and with the variant's own expressions.glsl.
void compile(const KernelVariant& variant, const std::filesystem::path& folder, gpu::KernelSource& source) {
  static constexpr std::array<std::string_view, 2> kDefines{"EXPRESSIONS=1", "TEXEL=1"};
  source.defines = std::span(kDefines).first(variant.reads_texels ? 2 : 1);
  const gpu::ShaderReader read = folder.empty() ? gpu::ShaderReader(embedded) : gpu::shaders_of(folder);
  source.compiled = std::make_shared<const std::vector<std::uint32_t>>(
      gpu::compile_glsl([&](std::string_view path) { return path == "expressions.glsl" ? variant.expressions : read(path); },
                        source.file, source.defines));
  source.spirv = *source.compiled;
}

}  // namespace

std::string to_string(const KernelVariant& variant) {
  const ShaderFacts& facts = facts_of(variant.shader);
  std::string name(facts.name);
  if (variant.reads_texels) name += ".texel";
  if (variant.weights == WeightType::F16) name += ".half";
  if (variant.weights == WeightType::BF16) name += ".bfloat";
  if (variant.reads_half_bits) name += ".bits";
  if (variant.shuffles) name += ".shuffle";
  if (variant.multiplies_matrices) name += ".matrix";
  if (variant.of_experts) name += ".experts";
  if (!variant.expressions.empty()) name += ".expressions";
  for (std::size_t id = 0; id < facts.constants.size(); ++id) {
    name += fmt::format(".{}={}", facts.constants[id].name, variant.constants.at(id));
  }
  return name;
}

gpu::KernelSource kernel_source(const KernelVariant& variant, const std::filesystem::path& folder) {
  KernelVariant wanted = variant;
  wanted.constants = {};
  wanted.reads_half_bits = false;
  wanted.expressions.clear();
  const auto modules = kernel_modules();
  const auto module = std::ranges::find(modules, wanted, variant_of);
  if (module == modules.end()) throw Error("there is no kernel '{}'", to_string(variant));
  const std::size_t count = facts_of(variant.shader).constants.size();
  gpu::KernelSource source{
      .name = to_string(variant),
      .file = module->file,
      .defines = module->defines,
      .spirv = module->spirv,
      .constants = {variant.constants.begin(), variant.constants.begin() + static_cast<std::ptrdiff_t>(count)}};
  if (variant.weights == WeightType::F16 && !is_of_matrices(variant.shader)) {  // lib/load.glsl
    source.constants.resize(variant.constants.size());
    source.constants.push_back(variant.reads_half_bits ? 1 : 0);
  }
  if (!variant.expressions.empty()) compile(variant, folder, source);
  if (variant.multiplies_matrices) {
    source.subgroup_lanes = variant.constants[1] / matrix_subgroups(variant.shader);
    source.reflected = interface_words(*module);
  }
  return source;
}

std::span<const std::uint32_t> interface_words(const KernelModule& module) {
  KernelVariant plain = variant_of(module);
  if (!plain.multiplies_matrices) return module.spirv;
  plain.multiplies_matrices = false;
  const auto modules = kernel_modules();
  const auto found = std::ranges::find(modules, plain, variant_of);
  return found == modules.end() ? module.spirv : found->spirv;
}

bool has_matrix_kernels() {
  return std::ranges::any_of(kernel_modules(), [](const KernelModule& module) { return has_define(module, "MATRIX=1"); });
}

std::vector<KernelVariant> kernel_variants(bool is_cpu) {
  std::vector<KernelVariant> all;
  for (const KernelModule& module : kernel_modules()) {
    std::vector<KernelVariant> of_module{variant_of(module)};
    const ShaderFacts& facts = facts_of(of_module.front().shader);
    for (std::size_t id = 0; id < facts.constants.size(); ++id) {
      const Constant& constant = facts.constants[id];
      const auto& on_device = is_cpu && !constant.on_cpu.empty() ? constant.on_cpu : constant.values;
      std::vector<KernelVariant> longer;
      for (const KernelVariant& variant : of_module) {
        for (const std::uint32_t value : variant.shuffles ? constant.shuffled : on_device)
          longer.emplace_back(variant).constants.at(id) = value;
      }
      of_module = std::move(longer);
    }
    all.insert(all.end(), of_module.begin(), of_module.end());
  }
  return all;
}

}  // namespace headlight::ops
