#include "app/cli/evaluation_flags.h"

#include <cstdlib>

#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/file.h"
#include "core/line_reader.h"
#include "evaluation/multi30k.h"

namespace headlight::app {

void EvaluationFlags::add_to(CLI::App& app, const std::string& default_model) {
  add_model_flag(FlagGroup(app, "Model"), "a trained model", fmt::format(" (default: {})", default_model), model);
  const FlagGroup output(app, "Output");
  output.take_choice("--format", "FORMAT", "text or json, which --json is too (default text)", output_choice().writes_json,
                     {{"text", false}, {"json", true}});
  add_field_flag(FlagGroup(app, "Text"), field);
  expressions.add_to(app);
  add_device_flag(app, device);
}

void EvaluationFlags::add_data_to(CLI::App& app) {
  FlagGroup(app, "Text")
      .take("--data", "DIR",
            "Multi30k's folder, for the texts that no other flag names (default: the variable HEADLIGHT_MULTI30K): its "
            "files side by side, or a clone of github.com/multi30k/dataset",
            data);
}

std::shared_ptr<const inference::LanguageModel> EvaluationFlags::open_model(std::string_view bundled) const {
  return with_expressions(inference::open_model(chosen_model(model, bundled)), expressions);
}

std::vector<std::string> EvaluationFlags::texts_of(const std::filesystem::path& file) const {
  return headlight::read_texts(file, kLargestFile, field);
}

std::filesystem::path EvaluationFlags::multi30k(std::string_view text, std::string_view missing) const {
  const char* variable = std::getenv(evaluation::kMulti30kVariable);
  const std::string folder = !data.empty() ? data : variable != nullptr ? variable : "";
  if (folder.empty()) {
    throw UsageError(
        "no text is given: name {}, or Multi30k's folder with --data or {} (a clone of "
        "github.com/multi30k/dataset)",
        missing, evaluation::kMulti30kVariable);
  }
  return evaluation::find_multi30k(folder, text);
}

void check_same_count(const std::filesystem::path& first, std::size_t first_lines, const std::filesystem::path& second,
                      std::size_t second_lines) {
  if (first_lines == second_lines) return;
  throw Error("{} has {} lines and {} has {}: line by line they must belong together", utf8(first), first_lines,
              utf8(second), second_lines);
}

std::unique_ptr<GpuRunner> EvaluationFlags::open_runner(const inference::LanguageModel& of) const {
  auto runner = std::make_unique<GpuRunner>(device);
  runner->watch_compiling(compile_bar());
  runner->load(of.network->layers, inference::Precision::F32, {});
  return runner;
}

}  // namespace headlight::app
