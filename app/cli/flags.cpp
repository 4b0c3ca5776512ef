#include "app/cli/flags.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/models/starter_view.h"
#include "app/state/setting_text.h"
#include "app/state/state_names.h"
#include "core/text_bytes.h"
#include "platform/process.h"

namespace headlight::app {
namespace {

constexpr std::size_t kTextColumn = 30;
constexpr std::size_t kLineWidth = 100;

std::string value_name(const CLI::Option& option) {
  const std::string whole = option.get_type_name();
  return whole.substr(0, whole.find_first_of({kWordMark, kListMark}));
}

/// Returns `text` in lines of at most kLineWidth, all of them beginning at kTextColumn; the cursor is already at `column`.
std::string wrapped(const std::string& text, std::size_t column) {
  std::string result;
  if (column + 1 >= kTextColumn) {
    result += "\n";
    column = 0;
  }
  result += std::string(kTextColumn - column, ' ');
  column = kTextColumn;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > kTextColumn && column + 1 + word.size() > kLineWidth) {
      result += "\n" + std::string(kTextColumn, ' ');
      column = kTextColumn;
    }
    if (column > kTextColumn) result += ' ';
    result += word;
    column += word.size() + 1;
  }
  return result + "\n";
}

/// Commands with more flags than this have a short help, of the flags that most calls have.
constexpr std::size_t kManyFlags = 40;
constexpr std::array<std::string_view, 28> kUsualFlags = {
    "--help",  "--help-all", "--text",   "--text-file",    "--session", "--preset",       "--capture",
    "--model", "--mask",     "--target", "--out",          "--format",  "--stages",       "--views",
    "--layer", "--head",     "--width",  "--title",        "--theme",   "--check-record", "--texts",
    "--tab",   "--figure",   "--lesson", "--compare-text", "--dry-run", "--json",         "--quiet"};

bool is_usual(const CLI::Option* option) {
  return option->get_positional() || std::ranges::any_of(kUsualFlags, [&](std::string_view name) {
           return std::ranges::find(option->get_lnames(), name.substr(2)) != option->get_lnames().end();
         });
}

/// Returns a help of some length without its details, but with what is the default.
std::string first_part(const std::string& help) {
  constexpr std::size_t kLong = 180;
  if (help.size() <= kLong) return help;
  const std::size_t usual = help.rfind(" (default");
  const std::size_t longest = std::min(kLong, usual);
  const std::size_t found = help.rfind("; ", longest), end = found == std::string::npos ? help.rfind(": ", longest) : found;
  if (end == std::string::npos) return help;
  return help.substr(0, end) + " \u2026" + (usual == std::string::npos ? "" : help.substr(usual));
}

/// Returns "headlight evaluate bleu"
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

class ManualFormatter final : public CLI::Formatter {
 public:
  static std::string described(const CLI::Option* option, bool is_short) {
    std::string head = "  " + (option->get_positional() ? value_name(*option) : option->get_name(false, true));
    if (option->get_type_size() > 0 && !option->get_positional()) head += " " + value_name(*option);
    return head + wrapped(is_short ? first_part(option->get_description()) : option->get_description(), head.size());
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const bool is_short = app->get_help_all_ptr() != nullptr && mode == CLI::AppFormatMode::Normal && app->get_parent();
    std::string text = make_description(app) + make_usage(app, name);
    for (const std::string& group : app->get_groups()) {
      const std::vector<const CLI::Option*> options = app->get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && (!is_short || is_usual(option)); });
      if (options.empty() || group.empty()) continue;
      text += "\n" + group + ":\n";
      for (const CLI::Option* option : options) text += described(option, is_short);
    }
    if (is_short) {  // its footer begins with examples
      const std::string footer = app->get_footer();
      const auto shown = app->get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
      return fmt::format("{}\n{} flags in all: {} --help-all\n\n{}\n", text, shown.size(), full_name(*app),
                         footer.substr(0, footer.find("\n\n")));
    }
    text += make_subcommands(app, mode) + "\n" + make_footer(app);
    if (mode != CLI::AppFormatMode::All || app->get_parent()) return text;
    for (const char* title : {"ENVIRONMENT", "FILES"}) text += fmt::format("\n{}:\n{}\n", title, text_below(title));
    return text;
  }

  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    const bool has_commands = !app->get_subcommands([](const CLI::App*) { return true; }).empty();
    std::string usage = "\nUsage: " + full_name(*app) + (has_commands ? " [COMMAND]" : "");
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) usage += " " + value_name(*option);
    }
    return usage + " [FLAG VALUE]...\n";
  }

  std::string make_subcommand(const CLI::App* command) const override {
    const std::string head = "  " + command->get_name();
    const std::string description = command->get_description();
    return head + wrapped(description.substr(0, description.find('\n')), head.size());
  }
};

}  // namespace

std::string_view text_below(const std::string& name) {
  const std::string heading = "=== " + name + "\n";
  const std::size_t begin = kCommandTexts.find(heading) + heading.size();
  const std::string_view all = kCommandTexts.substr(begin, kCommandTexts.find("\n=== ", begin) - begin);
  return all.substr(0, all.find_last_not_of('\n') + 1);
}

void set_texts(CLI::App& app) {
  const std::string_view all = text_below(full_name(app));
  const std::size_t dashes = all.find("\n---\n");
  app.description(std::string(all.substr(0, dashes)));
  if (dashes != std::string_view::npos) app.footer(std::string(all.substr(dashes + 5)));
}

CLI::App* add_subcommand(CLI::App& app, const std::string& name) {
  CLI::App* command = app.add_subcommand(name);
  command->group("Subcommands");  // CLI11's own heading is in capitals from version 2.6 on, as is that of flags
  set_texts(*command);
  return command;
}

void take_one_subcommand(CLI::App& app) { app.require_subcommand(0, 1); }

bool was_given(const CLI::App& app) { return app.parsed(); }

void FlagGroup::add(const std::string& flag, const std::string& value_name, const std::string& help,
                    std::function<void(const std::string&)> use) const {
  add_repeatable(flag, value_name, help, [use = std::move(use), flag](const std::vector<std::string>& values) {
    if (values.size() > 1) {
      const std::string name = flag.substr(flag.rfind(',') + 1);
      throw UsageError("{} has one value, but is given {} times", name, values.size());
    }
    use(values.front());
  });
}

void FlagGroup::add_repeatable(const std::string& flag, const std::string& value_name, const std::string& help,
                               std::function<void(const std::vector<std::string>&)> use) const {
  CLI::Option* option = app_.add_option(
      flag,
      [use = std::move(use)](const CLI::results_t& values) {
        use(values);
        return true;
      },
      help);
  option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->type_name(value_name)->group(heading_);
}

void FlagGroup::add_plain(const std::string& flag, const std::string& help, std::function<void()> use) const {
  app_.add_flag_callback(flag, std::move(use), help)->group(heading_);
}

void FlagGroup::add_argument(const std::string& name, const std::string& value_name, const std::string& help,
                             std::function<void(const std::string&)> use) const {
  app_.add_option_function<std::string>(name, use, help)->type_name(value_name)->group(heading_);
}

void FlagGroup::add_arguments(const std::string& name, const std::string& value_name, const std::string& help,
                              std::vector<std::filesystem::path>& values) const {
  app_.add_option_function<std::vector<std::string>>(
          name, [&values](const std::vector<std::string>& words) { values.assign(words.begin(), words.end()); }, help)
      ->type_name(value_name)
      ->group(heading_);
}
void FlagGroup::add_argument(const std::string& name, const std::string& value_name, const std::string& help,
                             std::string& value) const {
  app_.add_option(name, value, help)->type_name(value_name)->group(heading_);
}

void offer_words(CLI::App& app, const std::string& flag, const std::vector<std::string>& words, Offer offer) {
  CLI::Option* option = app.get_option(flag);
  std::string name = value_name(*option);
  for (const std::string& word : words) name.append(1, offer == Offer::List ? kListMark : kWordMark).append(word);
  option->type_name(name);
}

void add_model_flag(const FlagGroup& group, const std::string& help, const std::string& rest, std::string& model) {
  group.add("-m,--model", "PATH", fmt::format("{}: {}{}", help, kModelNames, rest),
            [&model](const std::string& text) { model = named_model(text); });
  offer_words(group.app(), "--model", {kCaptionWriter, kTranslator});
}

void add_setting_flags(const FlagGroup& group, const SettingGroup& settings,
                       const std::function<void(const AnySetting&, SettingValue)>& use) {
  for (const AnySetting* setting : settings.settings) {
    const std::string flag(setting->text.flag);
    if (flag.empty()) continue;
    if (setting->text.flag_is_plain) {
      group.add_plain(flag, flag_help(*setting), [use, setting] { use(*setting, true); });
      continue;
    }
    group.add(flag, flag_value_name(*setting), flag_help(*setting),
              [use, setting, flag](const std::string& text) { use(*setting, parse_setting(*setting, flag, text)); });
    if (setting->kind == AnySetting::Kind::Choice) offer_words(group.app(), flag, option_names(*setting));
  }
}

void add_thinking_flag(const FlagGroup& group, text::Thinking& thinking) {
  group.take_choice("--thinking", "unset|on|off", fmt::format("{} (default unset)", kThinkingHelp), thinking,
                    {{"unset", text::Thinking::Unset}, {"on", text::Thinking::On}, {"off", text::Thinking::Off}});
}

void add_texts_flags(const FlagGroup& group, const std::string& help,
                     std::function<void(const std::vector<std::string>&)> use) {
  group.add_repeatable(
      "--text", "TEXT",
      help + ", line feeds and all; may be given several times (default, and -: the lines of standard input)",
      [use](const std::vector<std::string>& texts) {
        use(texts == std::vector<std::string>{std::string(kStandardInput)} ? std::vector<std::string>() : texts);
      });
  group.add_argument("typed", "[TEXT]", "the same, as one word in quotes", [use](const std::string& text) {
    expect_no_file(text);
    use(text == kStandardInput ? std::vector<std::string>() : std::vector{text});
  });
}

void expect_no_file(const std::string& word) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(word, failure)) return;
  throw UsageError("{} is a file: name it behind the flag that reads it, or as a text behind --text", word);
}

void add_field_flag(const FlagGroup& group, std::string& field) {
  group.take("--field", "NAME", "the member with the text in each object of JSON lines (default text)", field);
}

void add_device_flag(CLI::App& app, std::string& device) {
  const FlagGroup group(app, "Device");
  group.take("--device", "DEVICE",
             "compute on this Vulkan device: its number in `headlight devices` or a part of its name; cpu: without Vulkan, "
             "which is slower (default: the fastest kind there is, a discrete GPU first, and cpu where there is none)",
             device);
  group.add("--kernels", "fastest|shaders",
            "where the device is the processor, compute by functions of the program, which are faster than its Vulkan "
            "driver (fastest, the default), or by shaders as on a GPU",
            [](const std::string& value) {
              static const std::vector<std::string> kNames = {"fastest", "shaders"};
              // Every device that is opened from now on reads it (gpu::ContextOptions); the only thread is this one.
              platform::set_variable("HEADLIGHT_KERNELS", kNames[parse_choice("--kernels", value, kNames)]);
            });
}

void add_renderer_flag(CLI::App& app, std::string& renderer) {
  FlagGroup(app, "Device")
      .take("--renderer", "DEVICE",
            "draw the window on this Vulkan device, by number or a part of its name (default: the first GPU that can show "
            "windows on the display, else a processor)",
            renderer);
}

void add_cache_flag(CLI::App& app, std::size_t& bytes) {
  constexpr std::uint64_t kMin = 16, kMax = 1U << 20;
  FlagGroup(app, "Device")
      .add(
          "--cache", "MIB",
          fmt::format("memory for evaluated parts of maps, {} to {} MiB; those that were not looked at for longest go first "
                      "(default {})",
                      kMin, kMax, bytes >> 20),
          [&bytes](const std::string& value) {
            bytes = static_cast<std::size_t>(parse_integer("--cache", value, kMin, kMax)) << 20;
          });
}

void set_help_layout(CLI::App& app) {
  app.formatter(std::make_shared<ManualFormatter>());
  app.get_help_ptr()->description("print this help and exit");
  if (app.get_options().size() > kManyFlags) app.set_help_all_flag("--help-all", "print a help with all flags and exit");
}

}  // namespace headlight::app
