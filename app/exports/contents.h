#pragma once

#include "attention/stage.h"

namespace headlight::app {

/// The matrices that an export writes.
struct ExportContents {
  std::vector<attention::Stage> stages = {attention::Stage::Weights};
  /// Of the playground and presets encoder_output; of models hidden, or encoder_hidden and decoder_hidden.
  bool hidden = false;
  bool logits = false;
  std::vector<std::string> parameters = {};  ///< weights of the network, by the names of app/exports/arrays.h

  bool operator==(const ExportContents&) const = default;
};

}  // namespace headlight::app
