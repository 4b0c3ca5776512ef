#pragma once

#include <filesystem>
#include <string>

#include "app/engine/runner.h"
#include "app/exports/numbers.h"
#include "export/run_json.h"
#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// A network's results other than attention, of two runs the first one's minus the reference's. Values at padding are
/// meaningless.

/// What the encoder returns: [batch, token, d_model].
exporting::WrittenStage write_encoder_output(const Runs& runs, const std::filesystem::path& path);

/// Hidden states of a stack: [layer + 1, batch, token, d_model].
exporting::WrittenStage write_hidden(const Runs& runs, inference::Stack stack, const std::filesystem::path& path,
                                     const std::string& name);

/// Logits of the last run [batch, token, vocabulary], some tokens at a time: a long text's fill gigabytes.
exporting::WrittenStage write_logits(const Runs& runs, const model::Network& network, const model::ModelInput& input,
                                     const std::filesystem::path& path, const Checkpoint& checkpoint);

}  // namespace headlight::app
