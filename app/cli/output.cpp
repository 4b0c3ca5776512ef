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

void write_json(const nlohmann::ordered_json& json) { std::cout << to_text(json, -1) << '\n'; }

void tell_result(const std::string& text, const nlohmann::ordered_json& json) {
  if (output_choice().writes_json) {
    nlohmann::ordered_json whole = json;
    for (const std::string& note : added_notes()) whole["notes"].push_back(note);
    write_json(whole);
  } else if (!output_choice().is_quiet) {
    std::cout << text << '\n';
  }
}

}  // namespace headlight::app
