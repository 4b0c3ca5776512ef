#pragma once

#include <span>

#include "attention/reference.h"
#include "inference/notebooks.h"
#include "model/safetensors.h"

namespace headlight::app {

/// A task that a notebook sets, to be solved in code: a pass whose stages a solution must have. Its numbers are computed by
/// the reference in double precision, so that they need no device.
struct Exercise {
  std::string_view name;  ///< "001/task": files, flags and cards name it
  std::string_view task;  ///< what is to be computed
  std::string_view preset;
  void (*change)(inference::Notebook& notebook) = nullptr;  ///< null: the preset is computed as it is
  model::BlockKind kind = model::BlockKind::EncoderSelf;    ///< of the block, in layer 0

  inference::Notebook notebook() const;
};

std::span<const Exercise> exercises();
/// Throws Error naming all of them.
const Exercise& exercise(std::string_view name);

/// The stages that a solution may have, in their order; the last one is the result.
using ExerciseStages = std::vector<std::pair<attention::Stage, model::reference::Array>>;
ExerciseStages stages_of(const Exercise& exercise);

/// Writes a .safetensors file with what an exercise begins with: tokens' vectors and weights by their names (`x`, `w_q`, …),
/// and `mask`, 1 where a query sees a key. Throws Error.
void write_inputs(const Exercise& exercise, const std::filesystem::path& path);

struct ExerciseVerdict {
  bool is_passed = false;
  std::vector<std::string> right;  ///< stages that are right, up to the first wrong one
  std::string wrong;               ///< that stage; empty: none is wrong
  std::string says;                ///< one sentence
};

/// Compares the arrays of a file, which are named as the stages are or as those of a capture of one layer, with the
/// exercise's: within 1e-5, stage by stage. A wrong stage is compared with what known mistakes give there. Throws Error in
/// one line where the file has none of them, or something else.
ExerciseVerdict check_exercise(const Exercise& exercise, const model::SafetensorsFile& solution);

/// The exercise that a .safetensors file says it solves, by the member "exercise" of its metadata; empty: none.
std::string exercise_of(const std::filesystem::path& file);

/// $XDG_STATE_HOME/headlight/exercises/001-task.json: says that the exercise was passed. Empty: there is no such folder.
std::filesystem::path result_file(std::string_view name);
/// Checks a file and writes the result file where the exercise is passed.
ExerciseVerdict take_solution(std::string_view name, const std::filesystem::path& file);
bool is_exercise_passed(std::string_view name);

}  // namespace headlight::app
