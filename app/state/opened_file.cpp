#include "app/state/opened_file.h"

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "app/state/session_file.h"
#include "capture/capture_file.h"
#include "core/error.h"
#include "core/json.h"
#include "core/line_reader.h"
#include "model/torch_file.h"
#include "platform/folders.h"

namespace headlight::app {
namespace {

constexpr std::uintmax_t kLargestText = std::uintmax_t{1} << 20;

/// Returns the kind of a JSON file by the member that only files of that kind have.
FileKind kind_of_json(const std::filesystem::path& path) {
  try {
    const nlohmann::json file = read_json(path, {.bytes = kLargestText});
    if (file.is_object() && file.contains("headlight_lesson")) return FileKind::Lesson;
    if (file.is_object() && file.contains("headlight_layout")) return FileKind::Layout;
  } catch (const std::exception&) {  // opening it as a session says what is wrong
  }
  return FileKind::Session;
}

}  // namespace

FileKind kind_of_file(const std::filesystem::path& path) {
  if (!survey_folder(path).empty()) return FileKind::Survey;
  if (capture::is_capture_path(path)) return FileKind::Capture;
  if (path.extension() == ".zip") return FileKind::Steps;
  if (is_model_path(path)) return FileKind::Model;
  if (path.extension() == ".json") return kind_of_json(path);
  return is_figure_path(path) ? FileKind::Session : FileKind::Text;
}

std::string read_text(const std::filesystem::path& path) {
  std::string text = read_text_file(path, kLargestText);
  // Newlines at the end would be empty lines of the batch.
  text.resize(text.find_last_not_of('\n') + 1);
  return text;
}

void open_text(const std::filesystem::path& path, State& state) {
  std::string text = read_text(path);
  if (text.empty()) throw Error("{} has no text: the text on screen stays", utf8(path));
  // The tokens of a notebook and of a capture are their own.
  if (is_notebook(state.source) || is_capture(state.source)) select_preset(state, "");
  state.model().ids.clear();
  state.model().target_ids.clear();
  state.model().target_text.clear();
  state.model().joins_lines = true;  // a file is one text until the user makes a batch of it
  state.text() = std::move(text);
}

bool is_model_path(const std::filesystem::path& path) {
  std::error_code failure;
  return path.extension() == ".gguf" || path.extension() == ".safetensors" || model::is_torch_file(path) ||
         std::filesystem::is_directory(path, failure);
}

std::filesystem::path survey_folder(const std::filesystem::path& path) {
  for (const char* description : {"survey.json", "scatter_data.json"}) {  // ours, HeadVis'
    std::error_code ignored;
    const std::filesystem::path folder = path.filename() == description ? path.parent_path() : path;
    if (!std::filesystem::is_regular_file(folder / description, ignored)) continue;
    return std::filesystem::absolute(folder / description).lexically_normal().parent_path();
  }
  return {};
}

std::filesystem::path expand_home(const std::string& typed) {
  if (typed != "~" && !typed.starts_with("~/")) return typed;
  std::filesystem::path expanded = platform::home_folder();
  if (expanded.empty()) throw Error("{}: HOME is not set, so ~ means nothing; type the whole path", typed);
  if (typed.size() > 2) expanded /= typed.substr(2);
  return expanded;
}

}  // namespace headlight::app
