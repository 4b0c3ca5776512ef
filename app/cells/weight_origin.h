#pragma once

#include <cstdint>
#include <string>

#include "app/engine/engine.h"
#include "model/parameter.h"

namespace headlight::app {

/// Where rows [first, first + count) of a weight come from: "transformer.h.0.attn.c_attn.weight [768, 2304] F32, columns
/// 64–127, model.safetensors"; of a network without a file how its weights are made.
std::string weight_origin(const EngineResult& result, const model::Parameter& weight, std::uint32_t first,
                          std::uint32_t count);

/// "weights are stored as F16 and kept as float32 on the device; …": in which precision the run computes.
std::string precision_text(const EngineResult& result, const model::Parameter* weight);

}  // namespace headlight::app
