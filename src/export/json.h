#pragma once

#include <nlohmann/json.hpp>

#include "core/tensor.h"
#include "export/csv.h"

namespace headlight::exporting {

/// Keeps the order in which fields are added: general ones come first in a file.
using Json = nlohmann::ordered_json;

/// {…fields of `head`…, "shape": […], "values": nested arrays}. Numbers are the shortest that read back as the same float32;
/// −inf is the string "-inf", inf "inf", and NaN null: the file is strict JSON.
class JsonTensorWriter {
 public:
  /// `head` is an object: axes, tokens, settings. Its texts must be UTF-8; invalid bytes become U+FFFD.
  JsonTensorWriter(Sink sink, const Json& head, std::span<const std::uint32_t> shape);

  /// The next values in row-major order, any number of them.
  void append(std::span<const float> values);
  /// Closes the document. Throws Error unless exactly the shape's elements were appended.
  void finish();

 private:
  Sink sink_;
  std::vector<std::size_t> strides_;  ///< elements inside one bracket of each axis
  std::size_t expected_ = 0;
  std::size_t appended_ = 0;
  std::string text_;
};

}  // namespace headlight::exporting
