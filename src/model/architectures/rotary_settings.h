#pragma once

#include "model/architectures/settings.h"
#include "model/positions.h"

namespace headlight::model {

/// Rotary positions as config.json describes them, in the spelling before release 5 of transformers (rope_theta,
/// rope_scaling) or the one since (rope_parameters): default, linear, llama3, yarn and longrope.
/// `is_local` asks for those of layers with a window, which differ in Gemma 3. Throws Error naming what isn't known.
Rotary read_rotary(const Settings& settings, const Family& family, std::uint32_t head_size, std::uint32_t max_length,
                   bool is_local);

}  // namespace headlight::model
