// Manual pages and completions: they name every command and every flag that --help names, and shells and man take them.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "support/program.h"

namespace manual_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

/// Runs the tool that an installation runs.
Outcome write_manual(const fs::path& folder) { return run_headlight({folder.string()}, "", "", HEADLIGHT_MANUAL); }

/// The first words of the indented lines of --help that begin with `pattern`.
std::vector<std::string> listed(const std::string& help, const std::string& pattern, const std::string& below = "") {
  std::vector<std::string> words;
  std::istringstream lines(below.empty() ? help : help.substr(std::min(help.find(below), help.size())));
  const std::regex word("^  (" + pattern + ")");
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, found, word)) words.push_back(found[1]);
  }
  return words;
}

struct Listed {
  std::vector<std::string> command;  ///< "evaluate", "bleu"
  std::vector<std::string> flags;
};

std::string help_of(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  arguments.emplace_back("--help");
  const Outcome outcome = run_headlight(arguments);
  REQUIRE(outcome.status == 0);
  if (command.empty() || outcome.out.find("--help-all") == std::string::npos) return outcome.out;
  arguments.back() = "--help-all";
  const Outcome all = run_headlight(arguments);
  CHECK(all.status == 0);
  CHECK(all.out.size() > 2 * outcome.out.size());
  return all.out;
}

/// All commands as --help lists them, from the program on.
void list_commands(const std::vector<std::string>& command, std::vector<Listed>& all) {
  const std::string help = help_of(command);
  Listed listed_here{.command = command, .flags = listed(help, "--[a-z][a-z0-9-]*")};
  // "-h,--help" begins with its short name.
  for (const std::string& flag : listed(help, "-[a-z],--[a-z-]+")) listed_here.flags.push_back(flag.substr(3));
  all.push_back(listed_here);
  const std::size_t at = help.find("[COMMAND]");
  if (at == std::string::npos) return;
  for (const std::string& inner : listed(help, "[a-z-]+(?=  )", "ommands:")) {
    std::vector<std::string> whole = command;
    whole.push_back(inner);
    list_commands(whole, all);
  }
}

std::string without_escapes(const std::string& page) { return std::regex_replace(page, std::regex(R"(\\-)"), "-"); }

/// Returns the completions that bash offers after these words.
std::set<std::string> offered(const fs::path& script, const std::vector<std::string>& words) {
  std::string line = fmt::format("source '{}'; compopt() {{ :; }}; COMP_WORDS=(headlight", script.string());
  for (const std::string& word : words) line += " '" + word + "'";
  line += fmt::format("); COMP_CWORD={}; _headlight; printf '%s\\n' \"${{COMPREPLY[@]}}\"", words.size());
  const TemporaryDirectory folder;
  write_file_atomically(folder.path() / "line", line);
  const std::string out = (folder.path() / "out").string();
  REQUIRE(std::system(("bash '" + (folder.path() / "line").string() + "' > '" + out + "'").c_str()) == 0);
  std::istringstream lines(read_file(out));
  std::set<std::string> found;
  for (std::string word; std::getline(lines, word);) found.insert(word);
  found.erase("");
  return found;
}

bool has_program(const std::string& name) { return std::system(("command -v " + name + " > /dev/null").c_str()) == 0; }

/// Are there terminals? A chroot without /dev/pts has none.
bool has_terminals() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  const char* name = terminal < 0 ? nullptr : ::ptsname(terminal);
  const bool is_there = name != nullptr && std::filesystem::exists(name);
  if (terminal >= 0) ::close(terminal);
  return is_there;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every command and flag of --help is in its manual page and in the completions of three shells") {
    const TemporaryDirectory folder;
    const Outcome written = write_manual(folder.path());
    REQUIRE(written.status == 0);
    std::vector<Listed> commands;
    list_commands({}, commands);
    const std::string of_all = without_escapes(read_file(folder.path() / "man" / "man1" / "headlight.1"));
    CHECK(of_all.find("\n.SH ENVIRONMENT\n") < of_all.find("XDG_CACHE_HOME"));
    CHECK(of_all.find("\n.SH FILES\n") < of_all.find("headlight/settings.json"));
    CHECK(commands.size() >= 17);  // the program, 14 commands and those inside of evaluate
    const std::string place = folder.path().string();
    CHECK(written.out == fmt::format("headlight: manual pages: {}, completions: 3, in {}\n"
                                     "headlight-bench: manual pages: 1, completions: 3, in {}\n",
                                     commands.size(), place, place));
    const fs::path bash = folder.path() / "bash-completion/completions/headlight";
    const std::string zsh = read_file(folder.path() / "zsh/vendor-completions/_headlight");
    const std::string fish = read_file(folder.path() / "fish/vendor_completions.d/headlight.fish");
    for (const Listed& listed_here : commands) {
      std::string name = "headlight";
      for (const std::string& word : listed_here.command) name += "-" + word;
      CAPTURE(name);
      const std::string page = without_escapes(read_file(folder.path() / "man" / "man1" / (name + ".1")));
      std::vector<std::string> words = listed_here.command;
      words.emplace_back("--");
      const std::set<std::string> found = offered(bash, words);
      CHECK(listed_here.flags.size() >= 1);
      for (const std::string& flag : listed_here.flags) {
        CAPTURE(flag);
        CHECK(std::regex_search(page, std::regex("\n\\\\fB([^\n]*, )?" + flag + "[,\\\\]")));
        CHECK(found.contains(flag));
        CHECK(zsh.find("'*" + flag + "[") != std::string::npos);
        CHECK(std::regex_search(fish, std::regex(" -l " + flag.substr(2) + "[ \n]")));
      }
      for (const std::string& word : listed_here.command) CHECK(fish.find(" -a " + word + " ") != std::string::npos);
    }
  }

  TEST_CASE("bash completes commands, flags and choices where they are") {
    const TemporaryDirectory folder;
    REQUIRE(write_manual(folder.path()).status == 0);
    const fs::path script = folder.path() / "bash-completion/completions/headlight";
    CHECK(offered(script, {"exp"}) == std::set<std::string>{"export"});
    CHECK(offered(script, {"evaluate", "b"}) == std::set<std::string>{"bleu"});
    CHECK(offered(script, {"export", "--theme", ""}) == std::set<std::string>{"dark", "light"});
    CHECK(offered(script, {"export", "--out", ""}).empty());  // files, which bash knows
    CHECK(offered(script, {"evaluate", "heads", "--sp"}) == std::set<std::string>{"--span"});
    CHECK(offered(script, {"export", "--span"}).empty());
    CHECK(offered(script, {"export", "--format", "s"}) == std::set<std::string>{"svg", "safetensors"});
    CHECK(offered(script, {"export", "--hide", "title,la"}) == std::set<std::string>{"title,labels"});
    CHECK(offered(script, {"survey", "--metrics", "entropy,in"}) == std::set<std::string>{"entropy,induction"});
    CHECK(offered(script, {"export", "--preset", "notebook-001"}) == std::set<std::string>{"notebook-001"});
    CHECK(offered(script, {"evaluate", "heads", "--exclude", "b"}) == std::set<std::string>{"both"});
    CHECK(offered(script, {"view", "--compare-with", "tra"}).contains("trained"));
    CHECK(offered(script, {"view", "--model", "capt"}).contains("captions-gpt2"));
  }

  TEST_CASE("fish and zsh offer the words of a flag, and several joined by commas") {
    const TemporaryDirectory folder;
    REQUIRE(write_manual(folder.path()).status == 0);
    const std::string root = folder.path().string();
    const auto run = [&](const std::string& line) {
      return std::system(fmt::format("cd '{0}' && HOME='{0}' timeout 60 {1} > said 2> errors", root, line).c_str());
    };
    if (has_program("fish")) {
      // A line for each word, with what it means behind a tab.
      const auto offers = [&](const std::string& typed, const std::string& word) {
        CAPTURE(typed);
        CHECK(run(fmt::format("fish -c 'source fish/vendor_completions.d/headlight.fish; complete -C \"{}\"'", typed)) == 0);
        CHECK(read_file(root + "/errors") == "");
        CHECK(("\n" + read_file(root + "/said")).find(fmt::format("\n{}\t", word)) != std::string::npos);
      };
      offers("headlight export --theme ", "light");
      offers("headlight export --hide title,la", "title,labels");
      offers("headlight survey --metrics ent", "entropy");
      offers("headlight view --model capt", "captions-gpt2");
      offers("headlight evaluate heads --exclude b", "both");
      offers("headlight help sur", "survey");
    } else {
      MESSAGE("fish isn't installed: its completions aren't run");
    }
    if (has_program("zsh") && !has_terminals()) {
      MESSAGE("there are no pseudo terminals: zsh's completions aren't run");
    } else if (has_program("zsh")) {
      write_file_atomically(root + "/.zshrc",
                            "fpath=($ZDOTDIR/zsh/vendor-completions $fpath); autoload -Uz compinit; compinit -u -D\n"
                            "bindkey -e; unsetopt beep; PS1=READY\n");
      // Typed in a terminal of its own; the tab key completes what is the only one.
      const auto offers = [&](const std::string& typed, const std::string& line) {
        CAPTURE(typed);
        write_file_atomically(root + "/typed.zsh",
                              fmt::format("zmodload zsh/zpty\nzpty shell 'ZDOTDIR={} TERM=dumb COLUMNS=200 zsh -d -i'\n"
                                          "zpty -r shell seen '*READY*' && zpty -w -n shell '{}'$'\\t' &&\n"
                                          "zpty -r shell seen '*{}*'\n",
                                          root, typed, line));
        CHECK_MESSAGE(run("zsh -f typed.zsh") == 0, read_file(root + "/errors"));
      };
      offers("headlight export --theme li", "--theme light");
      offers("headlight export --hide title,la", "--hide title,labels");
      offers("headlight survey --metrics ent", "--metrics entropy");
      offers("headlight view --model capt", "--model captions-gpt2");
      offers("headlight view --compare-with tra", "--compare-with trained");
      offers("headlight evaluate heads --exclude b", "--exclude both");
      offers("headlight help sur", "help survey");
    } else {
      MESSAGE("zsh isn't installed: its completions aren't run");
    }
  }

  TEST_CASE("man finds nothing wrong with the pages, and shells nothing with their scripts") {
    const TemporaryDirectory folder;
    REQUIRE(write_manual(folder.path()).status == 0);
    const std::string root = folder.path().string();
    const auto says_nothing = [&](const std::string& line) {
      CAPTURE(line);
      const int status = std::system((line + " > '" + root + "/said' 2>&1").c_str());
      CHECK(status == 0);
      CHECK(read_file(root + "/said") == "");
    };
    if (has_program("groff")) {
      for (const fs::directory_entry& page : fs::directory_iterator(folder.path() / "man" / "man1")) {
        says_nothing("groff -Kutf8 -man -Tutf8 -ww -z '" + page.path().string() + "'");
      }
    }
    says_nothing("bash -n '" + root + "/bash-completion/completions/headlight'");
    if (has_program("zsh")) says_nothing("zsh -n '" + root + "/zsh/vendor-completions/_headlight'");
    if (has_program("fish")) says_nothing("fish -n '" + root + "/fish/vendor_completions.d/headlight.fish'");
  }

  TEST_CASE("the tool says what is missing, and what it can't write") {
    CHECK(run_headlight({}, "", "", HEADLIGHT_MANUAL).status == 2);
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "file", "");
    const Outcome failed = write_manual(folder.path() / "file");
    CHECK(failed.status == 1);
    CHECK(failed.err.starts_with("headlight-manual: "));
    CHECK(failed.err.find('\n') == failed.err.size() - 1);
  }
}

}  // namespace manual_test
