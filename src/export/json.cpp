#include "export/json.h"

#include <cmath>

#include "core/error.h"
#include "core/json.h"

namespace headlight::exporting {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 16;

void append_number(std::string& text, float value) {
  if (std::isnan(value)) {
    text += "null";
  } else if (std::isinf(value)) {
    text += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    append_float(text, value);
  }
}

}  // namespace

JsonTensorWriter::JsonTensorWriter(Sink sink, const Json& head, std::span<const std::uint32_t> shape)
    : sink_(std::move(sink)), expected_(element_count(shape)) {
  Json document = head;
  document["shape"] = Shape(shape.begin(), shape.end());
  text_ = to_text(document);
  text_.resize(text_.rfind('\n'));  // up to the last field, without the closing brace
  text_ += ",\n  \"values\": ";
  strides_.resize(shape.size());
  std::size_t inside = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) strides_[axis] = inside *= shape[axis];
}

void JsonTensorWriter::append(std::span<const float> values) {
  for (const float value : values) {
    if (appended_ > 0) text_ += ',';
    for (const std::size_t stride : strides_) {
      if (stride != 0 && appended_ % stride == 0) text_ += appended_ > 0 && stride == strides_.back() ? "\n    [" : "[";
    }
    append_number(text_, value);
    ++appended_;
    for (const std::size_t stride : strides_) {
      if (stride != 0 && appended_ % stride == 0) text_ += ']';
    }
    if (text_.size() > kFlushAt) {
      sink_(text_);
      text_.clear();
    }
  }
}

void JsonTensorWriter::finish() {
  if (appended_ != expected_) throw Error("a JSON tensor got {} values, its shape needs {}", appended_, expected_);
  if (expected_ == 0) text_ += "[]";
  text_ += "\n}\n";
  sink_(text_);
}

}  // namespace headlight::exporting
