#pragma once

#include <filesystem>

#include "app/state/state.h"

namespace headlight::app {

/// Makes a file's content the state's text. Throws Error in one line: not readable, too large, not UTF-8.
void open_text(const std::filesystem::path& path, State& state);

/// Is it to be opened as a model: a folder, a .gguf or a .safetensors file?
bool is_model_path(const std::filesystem::path& path);

/// Expands "~" and "~/…" to the home folder, as a shell does. Throws Error when HOME isn't set.
std::filesystem::path expand_home(const std::string& typed);

}  // namespace headlight::app
