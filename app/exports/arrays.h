#pragma once

#include "app/exports/plan.h"
#include "export/file_array.h"
#include "inference/run.h"

namespace headlight::app {

/// An array of a run and what its axes are called.
struct NumberArray {
  exporting::FileArray array;
  std::vector<std::string> axes;
};

/// Arrays of two runs hold the first one's numbers minus the reference's; both must outlive the array.

/// Every selected matrix of a stage: [layer, batch, head, row, column], or without the head axis. It is evaluated part by
/// part when it is written.
NumberArray stage_array(const Runs& runs, const ExportBlocks& blocks, attention::Stage stage, std::string name);

/// Results of a whole network. Values at padding are meaningless.

/// What the encoder returns: [batch, token, d_model].
NumberArray encoder_output_array(const Runs& runs, std::string name);
/// Hidden states of a stack: [layer + 1, batch, token, d_model].
NumberArray hidden_array(const Runs& runs, inference::Stack stack, std::string name);
/// Logits of the last stack [batch, token, vocabulary], some tokens at a time: a long text's fill gigabytes.
NumberArray logits_array(const Runs& runs, const model::Network& network, const model::ModelInput& input, std::string name);

/// Tokens and their ids, where there are any: "tokens", "token_ids", and of an encoder-decoder those of its target.
std::vector<exporting::FileArray> token_arrays(const model::ModelInput& input);
/// The ids alone.
std::vector<exporting::FileArray> id_arrays(const model::ModelInput& input);

}  // namespace headlight::app
