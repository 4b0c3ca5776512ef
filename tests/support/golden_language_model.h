#pragma once

#include <memory>
#include <string_view>

#include "inference/language_model.h"
#include "support/golden_model.h"

namespace headlight::test {

/// A folder of tests/golden/models, with its tokenizer where it has one.
inline std::shared_ptr<const inference::LanguageModel> open_golden_model(std::string_view name) {
  return inference::open_model(golden_model_path(name));
}

}  // namespace headlight::test
