#pragma once

#include "app/data/prompts/prompt_meter.h"
#include "app/engine/engine.h"
#include "app/engine/kept_answers.h"

namespace headlight::app {

/// A prompt that the window is asked to show.
struct AskedPrompt {
  SetPrompt prompt;
  std::optional<std::uint32_t> answer = {}, wrong = {};  ///< ids
  std::optional<std::uint32_t> token = {};               ///< of the chosen position
  std::string tab = {};                                  ///< id of the view to show; empty: the present one
};

/// The prompts of a set, measured by a task of the engine. What was measured by the last questions is kept, until another
/// set is chosen and then that one again. All functions are the window's thread's.
class PromptRoom {
 public:
  PromptRoom(Engine& engine, std::shared_ptr<ModelCache> models) : engine_(engine), models_(std::move(models)) {}

  /// From now on this is measured, unless it is paused.
  void want(const PromptQuestion& question);
  /// Nothing is, until the next want(): what is under way is given up, what is measured stays.
  void rest() { known_.rest(); }
  /// Does want() measure?
  void allow(bool is_allowed);
  /// Returns the findings of the newest question; null: nothing yet.
  std::shared_ptr<const PromptFindings> findings() const { return known_.found(); }
  bool is_busy() const { return known_.is_busy(); }
  /// The next want() reads the set and measures it anew.
  void forget() { known_ = KeptAnswers<PromptQuestion, PromptFindings>(kMaxQuestions); }
  void pause(bool is_paused);
  bool is_paused() const { return is_paused_; }

  /// Asks the window to show a prompt; it takes that once.
  void show(AskedPrompt asked) { asked_ = std::move(asked); }
  std::optional<AskedPrompt> take_asked() { return std::exchange(asked_, std::nullopt); }

 private:
  static constexpr std::size_t kMaxQuestions = 12;

  Engine& engine_;
  std::shared_ptr<ModelCache> models_;
  std::optional<AskedPrompt> asked_;
  bool is_paused_ = false, is_allowed_ = true;
  KeptAnswers<PromptQuestion, PromptFindings> known_{kMaxQuestions};
};

}  // namespace headlight::app
