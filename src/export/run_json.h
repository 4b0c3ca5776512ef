#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/mask.h"
#include "core/tensor.h"
#include "export/json.h"
#include "model/network.h"

namespace headlight::exporting {

/// One file listed in run.json.
struct WrittenStage {
  std::string file;
  std::string stage;              ///< "weights", "logits", …
  Shape shape;                    ///< [layer, batch, head, query, key] for weights
  std::vector<std::string> axes;  ///< one name for each axis of the shape
};

/// The description of exported numbers, so that other programs can use them.
struct RunDescription {
  std::string program;                       ///< "headlight 0.1.0"
  std::string device;                        ///< name of the GPU; empty when unknown
  Json model;                                ///< the input that rebuilds the network: preset or playground settings
  const model::ModelInput* input = nullptr;  ///< tokens with padding; not null
  std::vector<model::BlockKind> kinds;       ///< kinds of blocks the network has; their masks are written
  attention::MaskSet masks;
  Json selection;  ///< the requested layer, batch and head; null means all
  Json view;       ///< colour map, scale, theme; null when nothing was drawn
  std::vector<WrittenStage> stages;
  Json reference;  ///< the run that is subtracted in every number; null: none is
};

std::string encode_run_json(const RunDescription& run);

/// {"length": n, "lengths": […], "texts": [[…]], "ids": [[…]]}: a list for each batch item, padding as "<pad>" and null;
/// with padding on the left "starts", the index of each item's first token.
Json describe_tokens(const model::TokenBatch& tokens);
/// {"rule": "causal", "key_padding": true, "fill": "-inf", "matrix": …, "painted": […]}, and its expressions as in sessions.
/// A matrix' rows are strings of 1 (kept) and 0 (masked), [batch][head][query].
Json describe_mask(const attention::MaskSpec& mask);

}  // namespace headlight::exporting
