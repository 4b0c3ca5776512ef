// headlight-manual FOLDER: manual pages of every command of headlight and headlight-bench, and completions of three shells,
// below FOLDER as below /usr/share. They are written from the programs' own tables of flags.
#include <exception>
#include <iostream>

#include <fmt/format.h>

#include "app/cli/command_line.h"
#include "core/error.h"
#include "core/file.h"
#include "core/utf8.h"
#include "tools/bench/command.h"
#include "tools/manual/command_text.h"

namespace headlight::manual {
namespace {

std::size_t write_pages(const CommandText& command, const std::filesystem::path& folder) {
  write_file_atomically(folder / (man_page_name(command) + ".1"), man_page(command));
  std::size_t pages = 1;
  for (const CommandText& inner : command.commands) pages += write_pages(inner, folder);
  return pages;
}

void write_program(const CommandText& program, const std::filesystem::path& share) {
  struct Script {
    const char* folder;
    std::string name, text;
  };
  const Script scripts[] = {
      {"bash-completion/completions", program.name, bash_completion(program)},
      {"zsh/vendor-completions", "_" + program.name, zsh_completion(program)},
      {"fish/vendor_completions.d", program.name + ".fish", fish_completion(program)},
  };
  make_directories(share / "man" / "man1");
  const std::size_t pages = write_pages(program, share / "man" / "man1");
  for (const Script& script : scripts) {
    make_directories(share / script.folder);
    write_file_atomically(share / script.folder / script.name, script.text);
  }
  std::cout << fmt::format("{}: manual pages: {}, completions: {}, in {}\n", program.name, pages, std::size(scripts),
                           utf8(share));
}

}  // namespace
}  // namespace headlight::manual

int main(int argc, char** argv) {
  using namespace headlight;
  if (argc != 2) {
    std::cerr << "headlight-manual: name the folder to write into, as in headlight-manual ~/.local/share\n";
    return 2;
  }
  try {
    const auto write = [&](const CLI::App& app) { manual::write_program(manual::describe_command(app), argv[1]); };
    app::show_commands(write);
    app::show_commands(bench::bench_command(), write);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "headlight-manual: " << line_of(error) << '\n';
    return 1;
  }
}
