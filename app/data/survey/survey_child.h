#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "app/state/setting.h"

namespace headlight::app {

/// The measurement that the window orders.
struct SurveyOrder {
  std::filesystem::path corpus, folder;
  std::string model;
  Choices choices = {};  ///< of kSurveySettings

  bool operator==(const SurveyOrder&) const = default;
};

/// Returns the survey by this model of the captions that come along, in the cache's folder of surveys, which it makes.
SurveyOrder example_survey(const std::string& model);

/// Runs `headlight survey` in a process of its own, followed on a thread. A paused one is ended; the next with the same
/// order goes on where it was.
class SurveyChild {
 public:
  /// Starts the process. `wake` is called from the thread when there is news; may be empty.
  SurveyChild(SurveyOrder order, std::function<void()> wake);

  struct View {
    std::uint64_t done = 0, shards = 0, texts = 0;  ///< 0 shards: none is known yet
    bool has_ended = false, is_whole = false;       ///< whole: the folder holds the survey
    std::string error = {};                         ///< in one line; empty: it was paused, or is whole
  };
  View view() const;
  const SurveyOrder& order() const { return order_; }
  /// Asks it to end.
  void pause() { thread_.request_stop(); }

 private:
  void run(const std::stop_token& stops);
  void take(const std::string& line);

  SurveyOrder order_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;
  View view_;
  std::jthread thread_;
};

/// The environment's variable that makes `headlight survey` such a child: it writes its progress, and what ends it, as lines
/// of JSON.
inline constexpr const char* kSurveyChild = "HEADLIGHT_SURVEY_CHILD";

}  // namespace headlight::app
