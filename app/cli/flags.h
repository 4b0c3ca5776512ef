#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace headlight::app {

/// One subcommand: its CLI11 command and its action once its flags are read. run() returns the exit status.
struct Subcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// A flag with one value; given twice, the last one wins. `use` gets the value as typed and may throw UsageError.
CLI::Option* add_flag(CLI::App& app, const std::string& flag, const std::string& value_name, const std::string& help,
                      const std::string& group, std::function<void(const std::string&)> use);

/// A flag that may be given several times.
CLI::Option* add_repeatable_flag(CLI::App& app, const std::string& flag, const std::string& value_name,
                                 const std::string& help, const std::string& group,
                                 std::function<void(const std::vector<std::string>&)> use);

/// A flag without a value.
CLI::Option* add_plain_flag(CLI::App& app, const std::string& flag, const std::string& help, const std::string& group,
                            std::function<void()> use);

/// --device NAME, which every command has, and --kernels, which says how to compute there.
void add_device_flag(CLI::App& app, std::string& device);

/// --cache MIB of the commands with a window: the budget of evaluated tiles, in bytes.
void add_cache_flag(CLI::App& app, std::size_t& bytes);

/// Formats --help like a manual page: flags left, wrapped sentences right, in groups.
void set_help_layout(CLI::App& app);

}  // namespace headlight::app
