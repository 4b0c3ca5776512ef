#pragma once

#include <string>
#include <vector>

#include "app/cli/flags.h"

namespace headlight::app {

/// A flag or an argument as --help shows it.
struct ShownFlag {
  std::vector<std::string> names = {};  ///< "--size" and "-s"; of an argument empty
  std::string value = {};               ///< "FILE", "on|off"; empty: the flag has none
  std::string help = {}, group = {};
};

/// A command with all that is inside of it: what --help, manual pages and completions are written from.
struct CommandText {
  std::string name = {};  ///< the whole: "headlight evaluate bleu"
  std::string description = {}, footer = {};
  std::vector<ShownFlag> flags = {}, arguments = {};
  std::vector<CommandText> commands = {};

  /// The last word of the name.
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
  /// The first line of the description.
  std::string summary() const { return description.substr(0, description.find('\n')); }
};

/// Of a command and all those inside of it, in the order of --help.
CommandText describe_command(const CLI::App& app);

/// The words of a value such as "dark|light"; empty where it isn't a choice of words.
std::vector<std::string> choices_of(const ShownFlag& flag);
/// Does the flag take a file or a folder?
bool takes_path(const ShownFlag& flag);

}  // namespace headlight::app
