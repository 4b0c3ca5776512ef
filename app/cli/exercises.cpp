#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "app/cli/output.h"
#include "app/cli/subcommands.h"
#include "app/lessons/exercise.h"

namespace headlight::app {
namespace {

struct ExerciseFlags {
  std::string name, file, inputs;
};

nlohmann::ordered_json described(const Exercise& exercise) {
  const inference::Notebook notebook = exercise.notebook();
  const model::AttentionConfig& config = notebook.network->layer({.kind = exercise.kind}).config;
  nlohmann::ordered_json stages;
  for (const auto& [stage, array] : stages_of(exercise)) stages[std::string(to_string(stage))] = array.shape;
  return {{"exercise", exercise.name},
          {"task", exercise.task},
          {"heads", config.heads},
          {"scale", config.scale.factor(config.d_k)},
          {"fill", attention::to_string(notebook.masks[exercise.kind].fill)},
          {"stages", stages},
          {"passed", is_exercise_passed(exercise.name)}};
}

int run_check_exercise(const ExerciseFlags& flags) {
  if (flags.name.empty()) {
    std::vector<std::string> lines;
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Exercise& one : exercises()) {
      lines.push_back(fmt::format("{:<19}{} {}", one.name, is_exercise_passed(one.name) ? "\u2713" : " ", one.task));
      list.push_back({{"exercise", one.name}, {"task", one.task}, {"passed", is_exercise_passed(one.name)}});
    }
    tell_answer(fmt::format("{}", fmt::join(lines, "\n")), {{"exercises", list}});
    return 0;
  }
  const Exercise& asked = exercise(flags.name);
  if (flags.inputs.empty() && flags.file.empty()) {
    throw UsageError("name a .safetensors file to check, or one to write: --inputs FILE");
  }
  if (!flags.inputs.empty()) {
    if (!flags.inputs.ends_with(".safetensors")) throw UsageError("'{}' doesn't end in .safetensors", flags.inputs);
    write_inputs(asked, flags.inputs);
    tell_result(flags.inputs, described(asked));
  }
  if (flags.file.empty()) return 0;
  const ExerciseVerdict verdict = take_solution(asked.name, flags.file);
  tell_answer(verdict.says, {{"exercise", asked.name},
                             {"passed", verdict.is_passed},
                             {"right", verdict.right},
                             {"wrong", verdict.wrong},
                             {"says", verdict.says}});
  return verdict.is_passed ? 0 : 1;
}

}  // namespace

Subcommand add_check_exercise_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "check-exercise", run_check_exercise);
  const FlagGroup group(*command, "Exercise");
  group.add_argument("exercise", "NAME", "the exercise, such as 001/task; without one, all are listed", flags->name);
  group.add_argument("file", "FILE", "the .safetensors file with a solution's arrays, named as stages are", flags->file);
  group.take("--inputs", "FILE", "the .safetensors file to write what the exercise begins with", flags->inputs);
  return made;
}

}  // namespace headlight::app
