#include "tools/manual/command_text.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::manual {
namespace {

void for_each_command(const CommandText& command, const std::function<void(const CommandText&)>& use) {
  use(command);
  for (const CommandText& inner : command.commands) for_each_command(inner, use);
}

/// What can follow the command: the commands inside it, and its flags.
std::string words_after(const CommandText& command) {
  std::vector<std::string> words;
  for (const CommandText& inner : command.commands) words.push_back(inner.word());
  for (const ShownFlag& flag : command.flags) words.insert(words.end(), flag.names.begin(), flag.names.end());
  return fmt::format("{}", fmt::join(words, " "));
}

/// `text` within single quotes of a shell; `special` are letters that need a backslash besides.
std::string within_quotes(const std::string& text, std::string_view special = {}) {
  std::string quoted;
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
      continue;
    }
    if (special.find(letter) != std::string_view::npos) quoted += '\\';
    quoted += letter == '\n' ? ' ' : letter;
  }
  return quoted;
}

/// A sentence of help, as far as a line of a list has room.
std::string short_help(const std::string& help) {
  constexpr std::size_t kRoom = 80;
  if (help.size() <= kRoom) return help;
  const std::size_t end = help.rfind(' ', kRoom);
  return help.substr(0, end == std::string::npos ? kRoom : end) + " ...";
}

std::string function_name(const CommandText& command) {
  std::string name = "_" + command.name;
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string filled_in(std::string text, std::initializer_list<std::pair<std::string_view, std::string>> parts) {
  for (const auto& [place, part] : parts) {
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += part.size()) {
      text.replace(at, place.size(), part);
    }
  }
  return text;
}

std::string zsh_action(const ShownFlag& flag) {
  if (flag.value.empty()) return "";
  const std::string words = fmt::format("{}", fmt::join(choices_of(flag), " "));
  const std::string action = words.empty()      ? (takes_path(flag) ? "_files" : " ")
                             : flag.is_list     ? fmt::format("_values -s , {} {}", within_quotes(flag.value), words)
                             : takes_path(flag) ? fmt::format(" _headlight_words_or_files {}", words)
                                                : fmt::format("({})", words);
  return fmt::format(":{}:{}", within_quotes(flag.value, ":[]\\"), action);
}

std::string zsh_function(const CommandText& command) {
  std::string text = fmt::format("{}() {{\n", function_name(command));
  if (!command.commands.empty()) {
    text += "  local -a commands=(\n";
    for (const CommandText& inner : command.commands) {
      text += fmt::format("    '{}:{}'\n", inner.word(), within_quotes(inner.summary(), ":\\"));
    }
    text += "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n  else\n    case $words[2] in\n";
    for (const CommandText& inner : command.commands) {
      text += fmt::format("      {}) shift words; (( CURRENT-- )); {}; return ;;\n", inner.word(), function_name(inner));
    }
    text += "      help) (( CURRENT == 3 )) && _describe command commands; return ;;\n";
    text += "    esac\n  fi\n";
  }
  text += "  _arguments";
  for (const ShownFlag& flag : command.flags) {
    for (const std::string& name : flag.names) {
      text += fmt::format(" \\\n    '*{}[{}]{}'", name, within_quotes(short_help(flag.help), "[]:\\"), zsh_action(flag));
    }
  }
  return text + " \\\n    '*:file:_files'\n}\n\n";
}

}  // namespace

std::string bash_completion(const CommandText& program) {
  std::string commands, values, words;
  for_each_command(program, [&](const CommandText& command) {
    for (const CommandText& inner : command.commands) {
      commands += fmt::format("      \"{}\") command=\"{}\" ;;\n", inner.name, inner.name);
    }
    for (const ShownFlag& flag : command.flags) {
      if (flag.value.empty()) continue;
      std::string patterns;
      for (const std::string& name : flag.names) {
        patterns += fmt::format("{}\"{} {}\"", patterns.empty() ? "" : "|", command.name, name);
      }
      const std::vector<std::string> choices = choices_of(flag);
      values += fmt::format("    {}) ", patterns);
      if (choices.empty()) {
        values += takes_path(flag) ? "compopt -o default; return ;;\n" : "return ;;\n";
      } else {
        const char* const function = flag.is_list ? "list" : takes_path(flag) ? "words_or_files" : "words";
        values += fmt::format("_headlight_{} \"{}\"; return ;;\n", function, fmt::join(choices, " "));
      }
    }
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", command.name, words_after(command));
  });
  return filled_in(std::string(kBashCompletion), {{"@program@", program.name},
                                                  {"@function@", function_name(program)},
                                                  {"@commands@", commands},
                                                  {"@values@", values},
                                                  {"@words@", words}});
}

std::string zsh_completion(const CommandText& program) {
  std::string functions;
  for_each_command(program, [&](const CommandText& command) { functions = zsh_function(command) + functions; });
  return fmt::format("#compdef {0}\n# zsh completion of {0}; written by headlight-manual\n\n", program.name) +
         "_headlight_words_or_files() {\n  _alternative 'words:word:('\"$*\"')' 'files:file:_files'\n}\n\n" + functions +
         function_name(program) + " \"$@\"\n";
}

std::string fish_completion(const CommandText& program) {
  std::string text =
      fmt::format("# fish completion of {0}; written by headlight-manual\n", program.name) +
      "function __headlight_list\n"
      "    set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string replace -r '[^,]*$' '')\n"
      "    printf '%s\\n' \"$before\"$argv\n"
      "end\n";
  for_each_command(program, [&](const CommandText& command) {
    const bool is_program = command.name == program.name;
    std::string inside;  // of the commands below this one
    for (const CommandText& inner : command.commands) inside += " " + inner.word();
    const std::string seen = is_program ? std::string() : "__fish_seen_subcommand_from " + command.word();
    std::string outside = is_program ? "not __fish_seen_subcommand_from" + inside : seen;
    if (!is_program && !inside.empty()) outside += "; and not __fish_seen_subcommand_from" + inside;
    // A program without commands has no condition.
    const std::string of_flag = !is_program ? seen : inside.empty() ? "" : outside;
    const std::string when = of_flag.empty() ? "" : fmt::format(" -n '{}'", of_flag);
    for (const CommandText& inner : command.commands) {
      text += fmt::format("complete -c {} -n '{}' -f -a {} -d '{}'\n", program.name, outside, inner.word(),
                          within_quotes(inner.summary(), "\\"));
    }
    for (const ShownFlag& flag : command.flags) {
      std::string names;
      for (const std::string& name : flag.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      const std::string choices = fmt::format("{}", fmt::join(choices_of(flag), " "));
      const std::string files = takes_path(flag) ? " -r -F" : " -x";
      const std::string value = flag.value.empty() ? ""
                                : choices.empty()  ? files
                                : flag.is_list     ? fmt::format("{} -a '(__headlight_list {})'", files, choices)
                                                   : fmt::format("{} -a '{}'", files, choices);
      text += fmt::format("complete -c {}{}{}{} -d '{}'\n", program.name, when, names, value,
                          within_quotes(short_help(flag.help), "\\"));
    }
  });
  return text;
}

}  // namespace headlight::manual
