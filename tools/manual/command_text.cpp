#include "tools/manual/command_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/cli/flags.h"

namespace headlight::manual {
namespace {

ShownFlag describe_flag(const CLI::Option& option) {
  ShownFlag flag{.names = {}, .value = {}, .help = option.get_description(), .group = option.get_group()};
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  if (option.get_type_size() == 0) return flag;
  const std::string whole = option.get_type_name();
  const auto next_mark = [&](std::size_t from) {
    return std::min(whole.find_first_of({app::kWordMark, app::kListMark}, from), whole.size());
  };
  flag.value = whole.substr(0, next_mark(0));
  flag.is_list = whole.find(app::kListMark) != std::string::npos;
  for (std::size_t at = flag.value.size(); at < whole.size();) {
    const std::size_t end = next_mark(at + 1);
    flag.words.push_back(whole.substr(at + 1, end - at - 1));
    at = end;
  }
  return flag;
}

}  // namespace

CommandText describe_command(const CLI::App& app, const std::string& outer) {
  CommandText command{.name = outer + app.get_name(), .description = app.get_description(), .footer = app.get_footer()};
  if (command.name == "headlight") {
    for (const char* title : {"ENVIRONMENT", "FILES"}) command.sections.emplace_back(title, app::text_below(title));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // --help hides it
    const ShownFlag flag = describe_flag(*option);
    (option->get_positional() ? command.arguments : command.flags).push_back(flag);
  }
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(describe_command(*inner, command.name + " "));
  }
  return command;
}

std::vector<std::string> choices_of(const ShownFlag& flag) {
  if (!flag.words.empty()) return flag.words;
  std::vector<std::string> choices;
  for (std::size_t at = 0; at <= flag.value.size();) {
    const std::size_t end = std::min(flag.value.find('|', at), flag.value.size());
    choices.push_back(flag.value.substr(at, end - at));
    at = end + 1;
  }
  const auto is_word = [](const std::string& choice) {
    return !choice.empty() && std::ranges::all_of(choice, [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_';
    });
  };
  if (choices.size() < 2) return {};
  if (takes_path(flag)) choices.erase(choices.begin());  // "FILE|trained"
  return std::ranges::all_of(choices, is_word) ? choices : std::vector<std::string>();
}

bool takes_path(const ShownFlag& flag) {
  constexpr std::array<std::string_view, 4> kPaths = {"FILE", "DIR", "PATH", "FOLDER"};
  return std::ranges::any_of(kPaths, [&](std::string_view path) { return flag.value.starts_with(path); });
}

}  // namespace headlight::manual
