#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "app/engine/model_cache.h"

namespace headlight::app {

/// A model on this machine, as the browser lists it.
struct ListedModel {
  enum class Origin : std::uint8_t { Bundled, Recent, Folder, HubCache };
  Origin origin = Origin::Recent;
  std::filesystem::path path;
  std::string name;                         ///< "openai-community/gpt2", or the folder's name
  std::string family;                       ///< "GPT-2"; empty when it can't be shown
  std::uint32_t layers = 0, heads = 0;      ///< of the encoder where there are two stacks
  std::uint32_t decoder_layers = 0;         ///< 0 without a second stack
  std::uint64_t parameters = 0, bytes = 0;  ///< bytes of its tensors as stored
  std::string problem;                      ///< one line why it can't be shown; empty when it can

  /// Returns "GPT-2 · 12 layers × 12 heads".
  std::string about() const;
};

/// Folders to search besides the bundled models and the local Hugging Face cache.
struct ModelSearch {
  std::vector<std::string> recent;  ///< missing ones are skipped
  std::string folder;               ///< a folder with models in it; empty: none

  bool operator==(const ModelSearch&) const = default;
};

/// Lists the models that can be opened, each once, with its first origin in the order of ListedModel::Origin. Opens each
/// model's headers: seconds when there are many. Ends early when `stops` is set.
using ModelFinder = std::function<std::vector<ListedModel>(const ModelSearch& wanted, const std::atomic<bool>& stops)>;
std::vector<ListedModel> list_models(const ModelSearch& wanted, const std::atomic<bool>& stops);

/// Slow work before a model can be shown, on threads of its own: finding models and opening one.
class ModelJobs {
 public:
  /// The result of a request to open a path.
  struct Opened {
    std::string path;                                       ///< of the model; as it was asked for where there is none
    std::shared_ptr<const inference::LanguageModel> model;  ///< null: it can't be shown
    std::string error;                                      ///< why, in one line
    bool holds_models = false;                              ///< not a model, but a folder with models in it
  };

  /// `wake`: called from those threads when there is an update; may be empty.
  ModelJobs(std::shared_ptr<ModelCache> models, ModelFinder find, std::function<void()> wake);
  /// Waits for work in progress.
  ~ModelJobs();
  ModelJobs(const ModelJobs&) = delete;
  ModelJobs& operator=(const ModelJobs&) = delete;

  /// Lists models again; does nothing while a listing is in progress.
  void look_for_models(const ModelSearch& search);
  bool is_looking() const { return search_.valid(); }
  /// Returns the newest list.
  const std::vector<ListedModel>& found() const { return found_; }

  /// Opens a model; a newer request replaces an older one.
  void open(const std::string& path);
  bool is_opening() const { return opening_.valid(); }
  const std::string& path_being_opened() const { return path_; }

  /// Takes finished results: the list, and once the result of the path to be opened.
  std::optional<Opened> poll();
  /// Blocks until nothing is in progress (tests, screenshots); poll() then has the results.
  void wait() const;

 private:
  std::shared_ptr<ModelCache> models_;
  ModelFinder find_;
  std::function<void()> wake_;
  std::atomic<bool> stops_{false};
  std::future<std::vector<ListedModel>> search_;
  std::vector<ListedModel> found_;
  std::future<Opened> opening_;
  std::vector<std::future<Opened>> outdated_;  ///< openings whose results are no longer needed
  std::string path_;
};

}  // namespace headlight::app
