#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/context.h"
#include "inference/session.h"
#include "tools/bench/stopwatch.h"

namespace headlight::bench {

/// The options of measuring a model instead of random matrices.
struct ModelPlan {
  std::filesystem::path path;  ///< a folder or GGUF file
  std::filesystem::path tuning_file;
  std::vector<std::uint32_t> tokens;  ///< lengths of texts; those beyond the model's positions are skipped
  inference::Precision precision = inference::Precision::F32;
  Rounds rounds;
};

/// One row of the report.
struct ModelResult {
  /// "open": everything but the weights, tokenizer included. "load": weights from file to device. "stream": every core reads
  /// as many bytes as the weights have, once. "fill": every core writes as many into memory of the device that nothing has
  /// used yet; 0 where the host doesn't reach it. "forward": all layers of a new text and the last token's logits. "append":
  /// one more token and its logits. "paint_L": a cell painted in layer L alone, of the self-attention of a text that was
  /// run: all that it changes, which is that layer and those above it, and the logits. The first, a middle and the last
  /// layer. "load_with_map": loading the weights again, with "first_map" on the way: until the weights of the first layer
  /// are there, and a map of it; of models with one stack.
  std::string op;
  std::uint32_t n = 0;  ///< tokens; 0 where they don't matter
  double wall_ms = 0.0, gpu_ms = 0.0;
  std::uint32_t dispatches = 0;
  double peak_mib = 0.0;  ///< the process' largest resident size so far
};

/// Measures and reports row by row. Throws Error like inference::open_model.
void run_model(gpu::Context& context, const ModelPlan& plan, const std::function<void(const ModelResult&)>& report);

}  // namespace headlight::bench
