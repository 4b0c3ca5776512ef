#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vulkan/vulkan.h>

namespace headlight::pretend {

/// The lanes of a module's workgroup along x: a number, or the specialization constant that has it.
struct Lanes {
  std::uint32_t number = 1;
  bool is_constant = false;  ///< then `constant_id` has it, and `number` is its default
  std::uint32_t constant_id = 0;
};
Lanes lanes_of(std::span<const std::uint32_t> module);
std::uint32_t value_of(const Lanes& lanes, const VkSpecializationInfo* specialization);

/// The module with each unpackHalf2x16(w) replaced by unpackHalf2x16 of w's normal halves: subnormal ones become zeros of
/// their sign.
std::vector<std::uint32_t> without_subnormal_halves(std::span<const std::uint32_t> module);

}  // namespace headlight::pretend
