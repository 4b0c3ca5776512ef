#include "app/cli/subcommands.h"

#include <vector>

#include "app/state/usage.h"

namespace headlight::app {
namespace {

int run_command(const std::vector<Subcommand>& evaluations) {
  for (const Subcommand& evaluation : evaluations) {
    if (was_given(*evaluation.app)) return evaluation.run();
  }
  throw UsageError("evaluate what? Choose bleu, perplexity or heads (see headlight evaluate --help)");
}

}  // namespace

Subcommand add_evaluate_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "evaluate");
  take_one_subcommand(*command);
  const std::vector<Subcommand> evaluations = {
      add_evaluate_bleu_command(*command), add_evaluate_perplexity_command(*command), add_evaluate_heads_command(*command)};
  return {.app = command, .run = [evaluations] { return run_command(evaluations); }};
}

}  // namespace headlight::app
