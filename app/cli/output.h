#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "app/cli/flags.h"
#include "core/passing_files.h"

namespace headlight::app {

/// The output of commands: --quiet and --json, which every command but the window has.
struct OutputChoice {
  bool is_quiet = false;     ///< no progress, no notes and no summaries: errors and what was asked for alone
  bool writes_json = false;  ///< results are JSON
};
/// Returns the choice of this process, whose command line is read once.
OutputChoice& output_choice();
/// Adds both flags.
void add_output_choice(CLI::App& app);

/// Writes a line on standard error that is no error, once, nothing with --quiet; and among the `notes` of the next JSON.
void tell_note(const std::string& note);
/// Writes what the command did: a line on standard output, nothing with --quiet, or with --json the object.
void tell_result(const std::string& text, const nlohmann::ordered_json& json);
/// Writes the answer that the command is for, with --quiet too: the text, or with --json the object.
void tell_answer(const std::string& text, const nlohmann::ordered_json& json);
/// Writes all of a file on standard output.
void print_file(const PassingFile& file);

/// Returns "548.1 MiB".
std::string bytes_in_words(std::uint64_t bytes);
/// Returns a line of JSON without its end: the object with those `notes` that no line before it had.
std::string json_line(nlohmann::ordered_json json);
/// Writes json_line() and its end on standard output.
void write_json(nlohmann::ordered_json json);

}  // namespace headlight::app
