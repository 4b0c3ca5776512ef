#include "app/cli/output.h"

#include <iostream>
#include <set>

#include "core/error.h"
#include "core/json.h"
#include "core/notes.h"

namespace headlight::app {

OutputChoice& output_choice() {
  static OutputChoice choice;
  return choice;
}

void add_output_choice(CLI::App& app) {
  const FlagGroup group(app, "Output");
  group.turn("--json", "say what was done, or found, as JSON", output_choice().writes_json);
  group.turn("-q,--quiet", "no progress, notes and summaries: errors, and what was asked for", output_choice().is_quiet);
}

void print_file(const PassingFile& file) {
  file.read([](std::string_view part) { std::cout << part; });
}

void tell_note(const std::string& note) {
  static std::set<std::string> told;
  add_note(note);
  if (told.insert(note).second && !output_choice().is_quiet) std::cerr << "headlight: note: " << one_line(note) << '\n';
}

std::string json_line(nlohmann::ordered_json json) {
  static std::size_t written = 0;
  for (const std::vector<std::string> notes = added_notes(); written < notes.size(); ++written) {
    json["notes"].push_back(notes[written]);
  }
  return to_text(json, -1);
}

void write_json(nlohmann::ordered_json json) { std::cout << json_line(std::move(json)) << '\n'; }

void tell_result(const std::string& text, const nlohmann::ordered_json& json) {
  if (output_choice().writes_json || !output_choice().is_quiet) tell_answer(text, json);
}

void tell_answer(const std::string& text, const nlohmann::ordered_json& json) {
  if (output_choice().writes_json) {
    write_json(json);
  } else {
    std::cout << text << '\n';
  }
}

}  // namespace headlight::app
