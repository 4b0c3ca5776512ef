#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/handles.h"

namespace headlight::gpu {

/// Extensions that a device must have for kernels that multiply 16 × 16 matrices of float16 into sums of float32 by
/// whole subgroups: the matrices, the memory model they are defined in, for whole devices as other kernels' atomic sums
/// take it, float16, and a subgroup of a given size.
inline constexpr std::array kMatrixExtensions{"VK_KHR_cooperative_matrix", "VK_KHR_vulkan_memory_model",
                                              "VK_KHR_shader_float16_int8", "VK_EXT_subgroup_size_control"};

/// Lanes of a subgroup that multiplies such matrices; 0 where the device can't, or doesn't promise a subgroup's size.
std::uint32_t find_matrix_lanes(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical);

/// Every shape of matrices that subgroups of the device multiply: "16 x 16 x 16 of f16 into f32".
std::vector<std::string> matrix_shapes(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical);

/// The features to be turned on when a device that has them is opened; `first()` goes to VkDeviceCreateInfo::pNext.
class MatrixFeatures {
 public:
  MatrixFeatures();
  MatrixFeatures(const MatrixFeatures&) = delete;
  MatrixFeatures& operator=(const MatrixFeatures&) = delete;

  void* first() { return &memory_model_; }
  /// Does the device have them all? `this` was filled by vkGetPhysicalDeviceFeatures2.
  bool are_all_there() const;

 private:
  /// VkPhysicalDeviceCooperativeMatrixFeaturesKHR, which the headers of Debian 12 don't have.
  struct CooperativeMatrix {
    VkStructureType type;
    void* next;
    VkBool32 has_matrices, has_robust_access;
  };

  vk::PhysicalDeviceVulkanMemoryModelFeatures memory_model_;
  vk::PhysicalDeviceShaderFloat16Int8Features halves_;
  vk::PhysicalDeviceSubgroupSizeControlFeatures subgroups_;
  CooperativeMatrix matrices_;
};

}  // namespace headlight::gpu
