#pragma once

#include <memory>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "inference/language_model.h"
#include "platform/file.h"

namespace headlight::app {

/// Opens models, each once while it is in use: the browser reads a model on one thread, the engine runs it on another. Keeps
/// none itself, so that closing a model unmaps its files. Any thread.
class ModelCache {
 public:
  /// The model at a path as it was opened last, else opened now. Throws Error in one line when there is no supported model.
  std::shared_ptr<const inference::LanguageModel> open(const std::filesystem::path& path);
  /// The same, but opened again where its files have been written or replaced since.
  std::shared_ptr<const inference::LanguageModel> open_newest(const std::filesystem::path& path);

  /// Have files of a model that was opened at this path been written or replaced since, or was it opened anew? False where
  /// they are gone: the model in use still has them.
  bool has_changed(const std::filesystem::path& path, const inference::LanguageModel& model);

 private:
  using Stamps = std::vector<std::pair<std::filesystem::path, platform::FileStamp>>;
  struct Opened {
    std::weak_ptr<const inference::LanguageModel> model;
    Stamps files;  ///< as they were before it was opened
  };
  static Stamps stamps_of(const std::filesystem::path& model);
  static bool differ(const Stamps& files);
  std::shared_ptr<const inference::LanguageModel> open(const std::filesystem::path& path, bool newest);

  std::mutex mutex_;
  std::map<std::filesystem::path, Opened> models_;
};

}  // namespace headlight::app
