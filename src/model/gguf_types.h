#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/element_type.h"

namespace headlight::model {

/// How ggml stores numbers: blocks of `numbers` in `bytes`.
struct GgmlType {
  std::string_view name;
  std::uint32_t numbers, bytes;
  std::optional<ElementType> element_type;  ///< none: Headlight doesn't decode it
};

/// By its number in files; none for one that ggml doesn't have.
std::optional<GgmlType> ggml_type(std::uint32_t id);

}  // namespace headlight::model
