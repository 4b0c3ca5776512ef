#include "module_edits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>

namespace headlight::pretend {
namespace {

// Numbers of the SPIR-V specification.
enum Op : std::uint32_t {
  kExtInstImport = 11,
  kExtInst = 12,
  kExecutionMode = 16,
  kTypeInt = 21,
  kConstant = 43,
  kSpecConstantComposite = 51,
  kFunction = 54,
  kDecorate = 71,
  kIAdd = 128,
  kIMul = 132,
  kShiftRightLogical = 194,
  kBitwiseOr = 197,
  kBitwiseAnd = 199
};
constexpr std::size_t kHeader = 5, kBound = 3;
constexpr std::uint32_t kLocalSize = 17, kSpecId = 1, kBuiltIn = 11, kWorkgroupSize = 25, kUnpackHalf2x16 = 62;

std::uint32_t op_of(std::uint32_t word) { return word & 0xffffU; }

/// Calls visit(op, operands) for each instruction.
template <typename Visit>
void walk(std::span<const std::uint32_t> module, const Visit& visit) {
  for (std::size_t at = kHeader; at < module.size();) {
    const std::size_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at) return;
    visit(op_of(module[at]), module.subspan(at + 1, length - 1));
    at += length;
  }
}

void append(std::vector<std::uint32_t>& to, Op op, std::initializer_list<std::uint32_t> operands) {
  to.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
  to.insert(to.end(), operands);
}

}  // namespace

Lanes lanes_of(std::span<const std::uint32_t> module) {
  Lanes lanes;
  std::map<std::uint32_t, std::uint32_t> constant_ids;  // of results
  std::uint32_t size = 0;
  walk(module, [&](std::uint32_t op, std::span<const std::uint32_t> operands) {
    if (op == kExecutionMode && operands[1] == kLocalSize) lanes.number = operands[2];
    if (op == kDecorate && operands[1] == kSpecId) constant_ids[operands[0]] = operands[2];
    if (op == kDecorate && operands[1] == kBuiltIn && operands[2] == kWorkgroupSize) size = operands[0];
    if (op != kSpecConstantComposite || operands[1] != size) return;
    const auto id = constant_ids.find(operands[2]);
    lanes.is_constant = id != constant_ids.end();
    if (lanes.is_constant) lanes.constant_id = id->second;
  });
  return lanes;
}

std::uint32_t value_of(const Lanes& lanes, const VkSpecializationInfo* specialization) {
  if (!lanes.is_constant || specialization == nullptr) return lanes.number;
  for (const VkSpecializationMapEntry& entry : std::span(specialization->pMapEntries, specialization->mapEntryCount)) {
    if (entry.constantID != lanes.constant_id) continue;
    std::uint32_t value = 0;
    std::memcpy(&value, static_cast<const char*>(specialization->pData) + entry.offset, sizeof(value));
    return value;
  }
  return lanes.number;
}

std::vector<std::uint32_t> without_subnormal_halves(std::span<const std::uint32_t> module) {
  std::optional<std::uint32_t> unsigned_type, library;
  walk(module, [&](std::uint32_t op, std::span<const std::uint32_t> operands) {
    if (op == kTypeInt && operands[1] == 32 && operands[2] == 0) unsigned_type = operands[0];
    if (op == kExtInstImport) library = operands[0];
  });
  std::vector<std::uint32_t> edited(module.begin(), module.begin() + kHeader);
  if (!unsigned_type || !library) return {module.begin(), module.end()};
  const std::uint32_t type = *unsigned_type;
  std::uint32_t next_id = module[kBound];
  // Adding kExponents carries into a half's sign bit exactly where its exponent isn't 0.
  constexpr std::array<std::uint32_t, 4> kNumbers{0x7c00'7c00U, 0x8000'8000U, 15U, 0x7fffU};
  std::array<std::uint32_t, kNumbers.size()> constants{};
  const auto& [exponents, signs, fifteen, all_but_sign] = constants;
  bool has_constants = false;
  for (std::size_t at = kHeader; at < module.size();) {
    const std::size_t length = module[at] >> 16;
    const auto instruction = module.subspan(at, length);
    at += length;
    if (op_of(instruction[0]) == kFunction && !has_constants) {
      has_constants = true;
      for (std::size_t i = 0; i < kNumbers.size(); ++i) {
        append(edited, kConstant, {type, constants.at(i) = next_id++, kNumbers.at(i)});
      }
    }
    const bool unpacks =
        op_of(instruction[0]) == kExtInst && instruction[3] == *library && instruction[4] == kUnpackHalf2x16;
    if (unpacks) {
      const std::uint32_t word = instruction[5];
      const auto compute = [&](Op op, std::uint32_t left, std::uint32_t right) {
        append(edited, op, {type, next_id, left, right});
        return next_id++;
      };
      const std::uint32_t exponent = compute(kBitwiseAnd, word, exponents);
      const std::uint32_t is_normal = compute(kBitwiseAnd, compute(kIAdd, exponent, exponents), signs);
      const std::uint32_t kept =
          compute(kBitwiseOr, compute(kIMul, compute(kShiftRightLogical, is_normal, fifteen), all_but_sign), signs);
      const std::uint32_t flushed = compute(kBitwiseAnd, word, kept);
      edited.insert(edited.end(), instruction.begin(), instruction.end());
      edited.back() = flushed;
    } else {
      edited.insert(edited.end(), instruction.begin(), instruction.end());
    }
  }
  edited[kBound] = next_id;
  return edited;
}

}  // namespace headlight::pretend
