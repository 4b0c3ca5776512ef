#include "app/cli/subcommands.h"

#include <vector>

#include "app/state/usage.h"

namespace headlight::app {
namespace {

constexpr const char* kEvaluateDescription =
    "Measure a model: BLEU, perplexity, what its heads do\n\n"
    "Runs a model over whole files, plain or .gz, on any Vulkan device. The result is on standard output, progress on\n"
    "standard error.";

constexpr const char* kEvaluateFooter =
    "`headlight evaluate WHAT --help` lists the flags.\n\n"
    "Examples:\n"
    "  headlight evaluate bleu --source test.de --reference test.en\n"
    "  headlight evaluate bleu --hypothesis translated.en --reference test.en\n"
    "  headlight evaluate perplexity --model openai-community/gpt2 --text-file sentences.txt\n"
    "  headlight evaluate heads --sort previous";

int run_command(const std::vector<Subcommand>& evaluations) {
  for (const Subcommand& evaluation : evaluations) {
    if (was_given(*evaluation.app)) return evaluation.run();
  }
  throw UsageError("evaluate what? Choose bleu, perplexity or heads (see headlight evaluate --help)");
}

}  // namespace

Subcommand add_evaluate_command(CLI::App& app) {
  CLI::App* command = add_subcommand(app, "evaluate", kEvaluateDescription);
  take_one_subcommand(*command);
  set_footer(*command, kEvaluateFooter);
  const std::vector<Subcommand> evaluations = {
      add_evaluate_bleu_command(*command), add_evaluate_perplexity_command(*command), add_evaluate_heads_command(*command)};
  return {.app = command, .run = [evaluations] { return run_command(evaluations); }};
}

}  // namespace headlight::app
