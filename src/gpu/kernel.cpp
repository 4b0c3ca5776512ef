#include "gpu/kernel.h"

#include <utility>
#include <vector>

#include "core/error.h"
#include "gpu/context.h"
#include "gpu/failure.h"
#include "gpu/kernel_handles.h"
#include "gpu/shader_compiler.h"

namespace headlight::gpu {

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

}  // namespace headlight::gpu
