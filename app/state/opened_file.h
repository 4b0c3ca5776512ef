#pragma once

#include <filesystem>

#include "app/state/state.h"

namespace headlight::app {

/// What a file that somebody drops on the window makes of the state: a session (.json) replaces it, anything else is its
/// text. Throws Error in one line: not readable, too large, no UTF-8, a broken session.
void open_file(const std::filesystem::path& path, State& state);

/// Is it to be opened as a model: a folder, a .gguf or a .safetensors file?
bool is_model_path(const std::filesystem::path& path);

/// "~" and "~/…" as the person's own folder, which a shell does and a text field doesn't. Throws Error when HOME isn't set.
std::filesystem::path expand_home(const std::string& typed);

}  // namespace headlight::app
