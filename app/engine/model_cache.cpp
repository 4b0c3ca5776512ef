#include "app/engine/model_cache.h"

namespace headlight::app {

std::shared_ptr<const inference::LanguageModel> ModelCache::open(const std::filesystem::path& path) {
  {
    const std::lock_guard lock(mutex_);
    if (auto known = models_[path].lock()) return known;
  }
  // Without the lock: a model that opens slowly doesn't block another.
  std::shared_ptr<const inference::LanguageModel> model = inference::open_model(path);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const inference::LanguageModel>& cached = models_[path];
  if (auto known = cached.lock()) return known;
  cached = model;
  return model;
}

}  // namespace headlight::app
