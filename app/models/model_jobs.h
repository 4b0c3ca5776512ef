#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model_cache.h"
#include "app/models/model_finder.h"

namespace headlight::app {

/// What takes a while before a model can be shown, off the window's thread: finding models and looking into one.
class ModelJobs {
 public:
  /// What became of a wish to open something.
  struct Opened {
    std::string path;
    std::shared_ptr<const inference::LanguageModel> model;  ///< null: it can't be shown
    std::string error;                                      ///< why, in one line
    bool holds_models = false;                              ///< no model itself, but a folder with models in it
  };

  /// `wake`: called from those threads when there is news; may be empty.
  ModelJobs(std::shared_ptr<ModelCache> models, ModelFinder find, std::function<void()> wake);
  /// Waits for what is in progress.
  ~ModelJobs();
  ModelJobs(const ModelJobs&) = delete;
  ModelJobs& operator=(const ModelJobs&) = delete;

  /// Lists models anew; nothing while it is doing so.
  void look_for_models(const ModelPlaces& places);
  bool is_looking() const { return search_.valid(); }
  /// The newest list.
  const std::vector<ListedModel>& found() const { return found_; }

  /// Opens a model; a newer wish replaces an older one.
  void open(const std::string& path);
  bool is_opening() const { return opening_.valid(); }
  const std::string& path_being_opened() const { return path_; }

  /// Takes what has been finished: the list, and once what became of the path to be opened.
  std::optional<Opened> poll();
  /// Blocks until nothing is in progress (tests, screenshots); poll() has the news then.
  void wait() const;

 private:
  std::shared_ptr<ModelCache> models_;
  ModelFinder find_;
  std::function<void()> wake_;
  std::atomic<bool> stops_{false};
  std::future<std::vector<ListedModel>> search_;
  std::vector<ListedModel> found_;
  std::future<Opened> opening_;
  std::vector<std::future<Opened>> outdated_;  ///< openings that nobody waits for any more
  std::string path_;
};

}  // namespace headlight::app
