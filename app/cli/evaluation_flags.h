#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/expression_flags.h"
#include "app/cli/flags.h"
#include "app/engine/gpu_runner.h"
#include "inference/language_model.h"

namespace headlight::app {

/// The flags of every evaluation: model, device, Multi30k's folder, output format.
struct EvaluationFlags {
  std::string model, device, data, field = "text";
  ExpressionFlags expressions;

  /// Adds the flags. `default_model` is the default of --model in the help.
  void add_to(CLI::App& app, const std::string& default_model);
  /// Adds --data, for commands whose texts may come from Multi30k.
  void add_data_to(CLI::App& app);

  /// Returns the model of --model, else the bundled one of this name, with the expressions in its masks. Throws Error in one
  /// line.
  std::shared_ptr<const inference::LanguageModel> open_model(std::string_view bundled) const;

  /// Returns the device of --device with the model's weights as 32-bit floats.
  std::unique_ptr<GpuRunner> open_runner(const inference::LanguageModel& of) const;

  /// Returns the lines of a text file, or the texts of JSON lines. Throws Error in one line.
  std::vector<std::string> texts_of(const std::filesystem::path& file) const;

  /// Returns the path of a text of Multi30k, in the folder of --data or of the environment's variable. `missing` names the
  /// flags to give instead: "--source and --reference". Throws UsageError when there is no folder, Error when it lacks the
  /// text.
  std::filesystem::path multi30k(std::string_view text, std::string_view missing) const;
};

/// Checks two files whose lines belong together. Throws Error in one line when their counts differ.
void check_same_count(const std::filesystem::path& first, std::size_t first_lines, const std::filesystem::path& second,
                      std::size_t second_lines);

}  // namespace headlight::app
