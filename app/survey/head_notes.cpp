#include "app/survey/head_notes.h"

#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

constexpr const char* kNotesFile = "notes.json";
constexpr int kNotesVersion = 1;
constexpr std::size_t kLargestNotes = std::size_t{16} << 20;

}  // namespace

HeadNotes read_notes(const std::filesystem::path& survey) {
  const std::filesystem::path file = survey / kNotesFile;
  HeadNotes notes;
  if (!std::filesystem::exists(file)) return notes;
  const nlohmann::json read = read_json(file, {.bytes = kLargestNotes});
  try {
    if (read.at("version").get<double>() != kNotesVersion) throw Error("it is of another version of headlight");
    for (const auto& [name, note] : read.at("heads").get_ref<const nlohmann::json::object_t&>()) {
      notes[name] = {.label = note.at("label").get<std::string>(), .text = note.at("text").get<std::string>()};
    }
  } catch (const Error& error) {
    throw Error("{}: {}; it is left as it is", utf8(file), error.what());
  } catch (const nlohmann::json::exception&) {
    throw Error(
        "{}: expected {{\"version\": 1, \"heads\": {{\"L5H1\": {{\"label\": …, \"text\": …}}, …}}}}; move it away to write "
        "notes anew",
        utf8(file));
  }
  return notes;
}

void write_notes(const std::filesystem::path& survey, const HeadNotes& notes) {
  nlohmann::ordered_json heads = nlohmann::ordered_json::object();
  for (const auto& [name, note] : notes) {
    if (!note.is_empty()) heads[name] = {{"label", note.label}, {"text", note.text}};
  }
  write_file_atomically(survey / kNotesFile,
                        to_text(nlohmann::ordered_json{{"version", kNotesVersion}, {"heads", heads}}) + "\n");
}

}  // namespace headlight::app
