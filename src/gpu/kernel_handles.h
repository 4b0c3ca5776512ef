#pragma once

#include "gpu/handles.h"
#include "gpu/kernel.h"

namespace headlight::gpu {

struct Kernel::Handles {
  Context* context = nullptr;
  vk::raii::ShaderModule module = nullptr;  ///< until the pipeline is made
  vk::raii::DescriptorSetLayout set_layout = nullptr;
  vk::raii::PipelineLayout layout = nullptr;
  vk::raii::Pipeline pipeline = nullptr;
};

}  // namespace headlight::gpu
