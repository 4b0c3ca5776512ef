#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "inference/language_model.h"

namespace headlight::app {

/// Opens models, each once while it is in use: the browser reads a model on one thread, the engine runs it on another. Keeps
/// none itself, so that closing a model unmaps its files.
class ModelCache {
 public:
  /// Throws Error in one line when there is no supported model at the path.
  std::shared_ptr<const inference::LanguageModel> open(const std::filesystem::path& path);

 private:
  std::mutex mutex_;
  std::map<std::filesystem::path, std::weak_ptr<const inference::LanguageModel>> models_;
};

}  // namespace headlight::app
