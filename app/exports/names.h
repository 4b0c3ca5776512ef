#pragma once

#include <string>
#include <vector>

#include "app/exports/job.h"
#include "inference/run.h"

namespace headlight::app {

/// A file of hidden states, without its extension.
struct HiddenFile {
  std::string name;
  std::optional<inference::Stack> stack;  ///< of a model's layers; none: the output of a notebook's encoder
};
/// The files of hidden states that a network has; empty: none. `is_model`: it was opened from a file.
std::vector<HiddenFile> hidden_files(const model::Network& network, bool is_model);

/// Of a format that holds everything in one file: "numbers.npz", or the one that the options name.
std::string container_name(ExportFormat format, const ExportOptions& options);

/// The files that run_export() will write for these options, sorted by name, without running anything: `blocks` and `shapes`
/// are those of a run of the same inputs, `network` is its network; without one, files of hidden states and logits are not
/// listed. Extra files of single notebooks are not among them.
std::vector<std::string> export_names(const ExportOptions& options, const std::vector<model::BlockRef>& blocks,
                                      const BlockShapes& shapes, const model::Network* network = nullptr);

}  // namespace headlight::app
