#pragma once

#include <filesystem>

#include "app/data/link/link_message.h"

namespace headlight::app {

inline constexpr const char* kTrainerState = "trainer_state.json";  ///< in each checkpoint that transformers' Trainer writes

/// Reads the numbers that transformers' Trainer logged up to a checkpoint, from the list log_history of its
/// trainer_state.json: objects with a "step" and numbers by name. Times, speeds and the epoch are left out, and values that
/// are no numbers. Throws Error in one line that names the file: no such list, a step or a name that can't be
/// (read_scalars), more than kMaxScalars names. Of more than kMaxScalarSteps steps every second one is forgotten.
ScalarCurves read_trainer_state(const std::filesystem::path& path);

}  // namespace headlight::app
