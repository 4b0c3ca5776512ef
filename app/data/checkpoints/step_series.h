#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/data/link/link_message.h"
#include "app/state/state.h"

namespace headlight::app {

/// A step of a training that can be shown: a checkpoint of a model, or a capture.
struct SeriesStep {
  std::optional<std::int64_t> step = {};  ///< none: its name has no number, as "main"; it has no place on curves
  std::string name = {};                  ///< "step1000", "checkpoint-500"
  std::string path = {};                  ///< of a Model or a Capture
  std::int64_t stamp = 0;                 ///< another one where its files were written anew

  bool operator==(const SeriesStep&) const = default;
};

/// The steps of one training. Steps without a number come last.
struct StepSeries {
  bool is_of_captures = false;
  std::vector<SeriesStep> steps = {};  ///< ascending
  ScalarCurves scalars = {};           ///< that a program logged, or transformers' Trainer (trainer_state.h)
  std::string trouble = {};            ///< one line: why checkpoints couldn't be looked for, or what was logged not be read
  std::size_t left_out = 0;            ///< of the steps that were found: there are more than kMaxSeriesSteps

  bool operator==(const StepSeries&) const = default;
  std::optional<std::size_t> find(const std::string& path) const;
  /// Returns the place of the step nearest to this number; none: no step has one.
  std::optional<std::size_t> nearest(std::int64_t step) const;
};
inline constexpr std::size_t kMaxSeriesSteps = 1'000;

/// The number of a checkpoint's name: of "step1000", "checkpoint-500", "global_step12", "iter_0000100", "epoch-3",
/// "stage1-step1000-tokens4B". None: the name isn't such a one.
std::optional<std::int64_t> step_in_name(std::string_view name);

/// The checkpoints of the training that a model is of: the snapshots of a repository of Hugging Face's cache by the names of
/// their branches and tags; else the folders beside it, or in it, that hold a model of the same configuration and whose
/// names have such a number, and the folder around them where it holds a model too, with what the last one's
/// trainer_state.json logs. Empty: there are less than two. Throws Error in one line where that folder can't be listed.
/// Reads a small file of each folder; not for the window's thread.
StepSeries find_checkpoints(const std::filesystem::path& model);

/// The same choices of another step of the series.
Source source_at(Source source, const SeriesStep& step);

}  // namespace headlight::app
