#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "attention/mask.h"
#include "inference/playground.h"

namespace headlight::app {

/// {"rule": "causal+window:4", "key_padding": true, "fill": "-inf", "painted": […], "biases": [{…, "runs"}],
/// "documents": [{"batch", "begins"}], "matrix": {"shape", "rows"},
/// "mask_expression": "k <= q", "score_expression": "score", "sliders": {"name": 1.5}}; what is none is left out.
nlohmann::json to_json(const attention::MaskSpec& mask);
/// Throws Error naming the key; `path` is the path of `value` in its file.
attention::MaskSpec mask_from_json(const nlohmann::json& value, const std::string& path);

/// Cells with a number that the lists of a file may have together, so that few words of a file can't take long to read.
inline constexpr std::size_t kMostPaintedNumbers = std::size_t{1} << 24;

/// Numbers painted onto cells as runs [query, first key, count, number]. Throws Error where one isn't from `low` to `high`,
/// or there are more than `left`, from which the read ones are taken.
nlohmann::json numbers_to_json(const attention::NumberRuns& painted);
attention::NumberRuns numbers_from_json(const nlohmann::json& runs, const std::string& path, float low, float high,
                                        std::size_t& left);

/// One of the above under "encoder", "decoder" and "cross".
nlohmann::json to_json(const attention::MaskSet& masks);
attention::MaskSet masks_from_json(const nlohmann::json& value, const std::string& path);

}  // namespace headlight::app
