#include "app/cli/output.h"

#include <iostream>
#include <random>

#include "core/atomic_file.h"
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

OutputFolder::OutputFolder() {
  std::random_device random;
  path_ = std::filesystem::temp_directory_path() / fmt::format("headlight-{:08x}{:08x}", random(), random());
  if (!std::filesystem::create_directory(path_)) throw Error("{} is there already: start again", utf8(path_));
}

OutputFolder::~OutputFolder() {
  std::error_code failure;
  std::filesystem::remove_all(path_, failure);
}

void OutputFolder::print(const std::filesystem::path& file) { std::cout << read_file(file, std::uint64_t{1} << 40); }

void tell_note(const std::string& note) {
  if (!output_choice().is_quiet) std::cerr << "headlight: note: " << one_line(note) << '\n';
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
