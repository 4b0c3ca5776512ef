#pragma once

#include "app/engine/model_cache.h"
#include "app/engine/runner.h"
#include "app/state/state.h"

namespace headlight::app {

/// Writes a model's attention on one line into a folder, which is created if missing; each file is renamed to its path when
/// complete:
///   weights.npy, or encoder_weights.npy, decoder_weights.npy and cross_weights.npy [layer, 1, head, query, key], and
///   run.json with tokens and masks, as `headlight export --stages weights --format npy` writes them;
///   layer-00_heads.png …, or those of the cross-attention, cross_layer-00_heads.png …: all heads of a layer;
///   of an encoder–decoder alignment.json (inference::align of the last layer) and alignment.png, the mean of that layer's
///   heads with the tokens on its axes.
/// `inputs` name a model, whose weights the runner has loaded. Throws Error in one line.
void write_line_attention(Runner& runner, const std::shared_ptr<ModelCache>& models, const RunInputs& inputs,
                          const std::filesystem::path& directory);

}  // namespace headlight::app
