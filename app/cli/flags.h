#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/state/setting.h"
#include "app/state/usage.h"
#include "text/chat_template.h"

// CLI11 is compiled in flags.cpp and command_line.cpp alone: all its code is in headers.
namespace CLI {  // NOLINT(readability-identifier-naming): its name in CLI11
class App;
}

namespace headlight::app {

extern const std::string_view kCommandTexts;  ///< commands.txt, see cmake/Embed.cmake
/// Returns the part of commands.txt below "=== NAME".
std::string_view text_below(const std::string& name);

/// One subcommand: its CLI11 command and its action once its flags are read. run() returns the exit status.
struct Subcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// Gives the command what commands.txt has below its full name ("headlight evaluate bleu"): a description, whose first line
/// is also the list's, and what --help ends with.
void set_texts(CLI::App& app);
/// Returns a command inside `app`, which keeps it, with its texts.
CLI::App* add_subcommand(CLI::App& app, const std::string& name);
/// A subcommand that gets its flags, which it keeps.
template <typename Flags>
struct NewSubcommand {
  CLI::App* command;
  Flags* flags;
  Subcommand made;
};
/// Begins a command inside `app` whose action is `run`.
template <typename Flags>
auto begin_subcommand(CLI::App& app, const char* name, int (*run)(Flags&)) {
  using Kept = std::remove_const_t<Flags>;
  const auto flags = std::make_shared<Kept>();
  CLI::App* command = add_subcommand(app, name);
  return NewSubcommand<Kept>{command, flags.get(), {.app = command, .run = [flags, run] { return run(*flags); }}};
}
/// Lets one of the subcommands follow.
void take_one_subcommand(CLI::App& app);
/// Was the command on the parsed command line?
bool was_given(const CLI::App& app);

/// The form of the words that completions offer for a flag's value beside files: one of them, or several joined by commas.
enum class Offer { OneWord, List };
/// CLI11 keeps the words after the name of a flag's value: one of these marks and a word, for each.
constexpr char kWordMark = '\n', kListMark = '\t';
/// Offers words for a flag that `app` has. The flag's value isn't checked against them.
void offer_words(CLI::App& app, const std::string& flag, const std::vector<std::string>& words,
                 Offer offer = Offer::OneWord);

/// Adds flags below one heading of --help. Variables must outlive the command; those of flags that aren't given keep what
/// they have. A flag with one value is given once.
class FlagGroup {
 public:
  FlagGroup(CLI::App& app, std::string heading) : app_(app), heading_(std::move(heading)) {}

  /// Adds a flag with one value; `use` gets it as typed and may throw UsageError.
  void add(const std::string& flag, const std::string& value_name, const std::string& help,
           std::function<void(const std::string&)> use) const;
  /// Adds a flag that may be given several times.
  void add_repeatable(const std::string& flag, const std::string& value_name, const std::string& help,
                      std::function<void(const std::vector<std::string>&)> use) const;
  /// Adds a flag without a value.
  void add_plain(const std::string& flag, const std::string& help, std::function<void()> use) const;
  /// Adds a word without a flag in front; `use` gets it and may throw UsageError.
  void add_argument(const std::string& name, const std::string& value_name, const std::string& help,
                    std::function<void(const std::string&)> use) const;
  void add_argument(const std::string& name, const std::string& value_name, const std::string& help,
                    std::string& value) const;

  /// Adds words without a flag, as many as there are.
  void add_arguments(const std::string& name, const std::string& value_name, const std::string& help,
                     std::vector<std::filesystem::path>& values) const;

  /// Adds a flag that takes a text or a path as it is.
  template <typename Text>
  void take(const std::string& flag, const std::string& value_name, const std::string& help, Text& into) const {
    add(flag, value_name, help, [&into](const std::string& text) { into = text; });
  }
  /// Adds a flag that takes a whole number.
  template <typename Count>
  void take_count(const std::string& flag, const std::string& value_name, const std::string& help, Count& into,
                  std::uint64_t low, std::uint64_t high) const {
    add(flag, value_name, help, [flag, &into, low, high](const std::string& text) {
      into = static_cast<std::uint32_t>(parse_integer(flag, text, low, high));
    });
  }
  void take_count(const std::string& flag, const std::string& value_name, const std::string& help, std::uint64_t& into,
                  std::uint64_t low, std::uint64_t high) const {
    add(flag, value_name, help,
        [flag, &into, low, high](const std::string& text) { into = parse_integer(flag, text, low, high); });
  }
  template <typename Number>
  void take_number(const std::string& flag, const std::string& value_name, const std::string& help, Number& into, float low,
                   float high) const {
    add(flag, value_name, help,
        [flag, &into, low, high](const std::string& text) { into = parse_number(flag, text, low, high); });
  }
  /// Adds a flag whose value is one of some words, each with what it means; completions offer them.
  template <typename Meaning>
  void take_choice(const std::string& flag, const std::string& value_name, const std::string& help, Meaning& into,
                   std::vector<std::pair<std::string, std::type_identity_t<Meaning>>> choices) const {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.push_back(choice.first);
    add(flag, value_name, help, [flag, &into, names, choices = std::move(choices)](const std::string& text) {
      into = choices[parse_choice(flag, text, names)].second;
    });
    offer_words(app_, flag, names);
  }
  /// Adds a flag without a value that turns something on, or off.
  void turn(const std::string& flag, const std::string& help, bool& what, bool to = true) const {
    add_plain(flag, help, [&what, to] { what = to; });
  }

  CLI::App& app() const { return app_; }

 private:
  CLI::App& app_;
  std::string heading_;
};

/// Adds --model PATH: a bundled model's name as its folder, anything else as typed. `help` is followed by what it may name,
/// and by `rest`.
void add_model_flag(const FlagGroup& group, const std::string& help, const std::string& rest, std::string& model);
/// Adds --thinking on|off for the commands that write chats.
void add_thinking_flag(const FlagGroup& group, text::Thinking& thinking);
/// Adds --text for the commands that answer texts one by one, which a word without a flag is as well. `use` gets none where
/// they are the lines of standard input: of "-".
void add_texts_flags(const FlagGroup& group, const std::string& help,
                     std::function<void(const std::vector<std::string>&)> use);
/// Throws UsageError where a word that is taken as a text names a file.
void expect_no_file(const std::string& word);
/// Adds --field NAME for the commands that read JSON lines.
void add_field_flag(const FlagGroup& group, std::string& field);

/// Adds the flags of a group's settings; `use` gets the value that each is given.
void add_setting_flags(const FlagGroup& group, const SettingGroup& settings,
                       const std::function<void(const AnySetting& setting, SettingValue value)>& use);

/// Adds --device NAME, which every command has, and --kernels, which says how to compute there.
void add_device_flag(CLI::App& app, std::string& device);

/// Adds --renderer NAME for the commands that draw the window: the device that draws it.
void add_renderer_flag(CLI::App& app, std::string& renderer);

/// Adds --cache MIB for the commands with a window: the budget of evaluated tiles, in bytes.
void add_cache_flag(CLI::App& app, std::size_t& bytes);

/// Formats --help like a manual page: flags left, wrapped sentences right, in groups.
void set_help_layout(CLI::App& app);

}  // namespace headlight::app
