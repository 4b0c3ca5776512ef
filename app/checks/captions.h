#pragma once

#include <string_view>

namespace headlight::checks {

/// captions.json: a text, and what transformers computes of it with captions-gpt2 in float64 (tools/make_bundled_golden.py).
///   last_rows [layer][head][key]: the last token's weights; logits {id: logit} of the last token's ten largest
extern const std::string_view kCaptionsNumbers;

}  // namespace headlight::checks
