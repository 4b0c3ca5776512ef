#include "app/cli/subcommands.h"

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "app/cli/command_text.h"
#include "app/cli/completions.h"
#include "app/cli/man_page.h"
#include "app/state/usage.h"
#include "core/atomic_file.h"

namespace headlight::app {
namespace {

constexpr const char* kManualDescription =
    "Write manual pages and completions for shells\n\n"
    "From the same table of flags as --help. Installing Headlight does this; without an installation:\n"
    "  source <(headlight manual --completion bash)";

struct ManualFlags {
  std::filesystem::path directory;
  std::string shell;
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
  std::cout << fmt::format("{} manual pages and 3 completions in {}\n", pages, share.string());
  return 0;
}

}  // namespace

Subcommand add_manual_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "manual", kManualDescription);
  const auto flags = std::make_shared<ManualFlags>();
  add_flag(*command, "--out", "DIR", "write everything into this folder, as below /usr/share", "Output",
           [flags = flags.get()](const std::string& text) { flags->directory = text; });
  add_flag(*command, "--completion", "bash|zsh|fish", "print the script that makes this shell complete commands and flags",
           "Output", [flags = flags.get()](const std::string& text) {
             static const std::vector<std::string> kShells = {"bash", "zsh", "fish"};
             flags->shell = kShells[parse_choice("--completion", text, kShells)];
           });
  return {.app = command, .run = [flags, &app] {
            const CommandText program = describe_command(app);
            if (!flags->directory.empty()) return write_manual(program, flags->directory);
            if (flags->shell.empty()) throw UsageError("say what to write: --out DIR or --completion SHELL");
            std::cout << completion_of(program, flags->shell);
            return 0;
          }};
}

}  // namespace headlight::app
