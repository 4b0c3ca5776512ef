#pragma once

#include <functional>
#include <string>
#include <vector>

// CLI11 is compiled in flags.cpp and command_line.cpp alone: all its code is in headers.
namespace CLI {  // NOLINT(readability-identifier-naming): its name in CLI11
class App;
}

namespace headlight::app {

/// One subcommand: its CLI11 command and its action once its flags are read. run() returns the exit status.
struct Subcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// A command inside `app`, which keeps it. The first line of `description` is the list's; --help shows all of it.
CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& description);
/// What --help ends with.
void set_footer(CLI::App& app, const std::string& text);
/// One of the subcommands may follow.
void take_one_subcommand(CLI::App& app);
/// Whether the command was on the parsed command line.
bool was_given(const CLI::App& app);

/// A flag with one value; given twice, the last one wins. `use` gets the value as typed and may throw UsageError.
void add_flag(CLI::App& app, const std::string& flag, const std::string& value_name, const std::string& help,
              const std::string& group, std::function<void(const std::string&)> use);

/// A flag that may be given several times.
void add_repeatable_flag(CLI::App& app, const std::string& flag, const std::string& value_name, const std::string& help,
                         const std::string& group, std::function<void(const std::vector<std::string>&)> use);

/// A flag without a value.
void add_plain_flag(CLI::App& app, const std::string& flag, const std::string& help, const std::string& group,
                    std::function<void()> use);

/// What completions offer for a flag's value beside files, where it takes one: some words, or several joined by commas.
enum class Offer { OneWord, List };
/// Of a flag that `app` has. What the flag takes isn't checked by it.
void offer_words(CLI::App& app, const std::string& flag, const std::vector<std::string>& words,
                 Offer offer = Offer::OneWord);

/// Of --model: the names of the models that come along.
void offer_model_names(CLI::App& app);

/// A word without a flag in front.
void add_argument(CLI::App& app, const std::string& name, const std::string& value_name, const std::string& help,
                  const std::string& group, std::string& value);

/// --field NAME of the commands that read JSON lines.
void add_field_flag(CLI::App& app, std::string& field, const std::string& group);

/// --device NAME, which every command has, and --kernels, which says how to compute there.
void add_device_flag(CLI::App& app, std::string& device);

/// --renderer NAME of the commands that draw the window: the device that draws it.
void add_renderer_flag(CLI::App& app, std::string& renderer);

/// --cache MIB of the commands with a window: the budget of evaluated tiles, in bytes.
void add_cache_flag(CLI::App& app, std::size_t& bytes);

/// Formats --help like a manual page: flags left, wrapped sentences right, in groups.
void set_help_layout(CLI::App& app);

}  // namespace headlight::app
