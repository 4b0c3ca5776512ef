#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "app/prompts/prompt_meter.h"

namespace headlight::app {

/// A prompt that the window is asked to show.
struct AskedPrompt {
  SetPrompt prompt;
  std::optional<std::uint32_t> answer = {}, wrong = {};  ///< ids
  std::optional<std::uint32_t> token = {};               ///< of the chosen position
  std::string tab = {};                                  ///< id of the view to show; empty: the present one
};

/// Measures the prompts of a set on a thread of its own, on the window's device, between the user's requests. What was
/// measured by the last questions is kept, until another set is chosen and then that one again. All functions are the
/// window's thread's.
class PromptRoom {
 public:
  /// `open`: Engine::shared_device(). `wake`: called from the thread after each prompt; may be empty.
  PromptRoom(RunnerFactory open, std::shared_ptr<ModelCache> models, std::function<void()> wake)
      : open_(std::move(open)), models_(std::move(models)), wake_(std::move(wake)) {}
  /// Ends the thread, within one step.
  ~PromptRoom();
  PromptRoom(const PromptRoom&) = delete;
  PromptRoom& operator=(const PromptRoom&) = delete;

  /// From now on this is measured, unless it is paused.
  void want(const PromptQuestion& question);
  /// Nothing is, until the next want(): what is under way is given up, what is measured stays.
  void rest();
  /// Does want() measure?
  void allow(bool is_allowed);
  /// Of the newest question; null: nothing yet.
  std::shared_ptr<const PromptFindings> findings() const;
  bool is_busy() const;
  /// The next want() reads the set and measures it anew.
  void forget();
  void pause(bool is_paused);
  bool is_paused() const { return is_paused_; }

  /// Asks the window to show a prompt; it takes that once.
  void show(AskedPrompt asked) { asked_ = std::move(asked); }
  std::optional<AskedPrompt> take_asked() { return std::exchange(asked_, std::nullopt); }

  /// Until nothing is measured (tests, screenshots).
  void wait() const;

 private:
  struct Known {
    PromptQuestion question;
    std::shared_ptr<const PromptFindings> findings = {};
  };
  void work();
  void measure(std::unique_ptr<Runner>& runner, const Known& known, std::uint64_t order);
  /// Keeps what is known of a question, if nothing else was wanted since its measurement began.
  void keep(const PromptQuestion& question, const PromptFindings& findings, std::uint64_t order);
  bool has_work() const;

  RunnerFactory open_;
  std::shared_ptr<ModelCache> models_;
  std::function<void()> wake_;
  std::optional<AskedPrompt> asked_;
  bool is_paused_ = false, is_allowed_ = true;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Known> known_;  ///< of the newest question first, a few
  bool is_wanted_ = false;   ///< the newest one
  std::uint64_t order_ = 0;  ///< counts what is wanted
  bool stops_ = false;
  std::thread thread_;  ///< begun by the first question
};

}  // namespace headlight::app
