#include "model/gguf_types.h"

#include <algorithm>
#include <array>

namespace headlight::model {
namespace {

constexpr GgmlType known(std::uint32_t id, std::string_view name, std::uint32_t numbers, std::uint32_t bytes,
                         std::optional<ElementType> element_type = std::nullopt) {
  return {.id = id, .name = name, .numbers = numbers, .bytes = bytes, .element_type = element_type};
}

// Sizes as in the table GGML_QUANT_SIZES of the Python package gguf; missing ids were withdrawn.
constexpr std::array kGgmlTypes{known(0, "F32", 1, 4, ElementType::F32),
                                known(1, "F16", 1, 2, ElementType::F16),
                                known(2, "Q4_0", 32, 18, ElementType::Q4_0),
                                known(3, "Q4_1", 32, 20),
                                known(6, "Q5_0", 32, 22),
                                known(7, "Q5_1", 32, 24),
                                known(8, "Q8_0", 32, 34, ElementType::Q8_0),
                                known(9, "Q8_1", 32, 40),
                                known(10, "Q2_K", 256, 84),
                                known(11, "Q3_K", 256, 110),
                                known(12, "Q4_K", 256, 144, ElementType::Q4_K),
                                known(13, "Q5_K", 256, 176),
                                known(14, "Q6_K", 256, 210, ElementType::Q6_K),
                                known(15, "Q8_K", 256, 292),
                                known(16, "IQ2_XXS", 256, 66),
                                known(17, "IQ2_XS", 256, 74),
                                known(18, "IQ3_XXS", 256, 98),
                                known(19, "IQ1_S", 256, 50),
                                known(20, "IQ4_NL", 32, 18),
                                known(21, "IQ3_S", 256, 110),
                                known(22, "IQ2_S", 256, 82),
                                known(23, "IQ4_XS", 256, 136),
                                known(24, "I8", 1, 1),
                                known(25, "I16", 1, 2),
                                known(26, "I32", 1, 4),
                                known(27, "I64", 1, 8),
                                known(28, "F64", 1, 8),
                                known(29, "IQ1_M", 256, 56),
                                known(30, "BF16", 1, 2, ElementType::BF16),
                                known(34, "TQ1_0", 256, 54),
                                known(35, "TQ2_0", 256, 66),
                                known(39, "MXFP4", 32, 17),
                                known(40, "NVFP4", 64, 36),
                                known(41, "Q1_0", 128, 18)};

}  // namespace

const GgmlType* ggml_type(std::uint32_t id) {
  const auto found = std::ranges::find(kGgmlTypes, id, &GgmlType::id);
  return found == kGgmlTypes.end() ? nullptr : &*found;
}

}  // namespace headlight::model
