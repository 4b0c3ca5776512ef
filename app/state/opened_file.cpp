#include "app/state/opened_file.h"

#include <cstdlib>
#include <utility>

#include "app/state/session_file.h"
#include "capture/capture_file.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

constexpr std::uintmax_t kLargestText = std::uintmax_t{1} << 20;

/// Windows' line ends and the newlines at the end would be empty lines of the batch.
std::string tidy_lines(const std::string& content) {
  std::string text;
  for (const char c : content) {
    if (c != '\r') text += c;
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

FileKind kind_of_file(const std::filesystem::path& path) {
  if (capture::is_capture_path(path)) return FileKind::Capture;
  if (is_model_path(path)) return FileKind::Model;
  return path.extension() == ".json" || is_figure_path(path) ? FileKind::Session : FileKind::Text;
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  if (!failure && size > kLargestText) {
    throw Error("{}: {} MiB is more than the 1 MiB that a text may have", path.string(), (size >> 20) + 1);
  }
  const std::string content = read_file(path, kLargestText);
  const std::size_t broken = find_invalid_utf8(content);
  if (broken != std::string_view::npos) {
    throw Error("{}: byte {} is not UTF-8; only text files can be opened", path.string(), broken);
  }
  return tidy_lines(content);
}

void open_text(const std::filesystem::path& path, State& state) {
  std::string text = read_text(path);
  if (text.empty()) throw Error("{} has no text: the text on screen stays", path.string());
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
  return path.extension() == ".gguf" || path.extension() == ".safetensors" || std::filesystem::is_directory(path, failure);
}

std::filesystem::path expand_home(const std::string& typed) {
  if (typed != "~" && !typed.starts_with("~/")) return typed;
  const char* home = std::getenv("HOME");
  if (!home || *home == '\0') throw Error("{}: HOME is not set, so ~ means nothing; type the whole path", typed);
  std::filesystem::path expanded = home;
  if (typed.size() > 2) expanded /= typed.substr(2);
  return expanded;
}

}  // namespace headlight::app
