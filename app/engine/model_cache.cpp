#include "app/engine/model_cache.h"

#include <algorithm>
#include <array>
#include <system_error>

namespace headlight::app {

namespace fs = std::filesystem;

ModelCache::Stamps ModelCache::stamps_of(const fs::path& model) {
  Stamps files;
  const auto add = [&](const fs::path& path) {
    if (const std::optional<platform::FileStamp> stamp = platform::stamp_of(path)) files.emplace_back(path, *stamp);
  };
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) {
    add(model);
    return files;
  }
  // What a model's folder is read from; one of downloads has other files.
  constexpr std::array kKinds = {".json", ".safetensors", ".bin", ".gguf", ".model", ".txt", ".spm"};
  for (fs::directory_iterator entry(model, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    if (std::ranges::find(kKinds, entry->path().extension()) != kKinds.end()) add(entry->path());
  }
  return files;
}

bool ModelCache::differ(const Stamps& files) {
  return std::ranges::any_of(files, [](const auto& file) {
    const std::optional<platform::FileStamp> now = platform::stamp_of(file.first);
    return now && *now != file.second;
  });
}

bool ModelCache::has_changed(const fs::path& path, const inference::LanguageModel& model) {
  Stamps files;
  {
    const std::lock_guard lock(mutex_);
    const auto opened = models_.find(path);
    if (opened == models_.end()) return false;
    if (opened->second.model.lock().get() != &model) return true;
    files = opened->second.files;
  }
  return differ(files);
}

std::shared_ptr<const inference::LanguageModel> ModelCache::open(const fs::path& path) { return open(path, false); }
std::shared_ptr<const inference::LanguageModel> ModelCache::open_newest(const fs::path& path) { return open(path, true); }

std::shared_ptr<const inference::LanguageModel> ModelCache::open(const fs::path& path, bool newest) {
  std::shared_ptr<const inference::LanguageModel> known;
  Stamps files;
  {
    const std::lock_guard lock(mutex_);
    known = models_[path].model.lock();
    files = models_[path].files;
  }
  // Without the lock: a model that opens slowly doesn't block another.
  if (known && !newest) return known;
  const fs::path found = inference::find_model(path);
  if (known && known->path == found && !differ(files)) return known;
  files = stamps_of(found);
  std::shared_ptr<const inference::LanguageModel> model = inference::open_model(path);
  const std::lock_guard lock(mutex_);
  Opened& opened = models_[path];
  if (auto other = opened.model.lock(); other && other != known) return other;  // another thread was sooner
  opened = {.model = model, .files = std::move(files)};
  return model;
}

}  // namespace headlight::app
