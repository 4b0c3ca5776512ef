#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/state/version.h"
#include "tools/manual/command_text.h"

namespace headlight::manual {
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
      if (letter == '|') escaped += "\\:";  // a list of choices may be broken there
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

/// The day of the commit that was built; empty where it isn't known.
std::string_view commit_date() { return app::kCommit.substr(std::min(app::kCommit.find(' ') + 1, app::kCommit.size())); }

}  // namespace

std::string man_page_name(const CommandText& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const CommandText& command) {
  const std::string name = man_page_name(command);
  // The page of the whole program begins with "Headlight - what it is".
  const std::string& summary = command.summary();
  const std::size_t dash = summary.find(" - ");
  const std::string what = dash == std::string::npos ? summary : summary.substr(dash + 3);
  std::string page =
      fmt::format(".TH {} 1 \"{}\" \"headlight {}\" \"Headlight\"\n.ad l\n.SH NAME\n{} \\- {}\n", man_upper(man_text(name)),
                  commit_date(), HEADLIGHT_VERSION, man_text(name), man_text(what));
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

}  // namespace headlight::manual
