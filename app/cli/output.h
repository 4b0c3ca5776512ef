#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "app/cli/flags.h"
#include "core/file.h"
#include "inference/session.h"
#include "platform/signals.h"

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

/// Shows a long command's progress on standard error: a bar drawn in place on a terminal, a line every ten seconds
/// elsewhere, nothing for the first half second.
/// Standard output is for results. The destructor removes the bar from the terminal; Ctrl-C leaves it and ends the line.
class ProgressBar {
 public:
  /// Begins a bar. `unit` is the counted unit, in the plural: "sentences". A quiet one prints nothing, and none does with
  /// --quiet.
  explicit ProgressBar(std::string unit, bool is_quiet = false);
  /// Returns a bar that is shown on terminals only: for commands whose standard error may be parsed.
  static ProgressBar on_terminal(std::string unit);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows the progress. `total` 0: unknown.
  void show(std::size_t done, std::size_t total);
  /// Changes the unit.
  void begin(std::string unit);
  /// Makes room for output on the same terminal; the next show() draws again.
  void clear();
  double elapsed_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string unit_;
  bool is_quiet_, is_terminal_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  bool is_drawn_ = false;
  std::optional<platform::LastWords> end_of_line_;  ///< so that the shell's prompt starts a new one
};

/// Counts kernels in a bar of its own while the driver compiles them; only a terminal shows it. The bar is removed when all
/// are compiled, or with the observer.
inference::CompileObserver compile_bar();

/// Returns "412 of 1000 sentences, 35.2 a second, 17 s left": what a line says; before the first one is done only the
/// counts, and "412 sentences, 35.2 a second" where `total` is 0 because it is unknown.
std::string progress_text(std::size_t done, std::size_t total, const std::string& unit, double elapsed_seconds);

}  // namespace headlight::app
