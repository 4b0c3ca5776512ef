#include "model/gguf_types.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headlight::model {
namespace {

/// Those that weights don't have. Sizes as in the table GGML_QUANT_SIZES of the Python package gguf; missing numbers were
/// withdrawn.
constexpr std::array<std::pair<std::uint32_t, GgmlType>, 8> kOtherTypes{{{9, {"Q8_1", 32, 40, {}}},
                                                                         {15, {"Q8_K", 256, 292, {}}},
                                                                         {24, {"I8", 1, 1, {}}},
                                                                         {25, {"I16", 1, 2, {}}},
                                                                         {26, {"I32", 1, 4, {}}},
                                                                         {27, {"I64", 1, 8, {}}},
                                                                         {28, {"F64", 1, 8, {}}},
                                                                         {41, {"Q1_0", 128, 18, {}}}}};

}  // namespace

std::optional<GgmlType> ggml_type(std::uint32_t id) {
  if (const std::optional<ElementType> type = element_type_of_ggml(id)) {
    return GgmlType{to_string(*type), block_numbers(*type), block_bytes(*type), type};
  }
  const auto* found = std::ranges::find(kOtherTypes, id, &std::pair<std::uint32_t, GgmlType>::first);
  if (found == kOtherTypes.end()) return std::nullopt;
  return found->second;
}

}  // namespace headlight::model
