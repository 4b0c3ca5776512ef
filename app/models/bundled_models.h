#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::app {

/// The bundled models' names.
inline constexpr const char* kCaptionWriter = "captions-gpt2";
inline constexpr const char* kTranslator = "multi30k-de-en";

/// Folders that may hold the bundled models: relative to the installed program, to the program in its source tree, and the
/// source tree that it was built from.
std::vector<std::filesystem::path> bundled_folders();

/// The bundled model of this name; nullopt where this installation lacks it.
std::optional<std::filesystem::path> find_bundled_model(std::string_view name);

/// Resolves --model: a bundled model's folder where `name` is its name and not a file's, else `name` itself
/// (inference::find_model).
std::string named_model(const std::string& name);
/// The path of the model that the user named, or of the bundled one when `given` is empty. Throws Error in one line when it
/// isn't found.
std::filesystem::path chosen_model(const std::string& given, std::string_view bundled);
/// The values of --model, for its help.
inline constexpr const char* kModelNames =
    "its folder, a .gguf file, organisation/name in the local Hugging Face cache, or one that comes along: captions-gpt2, "
    "multi30k-de-en";

}  // namespace headlight::app
