#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/state.h"

namespace headlight::app {

/// The flags that say what is computed: text, model, preset and masks. view, screenshot and export share them.
class ModelFlags {
 public:
  /// `score_scale` names the flag of the attention's scale: "--scale", or "--score-scale" where --scale means the window's.
  void add_to(CLI::App& app, const std::string& score_scale);

  /// Was anything to compute on given: a text or a preset?
  bool has_input() const { return has_text_ || !preset_.empty(); }

  /// `state` with the given flags applied; what wasn't given stays. Throws UsageError for flags that exclude each other, and
  /// Error when a file can't be read or is no mask.
  void apply(State& state) const;

 private:
  using Edit = std::function<void(State&)>;
  using MaskEdit = std::function<void(attention::MaskSpec&)>;
  void add_text_flags(CLI::App& app);
  void add_model_flags(CLI::App& app, const std::string& score_scale);
  void add_mask_flags(CLI::App& app);
  void add_model_flag(CLI::App& app, const std::string& flag, const std::string& value_name, const std::string& help,
                      std::function<Edit(const std::string&)> parse);

  std::string preset_;
  bool has_text_ = false;
  std::string first_own_flag_;  ///< the first flag of the playground: it doesn't go with a preset
  std::vector<Edit> edits_;
  std::vector<MaskEdit> mask_edits_;
  std::string mask_file_;
};

}  // namespace headlight::app
