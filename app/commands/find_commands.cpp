#include "app/commands/command_list.h"
#include "app/state/heads_settings.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;

/// A question about heads: the metric that a head is selected by, or the page of the view Heads that answers it.
struct Finder {
  const char *id, *label, *menu_label, *help;
  std::variant<HeadMetric, HeadsMode> by;
};

const Finder kFinders[] = {
    {"head.find.previous", "Find the previous-token head", "Previous-token head",
     "Selects the head that gives the most of its attention to the token before each query.", HeadMetric::PreviousToken},
    {"head.find.induction", "Find the induction head", "Induction head",
     "Selects the head that attends most to what followed an earlier occurrence of the query's token.",
     HeadMetric::Induction},
    {"head.find.duplicate", "Find the duplicate-token head", "Duplicate-token head",
     "Selects the head that attends most to earlier occurrences of the query's token.", HeadMetric::DuplicateToken},
    {"head.find.sink", "Find the sink head", "Sink head",
     "Selects the head that gives the most of its attention to the first token (sink), as heads do that have nothing "
     "to do.",
     HeadMetric::Sink},
    {"head.find.from_to", "Which heads look from this token to that?", "From this token to that",
     "Ranks all heads by the weight that the chosen query gives to the chosen key, or by that of the range that is "
     "dragged over the map.",
     HeadsMode::FromTo},
    {"head.find.pattern", "Which heads match a pattern?", "By a pattern",
     "Ranks all heads by how much of their attention is where a pattern that is chosen or typed has it.",
     HeadsMode::Pattern},
    {"head.find.similar", "Which heads look like this one?", "Like this one",
     "Compares the attention of every two heads, and lists those that are nearest to the selected one.",
     HeadsMode::Similarity},
    {"head.find.composed", "Which heads work with this one, by their weights?", "That work with this one",
     "Composition scores of the selected head with earlier and later heads, and which heads copy what they read.",
     HeadsMode::Composition},
    {"head.find.tokens", "What does this head do with tokens, by its weights?", "With tokens of the vocabulary",
     "Tokens that the selected head promotes when it reads one, keys that it seeks, queries that seek it.",
     HeadsMode::Vocabulary},
    {"head.find.retrieval", "Which heads retrieve a needle from a haystack?", "That retrieve a needle",
     "Retrieval scores of all heads, over depths and lengths: who copies random tokens from a long text.",
     HeadsMode::Retrieval}};

}  // namespace

std::vector<Command> find_commands() {
  std::vector<Command> list;
  for (const Finder& finder : kFinders) {
    const auto* metric = std::get_if<HeadMetric>(&finder.by);
    list.push_back({.id = finder.id,
                    .label = finder.label,
                    .help = finder.help,
                    .menu = {"View", finder.menu_label, 1, "Find a head", metric ? 0 : 1},
                    .run =
                        [&finder, metric](const CommandContext& context) {
                          if (metric) {
                            context.transient.seeks_head = *metric;
                          } else {
                            context.state.set(kHeadsView.mode, std::get<HeadsMode>(finder.by));
                            context.state.view.tab = "heads";
                          }
                        },
                    .is_enabled =
                        [metric](const CommandContext& context) {  // patterns are defined inside one text
                          return has_run(context) && !(metric && evaluation::is_of_pattern(*metric) &&
                                                       context.state.selection.block.kind == model::BlockKind::Cross);
                        },
                    .refusal = metric ? "Attention between two texts has no previous, equal or repeated tokens" : ""});
  }
  list.push_back({.id = "head.badges",
                  .label = "Badges of heads on or off",
                  .help = "Writes on thumbnails what a head does, where it does it clearly: prev 0.98.",
                  .menu = {"View", "Badges of heads", 1},
                  .works_while_loading = true,
                  .run = [](const CommandContext& context) { context.state.heads.shows_badges ^= true; },
                  .is_checked = [](const CommandContext& context) { return context.state.heads.shows_badges; }});
  return list;
}

}  // namespace headlight::app
