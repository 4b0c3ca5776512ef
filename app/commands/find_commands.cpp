#include "app/commands/command_list.h"
#include "app/state/heads_settings.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

struct Wanted {
  HeadMetric metric;
  const char* id;
  const char* label;
  const char* menu_label;
  const char* help;
};
constexpr std::array kWanted = {
    Wanted{HeadMetric::PreviousToken, "head.find.previous", "Find the previous-token head", "Previous-token head",
           "Selects the head that gives the most of its attention to the token before each query."},
    Wanted{HeadMetric::Induction, "head.find.induction", "Find the induction head", "Induction head",
           "Selects the head that attends most to what followed an earlier occurrence of the query's token."},
    Wanted{HeadMetric::DuplicateToken, "head.find.duplicate", "Find the duplicate-token head", "Duplicate-token head",
           "Selects the head that attends most to earlier occurrences of the query's token."},
    Wanted{HeadMetric::Sink, "head.find.sink", "Find the sink head", "Sink head",
           "Selects the head that gives the most of its attention to the first token (sink), as heads do that have nothing "
           "to do."},
};

struct WantedMode {
  HeadsMode mode;
  const char* id;
  const char* label;
  const char* menu_label;
  const char* help;
};
constexpr std::array kModes = {
    WantedMode{
        HeadsMode::FromTo, "head.find.from_to", "Which heads look from this token to that?", "From this token to that",
        "Ranks all heads by the weight that the chosen query gives to the chosen key, or by that of the range that is "
        "dragged over the map."},
    WantedMode{HeadsMode::Pattern, "head.find.pattern", "Which heads match a pattern?", "By a pattern",
               "Ranks all heads by how much of their attention is where a pattern that is chosen or typed has it."},
    WantedMode{HeadsMode::Similarity, "head.find.similar", "Which heads look like this one?", "Like this one",
               "Compares the attention of every two heads, and lists those that are nearest to the selected one."},
    WantedMode{HeadsMode::Composition, "head.find.composed", "Which heads work with this one, by their weights?",
               "That work with this one",
               "Composition scores of the selected head with earlier and later heads, and which heads copy what they read."},
    WantedMode{HeadsMode::Vocabulary, "head.find.tokens", "What does this head do with tokens, by its weights?",
               "With tokens of the vocabulary",
               "Tokens that the selected head promotes when it reads one, keys that it seeks, queries that seek it."},
    WantedMode{HeadsMode::Retrieval, "head.find.retrieval", "Which heads retrieve a needle from a haystack?",
               "That retrieve a needle",
               "Retrieval scores of all heads, over depths and lengths: who copies random tokens from a long text."},
};

/// Patterns are defined inside one text.
bool is_defined(const CommandContext& context, HeadMetric metric) {
  return has_run(context) &&
         (!evaluation::is_of_pattern(metric) || context.state.selection.block.kind != model::BlockKind::Cross);
}

/// Adds a command with what the commands of both lists have in common.
template <typename Any>
Command& add_command(std::vector<Command>& list, const Any& wanted) {
  Command& command = list.emplace_back();
  command.id = wanted.id;
  command.label = wanted.label;
  command.help = wanted.help;
  command.menu.menu = "View";
  command.menu.submenu = "Find a head";
  command.menu.label = wanted.menu_label;
  command.menu.section = 1;
  return command;
}

}  // namespace

std::vector<Command> find_commands() {
  std::vector<Command> list;
  for (const Wanted& wanted : kWanted) {
    const HeadMetric metric = wanted.metric;
    Command& command = add_command(list, wanted);
    command.run = [metric](const CommandContext& context) { context.transient.seeks_head = metric; };
    command.is_enabled = [metric](const CommandContext& context) { return is_defined(context, metric); };
    command.refusal = "Attention between two texts has no previous, equal or repeated tokens";
  }
  for (const WantedMode& wanted : kModes) {
    const HeadsMode mode = wanted.mode;
    Command& command = add_command(list, wanted);
    command.menu.part = 1;
    command.run = [mode](const CommandContext& context) {
      context.state.set(kHeadsView.mode, mode);
      context.state.view.tab = "heads";
    };
    command.is_enabled = has_run;
  }
  list.push_back({.id = "head.badges",
                  .label = "Badges of heads on or off",
                  .help = "Writes on thumbnails what a head does, where it does it clearly: prev 0.98.",
                  .menu = {.menu = "View", .label = "Badges of heads", .section = 1},
                  .works_while_loading = true,
                  .run = [](const CommandContext& context) { context.state.heads.shows_badges ^= true; },
                  .is_checked = [](const CommandContext& context) { return context.state.heads.shows_badges; }});
  return list;
}

}  // namespace headlight::app
