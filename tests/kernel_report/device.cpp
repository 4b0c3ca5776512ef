#include "kernel_report/device.h"

#include <algorithm>
#include <ctime>
#include <string_view>

#include "core/error.h"
#include "gpu/cooperative_matrices.h"
#include "gpu/kernel.h"

namespace headlight::kernel_report {
namespace {

void check(VkResult result, std::string_view call) {
  if (result != VK_SUCCESS) throw Error("{} failed ({})", call, static_cast<int>(result));
}

/// Vulkan's two calls for a list: the count, then the elements.
template <typename Element, typename Ask>
std::vector<Element> list(Element empty, const Ask& ask) {
  std::uint32_t count = 0;
  ask(&count, nullptr);
  std::vector<Element> elements(count, empty);
  ask(&count, elements.data());
  elements.resize(count);
  return elements;
}

double process_ms() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

VkDescriptorType descriptor_type(const gpu::Reflection::Binding& binding) {
  return binding.kind == gpu::Reflection::Kind::Storage ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                        : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
}

double value_of(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 != 0 ? 1.0 : 0.0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(statistic.value.u64);
    default:
      return statistic.value.f64;
  }
}

}  // namespace

struct Device::Pipeline {
  gpu::Reflection reflection;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

Device::Device() {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo instance_info{};
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  check(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
  const auto physicals = list(VkPhysicalDevice{}, [&](std::uint32_t* count, VkPhysicalDevice* elements) {
    vkEnumeratePhysicalDevices(instance, count, elements);
  });
  if (physicals.empty()) throw Error("no Vulkan device");
  physical_ = physicals.front();
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical_, &properties);
  name_ = properties.deviceName;
  is_cpu_ = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;

  const auto extensions = list(VkExtensionProperties{}, [&](std::uint32_t* count, VkExtensionProperties* elements) {
    vkEnumerateDeviceExtensionProperties(physical_, nullptr, count, elements);
  });
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(extensions,
                               [&](const VkExtensionProperties& extension) { return name == extension.extensionName; });
  };
  const char* statistics = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  has_statistics_ = has(statistics);
  gpu::MatrixFeatures matrices;
  if (std::ranges::all_of(gpu::kMatrixExtensions, has)) {
    VkPhysicalDeviceFeatures2 query{};
    query.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    query.pNext = matrices.first();
    vkGetPhysicalDeviceFeatures2(physical_, &query);
    has_matrices_ = matrices.are_all_there();
  }
  std::vector<const char*> wanted;
  if (has_statistics_) wanted.push_back(statistics);
  if (has_matrices_) wanted.insert(wanted.end(), gpu::kMatrixExtensions.begin(), gpu::kMatrixExtensions.end());
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  features.pipelineExecutableInfo = VK_TRUE;
  features.pNext = has_matrices_ ? matrices.first() : nullptr;
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue_info{};  // of family 0, which has compute on the drivers of this test
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo device_info{};
  device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device_info.pNext = has_statistics_ ? &features : features.pNext;
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue_info;
  device_info.enabledExtensionCount = static_cast<std::uint32_t>(wanted.size());
  device_info.ppEnabledExtensionNames = wanted.data();
  check(vkCreateDevice(physical_, &device_info, nullptr, &device_), "vkCreateDevice");
  vkGetDeviceQueue(device_, 0, 0, &queue_);
}

Device::Pipeline Device::create(const gpu::KernelSource& source) const {
  Pipeline result{.reflection = gpu::reflect(source.name, source.reflected.empty() ? source.spirv : source.reflected)};
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const gpu::Reflection::Binding& binding : result.reflection.bindings) {
    bindings.push_back({binding.number, descriptor_type(binding), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo set_info{};
  set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set_info.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set_info.pBindings = bindings.data();
  check(vkCreateDescriptorSetLayout(device_, &set_info, nullptr, &result.set_layout), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, result.reflection.push_constant_bytes};
  VkPipelineLayoutCreateInfo layout_info{};
  layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout_info.setLayoutCount = 1;
  layout_info.pSetLayouts = &result.set_layout;
  layout_info.pushConstantRangeCount = push.size > 0 ? 1 : 0;
  layout_info.pPushConstantRanges = &push;
  check(vkCreatePipelineLayout(device_, &layout_info, nullptr, &result.layout), "vkCreatePipelineLayout");
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = source.spirv.size_bytes();
  module_info.pCode = source.spirv.data();
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  if (has_statistics_) {
    info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
  }
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  std::vector<VkSpecializationMapEntry> entries;
  for (std::uint32_t id = 0; id < source.constants.size(); ++id) entries.push_back({id, id * 4, 4});
  const VkSpecializationInfo specialization{static_cast<std::uint32_t>(entries.size()), entries.data(),
                                            source.constants.size() * 4, source.constants.data()};
  info.stage.pSpecializationInfo = &specialization;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo lanes{};
  lanes.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  lanes.requiredSubgroupSize = source.subgroup_lanes;
  if (source.subgroup_lanes > 0) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.pNext = &lanes;
  }
  info.layout = result.layout;
  check(vkCreateShaderModule(device_, &module_info, nullptr, &info.stage.module), "vkCreateShaderModule");
  check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &result.pipeline), "vkCreateComputePipelines");
  return result;
}

Statistics Device::statistics(const gpu::KernelSource& source) const {
  const Pipeline pipeline = create(source);
  const auto get = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
      vkGetDeviceProcAddr(device_, "vkGetPipelineExecutableStatisticsKHR"));
  VkPipelineExecutableInfoKHR executable{};
  executable.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  executable.pipeline = pipeline.pipeline;
  VkPipelineExecutableStatisticKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  const auto all = list(empty, [&](std::uint32_t* count, VkPipelineExecutableStatisticKHR* elements) {
    get(device_, &executable, count, elements);
  });
  Statistics result;
  for (const VkPipelineExecutableStatisticKHR& statistic : all) result[statistic.name] = value_of(statistic);
  return result;
}

std::string Device::assembly(const gpu::KernelSource& source) const {
  const Pipeline pipeline = create(source);
  const auto get = reinterpret_cast<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
      vkGetDeviceProcAddr(device_, "vkGetPipelineExecutableInternalRepresentationsKHR"));
  VkPipelineExecutableInfoKHR executable{};
  executable.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  executable.pipeline = pipeline.pipeline;
  VkPipelineExecutableInternalRepresentationKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  // The first call tells how long each text is, a second one with room for them copies the texts.
  auto all = list(empty, [&](std::uint32_t* count, VkPipelineExecutableInternalRepresentationKHR* elements) {
    get(device_, &executable, count, elements);
  });
  std::vector<std::string> texts;
  texts.reserve(all.size());
  for (VkPipelineExecutableInternalRepresentationKHR& one : all) {
    one.pData = texts.emplace_back(one.dataSize, '\0').data();
  }
  auto count = static_cast<std::uint32_t>(all.size());
  check(get(device_, &executable, &count, all.data()), "vkGetPipelineExecutableInternalRepresentationsKHR");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view name(all[i].name);
    if (name.find("Assembly") != std::string_view::npos || name.find("assembly") != std::string_view::npos) return texts[i];
  }
  return {};
}

std::uint32_t Device::memory_type(std::uint32_t allowed) const {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  for (std::uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
    if ((allowed >> type & 1u) != 0u) return type;
  }
  throw Error("no memory for buffers");
}

VkDescriptorSet Device::bind_buffer(const Pipeline& pipeline) const {
  constexpr VkDeviceSize kBytes = 1 << 16;
  VkBufferCreateInfo buffer_info{};
  buffer_info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  buffer_info.size = kBytes;
  buffer_info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  check(vkCreateBuffer(device_, &buffer_info, nullptr, &buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, buffer, &needs);
  VkMemoryAllocateInfo memory_info{};
  memory_info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  memory_info.allocationSize = needs.size;
  memory_info.memoryTypeIndex = memory_type(needs.memoryTypeBits);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vkAllocateMemory(device_, &memory_info, nullptr, &memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device_, buffer, memory, 0), "vkBindBufferMemory");
  VkBufferViewCreateInfo view_info{};
  view_info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
  view_info.buffer = buffer;
  view_info.format = VK_FORMAT_R32G32B32A32_SFLOAT;
  view_info.range = VK_WHOLE_SIZE;
  VkBufferView view = VK_NULL_HANDLE;
  check(vkCreateBufferView(device_, &view_info, nullptr, &view), "vkCreateBufferView");

  constexpr std::uint32_t kMaxBindings = 16;
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kMaxBindings},
                                        {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kMaxBindings}};
  VkDescriptorPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool_info.maxSets = 1;
  pool_info.poolSizeCount = 2;
  pool_info.pPoolSizes = sizes;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(vkCreateDescriptorPool(device_, &pool_info, nullptr, &pool), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo set_info{};
  set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  set_info.descriptorPool = pool;
  set_info.descriptorSetCount = 1;
  set_info.pSetLayouts = &pipeline.set_layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  check(vkAllocateDescriptorSets(device_, &set_info, &set), "vkAllocateDescriptorSets");
  const VkDescriptorBufferInfo whole{buffer, 0, VK_WHOLE_SIZE};
  for (const gpu::Reflection::Binding& binding : pipeline.reflection.bindings) {
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set;
    write.dstBinding = binding.number;
    write.descriptorCount = 1;
    write.descriptorType = descriptor_type(binding);
    write.pBufferInfo = &whole;
    write.pTexelBufferView = &view;
    vkUpdateDescriptorSets(device_, 1, &write, 0, nullptr);
  }
  return set;
}

CompileTime Device::compile_time(const gpu::KernelSource& source) const {
  CompileTime result;
  const double start_ms = process_ms();
  const Pipeline pipeline = create(source);
  result.create_ms = process_ms() - start_ms;
  const VkDescriptorSet set = bind_buffer(pipeline);
  VkCommandPoolCreateInfo commands_info{};
  commands_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  VkCommandPool commands_pool = VK_NULL_HANDLE;
  check(vkCreateCommandPool(device_, &commands_info, nullptr, &commands_pool), "vkCreateCommandPool");
  for (double* ms : {&result.first_ms, &result.second_ms}) {
    VkCommandBufferAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = commands_pool;
    allocate.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vkAllocateCommandBuffers(device_, &allocate, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
    const std::vector<std::byte> zeros(pipeline.reflection.push_constant_bytes);
    if (!zeros.empty()) {
      vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<std::uint32_t>(zeros.size()),
                         zeros.data());
    }
    vkCmdDispatch(commands, 0, 0, 0);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    const double before_ms = process_ms();
    check(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
    *ms = process_ms() - before_ms;
  }
  return result;
}

}  // namespace headlight::kernel_report
