#include "app/cli/subcommands.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_text.h"
#include "app/cli/output.h"
#include "app/dialogs/help_dialogs.h"
#include "app/state/usage.h"
#include "app/state/version.h"
#include "core/atomic_file.h"

namespace headlight::app {
namespace {

/// Text of a page: a backslash and a dash mean something to man, and so does a dot at a line's beginning.
std::string man_text(const std::string& text) {
  std::string escaped;
  bool begins_line = true;
  for (const char letter : text) {
    if (begins_line && (letter == '.' || letter == '\'')) escaped += "\\&";
    begins_line = letter == '\n';
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string man_upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string man_flag(const ShownFlag& flag) {
  std::string text = fmt::format(".TP\n\\fB{}\\fR", man_text(fmt::format("{}", fmt::join(flag.names, ", "))));
  if (!flag.value.empty()) text += fmt::format(" \\fI{}\\fR", man_text(flag.value));
  return fmt::format("{}\n{}\n", text, man_text(flag.help));
}

/// Flags in their groups, in the order of their first flags.
std::string man_flags(const CommandText& command) {
  std::vector<std::string> groups;
  for (const ShownFlag& flag : command.flags) {
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    text += fmt::format(".SS {}\n", man_text(group));
    for (const ShownFlag& flag : command.flags) {
      if (flag.group == group) text += man_flag(flag);
    }
  }
  return text;
}

std::string man_synopsis(const CommandText& command) {
  std::string text = fmt::format(".SH SYNOPSIS\n\\fB{}\\fR", man_text(command.name));
  if (!command.commands.empty()) text += " [\\fICOMMAND\\fR]";
  for (const ShownFlag& argument : command.arguments) text += fmt::format(" \\fI{}\\fR", man_text(argument.value));
  return text + " [\\fIFLAG VALUE\\fR]...\n";
}

/// As it was laid out for a terminal.
std::string man_verbatim(const std::string& text) { return fmt::format(".nf\n{}\n.fi\n", man_text(text)); }

/// "headlight-evaluate-bleu" of the command "headlight evaluate bleu".
std::string man_page_name(const CommandText& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

/// Of the commit that was built; empty where it isn't known.
std::string_view commit_date() { return kCommit.substr(std::min(kCommit.find(' ') + 1, kCommit.size())); }

/// The manual page of one command in section 1, in the language of man(7).
std::string man_page(const CommandText& command, const std::string& version) {
  const std::string name = man_page_name(command);
  // The page of the whole program begins with "Headlight - what it is".
  const std::string& summary = command.summary();
  const std::size_t dash = summary.find(" - ");
  const std::string what = dash == std::string::npos ? summary : summary.substr(dash + 3);
  std::string page = fmt::format(".TH {} 1 \"{}\" \"headlight {}\" \"Headlight\"\n.SH NAME\n{} \\- {}\n",
                                 man_upper(man_text(name)), commit_date(), version, man_text(name), man_text(what));
  page += man_synopsis(command);
  const std::size_t rest = command.description.find_first_not_of('\n', command.summary().size());
  const bool has_more = rest != std::string::npos;
  page += fmt::format(".SH DESCRIPTION\n{}\n", man_text(has_more ? command.description.substr(rest) : what));
  if (!command.arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const ShownFlag& argument : command.arguments) {
      page += fmt::format(".TP\n\\fI{}\\fR\n{}\n", man_text(argument.value), man_text(argument.help));
    }
  }
  if (!command.commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CommandText& inner : command.commands) {
      page += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", man_text(man_page_name(inner)), man_text(inner.summary()));
    }
  }
  page += ".SH FLAGS\n" + man_flags(command);
  if (!command.footer.empty()) page += ".SH NOTES\n" + man_verbatim(command.footer);
  for (const auto& [title, lines] : command.sections) page += fmt::format(".SH {}\n{}", title, man_verbatim(lines));
  if (const std::size_t space = command.name.rfind(' '); space != std::string::npos) {
    const std::string outer = man_page_name({.name = command.name.substr(0, space)});
    page += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", man_text(outer));
  }
  return page;
}

struct ManualFlags {
  std::filesystem::path directory;
  std::string shell;
  bool lists_keys = false;
};

std::string completion_of(const CommandText& program, const std::string& shell) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

std::size_t write_pages(const CommandText& command, const std::filesystem::path& folder) {
  write_file_atomically(folder / (man_page_name(command) + ".1"), man_page(command, HEADLIGHT_VERSION));
  std::size_t pages = 1;
  for (const CommandText& inner : command.commands) pages += write_pages(inner, folder);
  return pages;
}

/// The folders are those below /usr/share.
int write_manual(const CommandText& program, const std::filesystem::path& share) {
  struct Place {
    const char *shell, *folder;
    std::string name;
  };
  const Place places[] = {{"bash", "bash-completion/completions", program.name},
                          {"zsh", "zsh/vendor-completions", "_" + program.name},
                          {"fish", "fish/vendor_completions.d", program.name + ".fish"}};
  make_directories(share / "man" / "man1");
  const std::size_t pages = write_pages(program, share / "man" / "man1");
  for (const Place& place : places) {
    make_directories(share / place.folder);
    write_file_atomically(share / place.folder / place.name, completion_of(program, place.shell));
  }
  tell_result(fmt::format("{} manual pages and 3 completions in {}", pages, utf8(share)),
              {{"folder", utf8(share)}, {"pages", pages}, {"completions", std::size(places)}});
  return 0;
}

}  // namespace

Subcommand add_manual_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "manual");
  const auto flags = std::make_shared<ManualFlags>();
  const FlagGroup output(*command, "Output");
  output.take("-o,--out", "DIR", "write everything into this folder, as below /usr/share", flags->directory);
  output.take_choice("--completion", "bash|zsh|fish", "print the script that makes this shell complete commands and flags",
                     flags->shell, {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}});
  if (app.get_name() == "headlight")
    output.turn("--keys", "print all keys of the window, for a sheet of paper", flags->lists_keys);
  return {.app = command, .run = [flags, &app] {
            const CommandText program = describe_command(app);
            if (flags->lists_keys) std::cout << keys_in_words();
            if (flags->lists_keys) return 0;
            if (!flags->directory.empty()) return write_manual(program, flags->directory);
            if (flags->shell.empty()) throw UsageError("say what to write: --out DIR, --completion SHELL or --keys");
            std::cout << completion_of(program, flags->shell);
            return 0;
          }};
}

}  // namespace headlight::app
