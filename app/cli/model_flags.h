#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/expression_flags.h"
#include "app/cli/flags.h"
#include "app/engine/model_cache.h"
#include "app/state/field.h"
#include "app/state/session_file.h"
#include "app/state/state.h"

namespace headlight::app {

/// The flags of the input: session, text, model, preset and masks. view, screenshot and export share them.
class ModelFlags {
 public:
  /// Adds the flags. `score_scale` names the flag of the attention's scale: "--scale", or "--score-scale" where --scale
  /// means the window's. `default_model`: the model without --model, for the help.
  void add_to(CLI::App& app, const std::string& score_scale, const std::string& default_model);

  /// Adds a word without a flag: the text, for commands that open no file so.
  void add_text_argument(CLI::App& app);

  /// Adds --lesson and --card, for the commands that show a window.
  void add_lesson_flags(CLI::App& app);
  /// Returns the file of the lesson to play, read once to see that it is one; empty: none was given.
  const std::string& lesson() const { return lesson_; }
  /// Returns the card of --card, counted from 0.
  std::size_t lesson_card() const { return lesson_card_; }

  /// Was an input given: a text, ids, a preset, a capture or a session?
  bool has_input() const {
    return !text_flag_.empty() || !ids_.empty() || !preset_.empty() || !capture_.empty() || !session_file_.empty();
  }

  /// Was more than a model or a session given?
  bool names_text() const { return !text_flag_.empty() || !ids_.empty() || !preset_.empty() || !capture_.empty(); }

  bool names_model() const { return !model_.empty(); }
  /// Returns the folder of the survey that open_file() was given; empty: none.
  const std::string& survey() const { return survey_; }
  /// Returns the file with steps of a training that open_file() was given; empty: none.
  const std::string& steps() const { return steps_; }
  /// Returns the file with views and their places that open_file() was given; empty: none.
  const std::string& layout() const { return layout_; }
  /// Sets the model, as --model does.
  void use_model(std::string path) { model_ = std::move(path); }

  /// Was a model, a preset, a capture, a session or a playground setting given, not only a text?
  bool chooses_model() const {
    return !session_file_.empty() || !model_.empty() || !preset_.empty() || !capture_.empty() ||
           !first_playground_flag_.empty() || !first_model_flag_.empty();
  }

  /// Makes apply() open this bundled model where none of them was given: the playground's random weights must be asked for.
  void use_default_model(std::string name) { default_model_ = std::move(name); }

  /// Returns the file that --session names; empty: none.
  const std::string& session_file() const { return session_file_; }
  /// Sets the session, as --session does.
  void use_session(std::string file) { session_file_ = std::move(file); }

  /// Opens a file without a flag: a model, a capture, a session, a lesson, a layout, a survey or a text, as kind_of_file()
  /// finds.
  /// Throws Error where there is no such file or it is no text, and UsageError beside a flag that names another one.
  void open_file(const std::string& file);

  /// Makes --layers and --heads, the sizes of a playground, a selection unless another flag asks for the playground, and
  /// always as a list.
  void let_select(std::function<void(const std::string& flag, const std::string& text)> select) {
    select_ = std::move(select);
  }

  /// Changes `state`, or the session's, by the given flags; the rest is unchanged. Opens the model, if any. Throws
  /// UsageError for flags that exclude each other, and Error when a file can't be read, isn't a mask or a session, or
  /// contains no model.
  void apply(State& state);

  /// Returns the one that apply() opened, as the file has it.
  const std::optional<OpenSession>& session() const { return session_; }

  /// Holds the model that apply() opened, so that running it needn't open it again.
  const std::shared_ptr<ModelCache>& models() const { return models_; }

 private:
  using MaskEdit = std::function<void(attention::MaskSpec&)>;
  void add_text_flags(CLI::App& app);
  void use_texts(const std::string& flag, const std::vector<std::string>& texts);
  void add_model_flags(CLI::App& app, const std::string& default_model);
  void add_playground_flags(CLI::App& app, const std::string& score_scale);
  void add_mask_flags(CLI::App& app);
  void add_size_or_selection(CLI::App& app, const Field& field);
  void settle_sizes();
  void refuse_contradictions() const;
  void refuse_with_capture() const;
  /// Throws Error where the model or the capture of a figure is a name that means nothing here.
  void expect_found(const State& state) const;
  void apply_model(State& state);
  void apply_masks(State& state) const;
  void apply_preset_edits(State& state) const;

  std::string session_file_;
  std::optional<OpenSession> session_;
  std::string preset_;
  std::vector<std::string> preset_edits_;  ///< "v=FILE", "v[2,1]=0.5", "seed=7"
  std::string capture_;
  std::string lesson_, survey_, steps_, layout_;
  std::size_t lesson_card_ = 0;
  std::string model_, default_model_;
  std::vector<std::string> texts_, key_texts_, pairs_, targets_;
  std::vector<std::vector<std::uint32_t>> ids_, target_ids_;
  std::string text_flag_;              ///< "--text" or "--text-file", whichever was given
  std::string first_playground_flag_;  ///< not valid with a preset or a model
  std::string first_model_flag_;       ///< valid with a model only
  std::vector<StateEdit> playground_edits_, model_edits_;
  std::function<void(const std::string&, const std::string&)> select_ = {};
  std::vector<std::pair<const Field*, std::string>> sizes_ = {};  ///< a playground's, or a selection of layers or heads
  std::vector<MaskEdit> mask_edits_;
  std::vector<StateEdit> change_edits_;  ///< of heads
  ExpressionFlags expressions_;
  bool joins_trained_mask_ = false;  ///< --mask names a rule, which a causal model's own stays beside
  std::string mask_file_;
  std::shared_ptr<ModelCache> models_ = std::make_shared<ModelCache>();
  std::shared_ptr<const inference::LanguageModel> opened_;
};

}  // namespace headlight::app
