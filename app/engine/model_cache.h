#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "inference/language_model.h"

namespace headlight::app {

/// Opens models, each once for as long as anybody has it: the browser looks into a model on one thread, the engine runs it
/// on another. Holds none itself, so that closing a model unmaps its files.
class ModelCache {
 public:
  /// Throws Error in one line when the path holds no model that can be shown.
  std::shared_ptr<const inference::LanguageModel> open(const std::filesystem::path& path);

 private:
  std::mutex mutex_;
  std::map<std::filesystem::path, std::weak_ptr<const inference::LanguageModel>> models_;
};

}  // namespace headlight::app
