#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/element_type.h"

namespace headlight::model {

/// How ggml stores numbers: blocks of `numbers` in `bytes`.
struct GgmlType {
  std::uint32_t id;  ///< as in the file
  std::string_view name;
  std::uint32_t numbers, bytes;
  std::optional<ElementType> element_type;  ///< none: Headlight doesn't decode it
};

/// nullptr for an id unknown to this table of ggml's types.
const GgmlType* ggml_type(std::uint32_t id);

}  // namespace headlight::model
