#pragma once

#include <filesystem>

#include "app/exports/job.h"

namespace headlight::app {

/// Two lines of three and two tokens, d_model 6, two layers of three heads.
inline ExportOptions small_options(const std::filesystem::path& directory) {
  State state;
  state.text() = "one two, three\nfour \"five\"";
  state.playground().settings.d_model = 6;
  state.playground().settings.heads = 3;
  ExportOptions options;
  options.inputs = run_inputs(state);
  options.formats = {ExportFormat::Npy};
  options.directory = directory;
  return options;
}

}  // namespace headlight::app
