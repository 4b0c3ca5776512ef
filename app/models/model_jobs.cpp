#include "app/models/model_jobs.h"

#include <chrono>
#include <exception>
#include <utility>

#include "model/hub_cache.h"

namespace headlight::app {
namespace {

template <typename Value>
bool is_done(const std::future<Value>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool holds_models(const std::filesystem::path& path) {
  try {
    return std::filesystem::is_directory(path) && !model::find_models(path).empty();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

ModelJobs::ModelJobs(std::shared_ptr<ModelCache> models, ModelFinder find, std::function<void()> wake)
    : models_(std::move(models)), find_(std::move(find)), wake_(std::move(wake)) {}

ModelJobs::~ModelJobs() { stops_ = true; }

void ModelJobs::look_for_models(const ModelSearch& search) {
  if (is_looking() || !find_) return;
  search_ = std::async(std::launch::async, [this, search] {
    std::vector<ListedModel> found = find_(search, stops_);
    if (wake_) wake_();
    return found;
  });
}

void ModelJobs::open(const std::string& path) {
  if (opening_.valid()) outdated_.push_back(std::move(opening_));
  path_ = path;
  opening_ = std::async(std::launch::async, [this, path] {
    Opened opened{.path = path, .model = nullptr, .error = {}};
    try {
      // A folder may hold the model further in, and a name be one of the hub's cache.
      opened.path = std::filesystem::absolute(inference::find_model(path)).lexically_normal().string();
      opened.model = models_->open_newest(opened.path);
    } catch (const std::exception& error) {
      opened.error = first_line(error.what());
      opened.holds_models = holds_models(path);
    }
    if (wake_) wake_();
    return opened;
  });
}

std::optional<ModelJobs::Opened> ModelJobs::poll() {
  if (is_done(search_)) found_ = search_.get();
  std::erase_if(outdated_, [](const std::future<Opened>& opening) { return is_done(opening); });
  if (!is_done(opening_)) return std::nullopt;
  return opening_.get();
}

void ModelJobs::wait() const {
  if (search_.valid()) search_.wait();
  if (opening_.valid()) opening_.wait();
}

}  // namespace headlight::app
