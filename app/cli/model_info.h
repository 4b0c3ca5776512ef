#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "inference/language_model.h"
#include "model/model_description.h"

namespace headlight::app {

/// "12 × 12", of an encoder–decoder "6 × 8 + 6 × 8": layers × heads.
std::string layers_by_heads(const model::ModelDescription& description);
/// "124.4 M", "7.24 B".
std::string count_in_words(std::uint64_t count);
/// "522.7 MiB".
std::string bytes_in_words(std::uint64_t bytes);
/// "F32", "F16 and F32".
std::string types_in_words(const model::ModelDescription& description);

/// The description of a model with a text of `tokens` tokens, as aligned lines.
std::string model_report(const inference::LanguageModel& model, std::uint32_t tokens);
/// The same as JSON.
nlohmann::ordered_json model_json(const inference::LanguageModel& model, std::uint32_t tokens);

}  // namespace headlight::app
