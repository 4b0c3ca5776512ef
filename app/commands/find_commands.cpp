#include "app/commands/command_list.h"
#include "app/state/heads_settings.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

/// Patterns are defined inside one text.
bool is_defined(const CommandContext& context, HeadMetric metric) {
  return has_run(context) &&
         (!evaluation::is_of_pattern(metric) || context.state.selection.block.kind != model::BlockKind::Cross);
}

/// Selects the head that has the most of a metric.
Command find_by(const char* id, const char* label, const char* menu_label, const char* help, HeadMetric metric) {
  return {.id = id,
          .label = label,
          .help = help,
          .menu = {"View", menu_label, 1, "Find a head"},
          .run = [metric](const CommandContext& context) { context.transient.seeks_head = metric; },
          .is_enabled = [metric](const CommandContext& context) { return is_defined(context, metric); },
          .refusal = "Attention between two texts has no previous, equal or repeated tokens"};
}

/// Opens a page of the view Heads.
Command find_in(const char* id, const char* label, const char* menu_label, const char* help, HeadsMode mode) {
  return {.id = id,
          .label = label,
          .help = help,
          .menu = {"View", menu_label, 1, "Find a head", 1},
          .run =
              [mode](const CommandContext& context) {
                context.state.set(kHeadsView.mode, mode);
                context.state.view.tab = "heads";
              },
          .is_enabled = has_run};
}

}  // namespace

std::vector<Command> find_commands() {
  return {
      find_by("head.find.previous", "Find the previous-token head", "Previous-token head",
              "Selects the head that gives the most of its attention to the token before each query.",
              HeadMetric::PreviousToken),
      find_by("head.find.induction", "Find the induction head", "Induction head",
              "Selects the head that attends most to what followed an earlier occurrence of the query's token.",
              HeadMetric::Induction),
      find_by("head.find.duplicate", "Find the duplicate-token head", "Duplicate-token head",
              "Selects the head that attends most to earlier occurrences of the query's token.", HeadMetric::DuplicateToken),
      find_by(
          "head.find.sink", "Find the sink head", "Sink head",
          "Selects the head that gives the most of its attention to the first token (sink), as heads do that have nothing "
          "to do.",
          HeadMetric::Sink),
      find_in("head.find.from_to", "Which heads look from this token to that?", "From this token to that",
              "Ranks all heads by the weight that the chosen query gives to the chosen key, or by that of the range that is "
              "dragged over the map.",
              HeadsMode::FromTo),
      find_in("head.find.pattern", "Which heads match a pattern?", "By a pattern",
              "Ranks all heads by how much of their attention is where a pattern that is chosen or typed has it.",
              HeadsMode::Pattern),
      find_in("head.find.similar", "Which heads look like this one?", "Like this one",
              "Compares the attention of every two heads, and lists those that are nearest to the selected one.",
              HeadsMode::Similarity),
      find_in("head.find.composed", "Which heads work with this one, by their weights?", "That work with this one",
              "Composition scores of the selected head with earlier and later heads, and which heads copy what they read.",
              HeadsMode::Composition),
      find_in("head.find.tokens", "What does this head do with tokens, by its weights?", "With tokens of the vocabulary",
              "Tokens that the selected head promotes when it reads one, keys that it seeks, queries that seek it.",
              HeadsMode::Vocabulary),
      find_in("head.find.retrieval", "Which heads retrieve a needle from a haystack?", "That retrieve a needle",
              "Retrieval scores of all heads, over depths and lengths: who copies random tokens from a long text.",
              HeadsMode::Retrieval),
      {.id = "head.badges",
       .label = "Badges of heads on or off",
       .help = "Writes on thumbnails what a head does, where it does it clearly: prev 0.98.",
       .menu = {"View", "Badges of heads", 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.state.heads.shows_badges ^= true; },
       .is_checked = [](const CommandContext& context) { return context.state.heads.shows_badges; }}};
}

}  // namespace headlight::app
