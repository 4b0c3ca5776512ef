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

/// Folders that may hold the models that come with the program: beside it as it is installed, as it stands in its source
/// tree, and the source tree that it was built from.
std::vector<std::filesystem::path> bundled_folders();

/// The bundled model of this name; nothing where this installation lacks it.
std::optional<std::filesystem::path> find_bundled_model(std::string_view name);

/// What --model names: a bundled model's folder where `name` is its name and no file's, else `name` itself
/// (inference::find_model).
std::string named_model(const std::string& name);
/// Where the model lies that somebody named, or where nobody did (`given` is empty) the bundled one. Throws Error in one
/// line when it is nowhere.
std::filesystem::path chosen_model(const std::string& given, std::string_view bundled);
/// What --model takes, for its help.
inline constexpr const char* kModelNames =
    "its folder, a .gguf file, organisation/name in the local Hugging Face cache, or one that comes along: captions-gpt2, "
    "multi30k-de-en";

}  // namespace headlight::app
