#pragma once

#include "app/state/state.h"

namespace headlight::app {

/// The kind of a file that is dropped on the window, or that the command line names without a flag.
enum class FileKind : std::uint8_t {
  Model,
  Capture,
  Session,  ///< or a figure that carries one
  Lesson,   ///< a JSON file with "headlight_lesson"
  Layout,   ///< a JSON file with "headlight_layout"
  Steps,    ///< a .zip, the captures of a training's steps
  Survey,   ///< the folder that `headlight survey` writes, or its survey.json
  Text,
};
/// Returns the kind of a file by its name, and by its content where the name is ambiguous. A file that can't be read has
/// some kind, and opening it reports why it can't.
FileKind kind_of_file(const std::filesystem::path& path);

/// Returns a text file's lines, without newlines at the end. Throws Error in one line: not readable, too large, not UTF-8.
std::string read_text(const std::filesystem::path& path);

/// Makes a file's content the state's text. Throws Error in one line, as read_text(), and where there is no text.
void open_text(const std::filesystem::path& path, State& state);

/// Is it to be opened as a model: a folder, a .gguf or a .safetensors file, or one of PyTorch?
bool is_model_path(const std::filesystem::path& path);

/// Returns the folder of a survey, whole, where `path` is one or is the survey.json in it, or HeadVis' scatter_data.json;
/// else empty.
std::filesystem::path survey_folder(const std::filesystem::path& path);

/// Expands "~" and "~/…" to the home folder, as a shell does. Throws Error when HOME isn't set.
std::filesystem::path expand_home(const std::string& typed);

}  // namespace headlight::app
