#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): its name in CLI11
class App;
}

namespace headlight::manual {

/// A flag or an argument as --help shows it.
struct ShownFlag {
  std::vector<std::string> names = {};  ///< "--size" and "-s"; of an argument empty
  std::string value = {};               ///< "FILE", "on|off"; empty: the flag has none
  std::string help = {}, group = {};
  std::vector<std::string> words = {};  ///< that the value may be, beside files where it takes one
  bool is_list = false;                 ///< several of the words, joined by commas
};

/// A command with all that is inside of it.
struct CommandText {
  std::string name = {};  ///< the whole: "headlight evaluate bleu"
  std::string description = {}, footer = {};
  std::vector<ShownFlag> flags = {}, arguments = {};
  std::vector<CommandText> commands = {};
  std::vector<std::pair<std::string, std::string>> sections =
      {};  ///< of the program: "ENVIRONMENT" and "FILES" with their lines

  /// The last word of the name.
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
  /// The first line of the description.
  std::string summary() const { return description.substr(0, description.find('\n')); }
};

/// Describes a command and all those inside of it, in the order of --help. `outer` is the name of the command that it is
/// inside of, and a space.
CommandText describe_command(const CLI::App& app, const std::string& outer = {});

/// Words that the value may be: those that were offered, or those of "dark|light" and "FILE|trained"; may be none.
std::vector<std::string> choices_of(const ShownFlag& flag);
/// Does the flag take a file or a folder?
bool takes_path(const ShownFlag& flag);

/// The manual page of one command in section 1, in the language of man(7), and the name of its file without ".1":
/// "headlight-evaluate-bleu" of the command "headlight evaluate bleu".
std::string man_page(const CommandText& command);
std::string man_page_name(const CommandText& command);

extern const std::string_view kBashCompletion;  ///< completion.bash, see cmake/Embed.cmake

/// Scripts that make a shell complete commands, flags, their choices and files. `program` is the whole of it.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace headlight::manual
