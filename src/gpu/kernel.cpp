#include "gpu/kernel.h"

#include <algorithm>

#include <spirv_cross_c.h>

#include "core/error.h"
#include "gpu/context.h"
#include "gpu/failure.h"
#include "gpu/handles.h"
#include "gpu/shader_compiler.h"

namespace headlight::gpu {
namespace {

struct DestroyContext {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};

/// The variables of one kind that the entry point uses.
class Resources {
 public:
  Resources(spvc_compiler compiler, spvc_resources all, spvc_resource_type type) : compiler_(compiler) {
    const spvc_reflected_resource* list = nullptr;
    std::size_t count = 0;
    spvc_resources_get_resource_list_for_type(all, type, &list, &count);
    list_ = {list, count};
  }

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  std::uint32_t binding(const spvc_reflected_resource& resource) const {
    return spvc_compiler_get_decoration(compiler_, resource.id, SpvDecorationBinding);
  }

  bool is_read_only(const spvc_reflected_resource& resource) const {
    const SpvDecoration* decorations = nullptr;
    std::size_t count = 0;
    spvc_compiler_get_buffer_block_decorations(compiler_, resource.id, &decorations, &count);
    return std::find(decorations, decorations + count, SpvDecorationNonWritable) != decorations + count;
  }

 private:
  spvc_compiler compiler_;
  std::span<const spvc_reflected_resource> list_;
};

}  // namespace

Kernel::Kernel(Context& context, KernelSource source, Pipeline pipeline)
    : source_(std::move(source)), handles_(std::make_unique<Handles>()) {
  handles_->context = &context;
  const vk::raii::Device& device = context.handles().device;
  std::vector<std::uint32_t> compiled;
  std::span<const std::uint32_t> words = source_.spirv;
  if (!context.options().shader_folder.empty() && !source_.compiled) {
    compiled = compile_glsl(context.options().shader_folder, source_.file, source_.defines);
    words = compiled;
  }
  reflection_ = reflect(name(), source_.reflected.empty() ? words : source_.reflected);
  if (reflection_.constants > source_.constants.size()) {
    throw Error("kernel {} has {} specialization constants but {} values are given", name(), reflection_.constants,
                source_.constants.size());
  }

  std::vector<vk::DescriptorSetLayoutBinding> bindings;
  for (const Reflection::Binding& binding : reflection_.bindings) {
    bindings.push_back({.binding = binding.number,
                        .descriptorType = binding.kind == Reflection::Kind::Storage
                                              ? vk::DescriptorType::eStorageBuffer
                                              : vk::DescriptorType::eUniformTexelBuffer,
                        .descriptorCount = 1,
                        .stageFlags = vk::ShaderStageFlagBits::eCompute});
  }
  guarded(context.handles(), [&] {
    handles_->set_layout = vk::raii::DescriptorSetLayout(
        device, vk::DescriptorSetLayoutCreateInfo{.bindingCount = static_cast<std::uint32_t>(bindings.size()),
                                                  .pBindings = bindings.data()});
    const vk::PushConstantRange push{.stageFlags = vk::ShaderStageFlagBits::eCompute,
                                     .size = reflection_.push_constant_bytes};
    handles_->layout =
        vk::raii::PipelineLayout(device, vk::PipelineLayoutCreateInfo{.setLayoutCount = 1,
                                                                      .pSetLayouts = &*handles_->set_layout,
                                                                      .pushConstantRangeCount = push.size > 0 ? 1u : 0u,
                                                                      .pPushConstantRanges = &push});
    handles_->module =
        vk::raii::ShaderModule(device, vk::ShaderModuleCreateInfo{.codeSize = words.size_bytes(), .pCode = words.data()});
  });
  if (pipeline == Pipeline::Now) compile();
}

void Kernel::compile() {
  if (is_compiled()) return;
  const Context::Handles& context = handles_->context->handles();
  std::vector<vk::SpecializationMapEntry> entries;
  for (std::uint32_t id = 0; id < source_.constants.size(); ++id) {
    entries.push_back({.constantID = id, .offset = id * 4, .size = 4});
  }
  const vk::SpecializationInfo specialization{.mapEntryCount = static_cast<std::uint32_t>(entries.size()),
                                              .pMapEntries = entries.data(),
                                              .dataSize = source_.constants.size() * 4,
                                              .pData = source_.constants.data()};
  const vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo lanes{.requiredSubgroupSize = source_.subgroup_lanes};
  const bool wants_lanes = source_.subgroup_lanes > 0;
  const auto refuse = [&](std::string_view reason) {
    throw Error("the driver of '{}' refuses the kernel {} ({}); choose another device or update its driver",
                context.info.name, name(), reason);
  };
  if (context.options.refuses && context.options.refuses(name())) refuse("pretended");
  try {
    const vk::PipelineShaderStageCreateInfo stage{.pNext = wants_lanes ? &lanes : nullptr,
                                                  .flags = wants_lanes
                                                               ? vk::PipelineShaderStageCreateFlagBits::eRequireFullSubgroups
                                                               : vk::PipelineShaderStageCreateFlags(),
                                                  .stage = vk::ShaderStageFlagBits::eCompute,
                                                  .module = *handles_->module,
                                                  .pName = "main",
                                                  .pSpecializationInfo = &specialization};
    handles_->pipeline = vk::raii::Pipeline(context.device, nullptr,
                                            vk::ComputePipelineCreateInfo{.stage = stage, .layout = *handles_->layout});
  } catch (const vk::SystemError& error) {
    try {
      fail(context.info, error);
    } catch (const Error& failure) {
      if (failure.kind() != ErrorKind::Other) throw;
    }
    refuse(vk::to_string(static_cast<vk::Result>(error.code().value())));
  }
  handles_->module = nullptr;
}

bool Kernel::is_compiled() const { return *handles_->pipeline != vk::Pipeline(); }

Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;

Reflection reflect(const std::string& kernel_name, std::span<const std::uint32_t> spirv) {
  spvc_context raw = nullptr;
  spvc_context_create(&raw);
  const std::unique_ptr<spvc_context_s, DestroyContext> context(raw);
  const auto check = [&](spvc_result result) {
    if (result != SPVC_SUCCESS) throw Error("kernel {}: {}", kernel_name, spvc_context_get_last_error_string(raw));
  };
  spvc_parsed_ir ir = nullptr;
  check(spvc_context_parse_spirv(raw, spirv.data(), spirv.size(), &ir));
  spvc_compiler compiler = nullptr;
  check(spvc_context_create_compiler(raw, SPVC_BACKEND_NONE, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler));
  if (spvc_compiler_get_execution_model(compiler) != SpvExecutionModelGLCompute) {
    throw Error("kernel {} is no compute shader", kernel_name);
  }
  spvc_resources all = nullptr;
  check(spvc_compiler_create_shader_resources(compiler, &all));

  Reflection reflection;
  const Resources storage(compiler, all, SPVC_RESOURCE_TYPE_STORAGE_BUFFER);
  for (const auto& resource : storage) {
    reflection.bindings.push_back({storage.binding(resource), Reflection::Kind::Storage, !storage.is_read_only(resource)});
  }
  const Resources texel(compiler, all, SPVC_RESOURCE_TYPE_SAMPLED_IMAGE);
  for (const auto& resource : texel) {
    reflection.bindings.push_back({texel.binding(resource), Reflection::Kind::UniformTexel, false});
  }
  std::sort(reflection.bindings.begin(), reflection.bindings.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });

  const Resources push(compiler, all, SPVC_RESOURCE_TYPE_PUSH_CONSTANT);
  for (const auto& resource : push) {
    std::size_t bytes = 0;
    check(spvc_compiler_get_declared_struct_size(compiler, spvc_compiler_get_type_handle(compiler, resource.base_type_id),
                                                 &bytes));
    reflection.push_constant_bytes = static_cast<std::uint32_t>(bytes);
  }
  const spvc_specialization_constant* constants = nullptr;
  std::size_t count = 0;
  check(spvc_compiler_get_specialization_constants(compiler, &constants, &count));
  for (const spvc_specialization_constant& constant : std::span(constants, count)) {
    reflection.constants = std::max(reflection.constants, constant.constant_id + 1);
  }
  for (unsigned axis = 0; axis < 3; ++axis) {
    reflection.local_size[axis] =
        spvc_compiler_get_execution_mode_argument_by_index(compiler, SpvExecutionModeLocalSize, axis);
  }
  return reflection;
}

}  // namespace headlight::gpu
