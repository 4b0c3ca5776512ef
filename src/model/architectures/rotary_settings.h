#pragma once

#include "model/architectures/settings.h"
#include "model/positions.h"

namespace headlight::model {

/// RoPE as config.json describes it, by the keys before release 5 of transformers (rope_theta, rope_scaling) or the later
/// ones (rope_parameters): default, linear, llama3, yarn and longrope.
/// `is_local` asks for those of layers with a window, which differ in Gemma 3. Throws Error naming an unsupported value.
Rotary read_rotary(const Settings& settings, const Family& family, std::uint32_t head_size, std::uint32_t max_length,
                   bool is_local);

}  // namespace headlight::model
