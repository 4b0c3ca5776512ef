#include "gpu/cooperative_matrices.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace headlight::gpu {
namespace {

// VK_KHR_cooperative_matrix as its specification numbers it: the headers of Debian 12 are older.
constexpr auto kFeaturesType = static_cast<VkStructureType>(1000506000);
constexpr auto kMatrixType = static_cast<VkStructureType>(1000506001);
constexpr std::int32_t kFloat16 = 0, kFloat32 = 1, kSubgroupScope = 3;
constexpr std::uint32_t kEdge = 16;  // of lib/matrix_product.glsl

/// VkCooperativeMatrixPropertiesKHR: A [rows, inner] · B [inner, columns] + C.
struct MatrixProperties {
  VkStructureType type;
  void* next;
  std::uint32_t rows, columns, inner;
  std::int32_t a, b, c, result;
  VkBool32 saturates;
  std::int32_t scope;
};
using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, MatrixProperties*);

std::vector<MatrixProperties> read_matrices(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical) {
  const auto get =
      reinterpret_cast<GetMatrixProperties>(instance.getProcAddr("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  std::uint32_t count = 0;
  if (get == nullptr || get(*physical, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<MatrixProperties> all(count, MatrixProperties{kMatrixType, nullptr, 0, 0, 0, 0, 0, 0, 0, VK_FALSE, 0});
  if (get(*physical, &count, all.data()) != VK_SUCCESS) return {};
  all.resize(std::min<std::size_t>(count, all.size()));
  return all;
}

bool multiplies_halves(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical) {
  return std::ranges::any_of(read_matrices(instance, physical), [](const MatrixProperties& one) {
    return one.rows == kEdge && one.columns == kEdge && one.inner == kEdge && one.a == kFloat16 && one.b == kFloat16 &&
           one.c == kFloat32 && one.result == kFloat32 && one.saturates == VK_FALSE && one.scope == kSubgroupScope;
  });
}

/// The first of VkComponentTypeKHR's; numbers for others.
std::string type_name(std::int32_t type) {
  constexpr std::array<std::string_view, 11> kNames{"f16", "f32", "f64", "i8",  "i16", "i32",
                                                    "i64", "u8",  "u16", "u32", "u64"};
  const auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? std::string(kNames.at(index)) : fmt::format("type {}", type);
}

}  // namespace

std::uint32_t find_matrix_lanes(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical) {
  const auto extensions = physical.enumerateDeviceExtensionProperties();
  const bool has_extensions = std::ranges::all_of(kMatrixExtensions, [&](std::string_view name) {
    return std::ranges::any_of(extensions, [&](const vk::ExtensionProperties& extension) {
      return name == std::string_view(extension.extensionName.data());
    });
  });
  if (!has_extensions) return 0;
  MatrixFeatures features;
  VkPhysicalDeviceFeatures2 query{};
  query.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  query.pNext = features.first();
  physical.getDispatcher()->vkGetPhysicalDeviceFeatures2(*physical, &query);
  if (!features.are_all_there() || !multiplies_halves(instance, physical)) return 0;

  const auto sizes =
      physical.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceSubgroupSizeControlProperties>()
          .get<vk::PhysicalDeviceSubgroupSizeControlProperties>();
  constexpr std::uint32_t kSubgroups = 8;  // of a workgroup of linear_matrix_large.comp
  if (!(sizes.requiredSubgroupSizeStages & vk::ShaderStageFlagBits::eCompute)) return 0;
  if (sizes.maxComputeWorkgroupSubgroups < kSubgroups) return 0;
  for (const std::uint32_t lanes : {32u, 64u}) {
    if (lanes >= sizes.minSubgroupSize && lanes <= sizes.maxSubgroupSize) return lanes;
  }
  return 0;
}

std::vector<std::string> matrix_shapes(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical) {
  std::vector<std::string> shapes;
  const auto extensions = physical.enumerateDeviceExtensionProperties();
  const bool has_matrices = std::ranges::any_of(extensions, [](const vk::ExtensionProperties& extension) {
    return std::string_view(extension.extensionName.data()) == kMatrixExtensions.front();
  });
  if (!has_matrices) return shapes;
  for (const MatrixProperties& one : read_matrices(instance, physical)) {
    shapes.push_back(fmt::format("{} x {} x {} of {} into {}", one.rows, one.columns, one.inner, type_name(one.a),
                                 type_name(one.result)));
  }
  return shapes;
}

MatrixFeatures::MatrixFeatures()
    : memory_model_{.pNext = &halves_, .vulkanMemoryModel = VK_TRUE, .vulkanMemoryModelDeviceScope = VK_TRUE},
      halves_{.pNext = &subgroups_, .shaderFloat16 = VK_TRUE},
      subgroups_{.pNext = &matrices_, .subgroupSizeControl = VK_TRUE, .computeFullSubgroups = VK_TRUE},
      matrices_{.type = kFeaturesType, .next = nullptr, .has_matrices = VK_TRUE, .has_robust_access = VK_FALSE} {}

bool MatrixFeatures::are_all_there() const {
  return memory_model_.vulkanMemoryModel != VK_FALSE && memory_model_.vulkanMemoryModelDeviceScope != VK_FALSE &&
         halves_.shaderFloat16 != VK_FALSE && subgroups_.subgroupSizeControl != VK_FALSE &&
         subgroups_.computeFullSubgroups != VK_FALSE && matrices_.has_matrices != VK_FALSE;
}

}  // namespace headlight::gpu
