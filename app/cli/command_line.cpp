#include "app/cli/command_line.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <vector>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "app/checks/check_run.h"
#include "app/cli/output.h"
#include "app/cli/subcommands.h"
#include "app/models/starter_view.h"
#include "app/state/settings.h"
#include "app/state/usage.h"
#include "app/state/version.h"
#include "core/error.h"
#include "core/notes.h"
#include "core/utf8.h"
#include "inference/weight_findings.h"
#include "platform/folders.h"
#include "platform/process.h"
#include "platform/signals.h"

namespace headlight::app {
namespace {

constexpr std::string_view kProgram = "headlight";
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kOddNumbers = 3;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Returns the commands inside `app`.
std::vector<CLI::App*> commands_in(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

/// Refuses arguments that no flag takes: misspelled flags, and words without a flag. `path` is the command's name.
void refuse_leftovers(CLI::App& command, const std::string& path) {
  const std::vector<std::string> leftovers = command.remaining();
  if (leftovers.empty()) {
    for (CLI::App* inner : command.get_subcommands()) refuse_leftovers(*inner, path + " " + inner->get_name());
    return;
  }
  const std::string word = leftovers.front().substr(0, leftovers.front().find('='));
  const std::string where = fmt::format("see {} --help", path);
  if (!word.starts_with("-")) {
    std::vector<std::string> names;
    for (const CLI::App* inner : commands_in(command)) names.push_back(inner->get_name());
    if (names.empty() && command.get_option_no_throw("typed") != nullptr)
      throw UsageError("'{}' is one word too many: put the text in quotes ({})", word, where);
    if (names.empty()) throw UsageError("'{}' belongs to no flag ({})", word, where);
    if (command.get_option_no_throw("file") != nullptr)
      throw UsageError("{0} takes one text file, and '{1}' is one more: join them, as in cat FILE FILE | {0} - ({2})", path,
                       word, where);
    throw UsageError("there is no '{}' among {} ({})", word, fmt::join(names, ", "), where);
  }
  const std::string meant = nearest(word, flag_names(command));
  if (meant.empty()) throw UsageError("unknown flag {} ({})", word, where);
  throw UsageError("unknown flag {}, did you mean {}? ({})", word, meant, where);
}

/// Lets unknown flags through CLI11, so that they are refused with a better message.
void take_over(CLI::App& command) {
  command.allow_extras();
  set_help_layout(command);
  for (CLI::App* inner : commands_in(command)) take_over(*inner);
}

/// Adds the flags of all commands to those that have none inside or take a word of their own beside them.
void add_output_choices(CLI::App& command) {
  const std::vector<CLI::App*> inner = commands_in(command);
  for (CLI::App* one : inner) add_output_choices(*one);
  const auto is_word = [](const CLI::Option* option) { return option->get_positional(); };
  if (inner.empty() || !command.get_options(is_word).empty()) add_output_choice(command);
}

/// Does a first word that is no command mean a file? One that is there, or is written as only files are.
bool names_file(const std::string& word) {
  std::error_code failure;
  return word.find('/') != std::string::npos || std::filesystem::path(word).has_extension() ||
         std::filesystem::exists(word, failure);
}

/// Expands `headlight run FILE …` to `headlight export --check-record --session FILE …`. FILE may be anywhere: it is the
/// first word that is no flag, nor a flag's value.
void expand_run(std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 6> kPlain = {"--record", "--check-record", "--json", "--quiet", "-q", "--dry-run"};
  arguments.front() = "--check-record";
  arguments.insert(arguments.begin(), "export");
  for (auto word = arguments.begin() + 2; word != arguments.end(); ++word) {
    const std::string& before = *(word - 1);
    const bool is_value = before.starts_with('-') && before.find('=') == std::string::npos &&
                          std::ranges::find(kPlain, before) == kPlain.end();
    if (word->starts_with('-') || is_value) continue;
    arguments.insert(word, "--session");
    return;
  }
}

/// Completes `headlight --text …` to `headlight view --text …`, and `headlight FILE`, which file managers start, `headlight
/// view FILE`. Another first word that isn't a command is refused here.
void complete(std::vector<std::string>& arguments, const std::vector<Subcommand>& commands) {
  std::vector<std::string> names;
  for (const Subcommand& command : commands) names.push_back(command.app->get_name());
  // `headlight help export` is `headlight export --help`.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  const bool asks_version = !arguments.empty() && (arguments.front() == "version" || arguments.front() == "-V" ||
                                                   (arguments.size() == 2 && arguments.back() == "--version"));
  if (asks_version) arguments = {"--version"};
  const std::string first = arguments.empty() ? std::string() : arguments.front();
  if (first == "run") return expand_run(arguments);
  if (first == "bench") throw UsageError("'bench' is a program of its own: see headlight-bench --help");
  if (first == "--help" || first == "-h" || first == "--help-all" || first == "--version") return;
  if (const auto named = std::ranges::find(names, first); named != names.end()) {
    // A command without --help-all has the short help only.
    const Subcommand& command = commands[static_cast<std::size_t>(named - names.begin())];
    if (command.app->get_help_all_ptr() == nullptr) std::ranges::replace(arguments, "--help-all", "--help");
    return;
  }
  if (first.empty() || first.starts_with("-") || names_file(first)) {
    arguments.insert(arguments.begin(), "view");
  } else {
    const std::string meant = nearest(first, names);
    const std::string hint = meant.empty() ? " and no such file" : fmt::format(", did you mean {}?", meant);
    throw UsageError("there is no command '{}'{} (see headlight --help)", first, hint);
  }
}

void describe(CLI::App& app) {
  app.name(std::string(kProgram));
  set_texts(app);
  app.set_version_flag("--version", "headlight " + program_version(),
                       "print the version, its commit and its date, and exit");
  app.require_subcommand(0, 1);
  set_help_layout(app);
}

/// Flushes standard output: the result is complete only once it is written.
void expect_written() {
  const bool is_written = std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!is_written) throw Error("standard output can't be written; is its disk full or its reader gone?");
}

void complain(std::string_view program, std::string_view message) {
  std::cerr << program << ": " << one_line(message.substr(0, message.find('\n'))) << '\n';
}

/// Runs the command. A text that stretched positions would take is refused with the flag that stretches them, where the
/// command has it; the window has a button instead.
int run(const Subcommand& command) {
  constexpr const char* kWriters[] = {"generate", "translate"};
  constexpr const char* kStretch = "--stretch-positions";
  try {
    return command.run();
  } catch (const Error& error) {
    // Logits without a number give no token to choose: the text that was written until then is the result.
    const bool is_writer = std::ranges::find(kWriters, command.app->get_name()) != std::end(kWriters);
    if (is_writer && !inference::noted_run_warning().empty()) {
      complain(kProgram, error.what());
      return 0;
    }
    const bool may_stretch =
        error.kind() == ErrorKind::TooFewPositions && command.app->get_option_no_throw(kStretch) != nullptr;
    if (!may_stretch) throw;
    throw Error(error.kind(), "{}, or take all of it with {} on", error.what(), kStretch);
  }
}

/// Names the group of flags without one: CLI11 calls it OPTIONS from version 2.6 on.
void name_own_group(CLI::App& app) {
  for (CLI::Option* flag : app.get_options()) {
    if (flag->get_group() == "OPTIONS") flag->group("Options");
  }
  for (CLI::App* inner : commands_in(app)) name_own_group(*inner);
}

/// Reads the arguments. The exit status if they ask for help or the version, which is printed.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments) {
  const std::string where = fmt::format("(see {} --help)", app.get_name());
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
    return {};
  } catch (const CLI::CallForHelp& call) {
    return app.exit(call);
  } catch (const CLI::CallForAllHelp& call) {
    return app.exit(call);
  } catch (const CLI::CallForVersion& call) {
    return app.exit(call);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string message = error.what();
    throw UsageError("{} needs a value {}", message.substr(0, message.find(':')), where);
  } catch (const CLI::ParseError& error) {
    throw UsageError("{} {}", first_line(error.what()), where);
  }
}

std::vector<Subcommand> add_commands(CLI::App& app) {
  describe(app);
  std::vector<Subcommand> commands = {
      add_view_command(app),      add_screenshot_command(app), add_describe_command(app),       add_export_command(app),
      add_info_command(app),      add_models_command(app),     add_tokenize_command(app),       add_detokenize_command(app),
      add_translate_command(app), add_generate_command(app),   add_evaluate_command(app),       add_devices_command(app),
      add_check_command(app),     add_survey_command(app),     add_check_lesson_command(app),   add_lesson_page_command(app),
      add_worksheet_command(app), add_results_command(app),    add_check_exercise_command(app),
  };
  for (const Subcommand& command : commands) {
    take_over(*command.app);
    if (command.app->get_name() != "view") add_output_choices(*command.app);
  }
  // The flag is the program's, not each command's: CLI11 would give it to those that come later.
  app.set_help_all_flag("--help-all", "print the flags of every command, environment and files, and exit");
  name_own_group(app);
  return commands;
}

/// Returns the command's action.
std::function<int()> add_single_command(const SingleCommand& program, CLI::App& app) {
  app.name(program.name);
  app.description(program.description);
  app.set_version_flag("--version", program.name + " " + program_version(), "print the version and exit");
  app.footer(program.footer);
  std::function<int()> run = program.add(app);
  take_over(app);
  name_own_group(app);
  return run;
}

int parse_and_run(std::vector<std::string> arguments) {
  CLI::App app;
  const std::vector<Subcommand> commands = add_commands(app);
  complete(arguments, commands);
  const auto refuse = [](const Subcommand& command) {
    if (command.app->parsed()) refuse_leftovers(*command.app, "headlight " + command.app->get_name());
  };
  try {
    if (const std::optional<int> status = parse(app, std::move(arguments))) return *status;
  } catch (const UsageError&) {
    std::ranges::for_each(commands, refuse);  // an unknown flag's value was taken for a text
    throw;
  }
  for (const Subcommand& command : commands) {
    if (!command.app->parsed()) continue;
    refuse(command);
    // A check's child exists for faults, which its parent reports.
    if (const std::filesystem::path file = crash_report_file(); !file.empty() && std::getenv(kCheckChild) == nullptr) {
      platform::keep_crash_reports(file);
      platform::note_for_crash(fmt::format("headlight {}\ncommand: {}\n", program_version(), command.app->get_name()));
    }
    const int status = run(command);
    // A window has said them.
    if (command.app->get_name() != "view") std::ranges::for_each(added_notes(), tell_note);
    std::vector<std::string> warnings = inference::all_weight_warnings();
    // A window has said it of each run; what weights cause isn't said twice.
    const bool asks_runs = warnings.empty() && command.app->get_name() != "view";
    if (const std::string of_run = inference::noted_run_warning(); asks_runs && !of_run.empty()) warnings.push_back(of_run);
    for (const std::string& warning : warnings) std::cerr << "headlight: warning: " << one_line(warning) << '\n';
    return status == 0 && !warnings.empty() ? kOddNumbers : status;
  }
  return 0;
}

/// Reports whatever is thrown as one line on standard error and an exit status.
int report_errors(std::string_view program, const std::function<int()>& run) {
  int status = kFailed;
  try {
    status = run();
    expect_written();
  } catch (const UsageError& error) {
    complain(program, error.what());
    status = kWrongUsage;
  } catch (const std::exception& error) {
    complain(program, line_of(error));
    status = kFailed;
  }
  return status;
}

}  // namespace

/// Uses the fonts that an installation carries for systems without any, which it shows by this file (cmake/Install.cmake).
void use_carried_fonts() {
  const std::filesystem::path fonts = shared_folder() / "fonts" / "fonts.conf";
  std::error_code failure;
  if (!platform::path_variable("FONTCONFIG_FILE") && std::filesystem::exists(fonts, failure)) {
    platform::set_variable("FONTCONFIG_FILE", fonts.native());
  }
}

int run_command_line(int argc, char** argv) {
  use_carried_fonts();
  return report_errors(kProgram, [&] { return parse_and_run({argv + 1, argv + argc}); });
}

int run_single_command(const SingleCommand& program, int argc, char** argv) {
  return report_errors(program.name, [&] {
    CLI::App app;
    const std::function<int()> run = add_single_command(program, app);
    if (const std::optional<int> status = parse(app, {argv + 1, argv + argc})) return *status;
    refuse_leftovers(app, program.name);
    return run();
  });
}

void show_commands(const std::function<void(const CLI::App&)>& use) {
  CLI::App app;
  const std::vector<Subcommand> commands = add_commands(app);
  use(app);
}

void show_commands(const SingleCommand& program, const std::function<void(const CLI::App&)>& use) {
  CLI::App app;
  const std::function<int()> run = add_single_command(program, app);
  use(app);
}

}  // namespace headlight::app
