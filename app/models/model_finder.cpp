#include "app/models/model_finder.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "app/models/starter_view.h"
#include "core/error.h"
#include "model/hub_cache.h"
#include "model/load_network.h"

namespace headlight::app {
namespace {

template <typename Value>
bool is_done(const std::future<Value>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

namespace fs = std::filesystem;

/// Returns the models of a folder, and those of the folders in it, such as the checkpoints of a training.
std::vector<model::FoundModel> models_below(const fs::path& folder) {
  std::vector<model::FoundModel> all = model::find_models(folder);
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure)) {
    std::error_code unreadable;
    if (!entry->is_directory(unreadable)) continue;
    for (model::FoundModel& found : model::find_models(entry->path())) {
      if (found.path.parent_path() == entry->path()) found.name = utf8(entry->path().filename()) + "/" + found.name;
      all.push_back(std::move(found));  // again, where it is the folder's own: that is listed once
    }
  }
  return all;
}

bool holds_models(const fs::path& path) {
  try {
    return fs::is_directory(path) && !models_below(path).empty();
  } catch (const std::exception&) {
    return false;
  }
}

fs::path real_path(const fs::path& path) {
  std::error_code failure;
  fs::path real = fs::weakly_canonical(path, failure);
  return failure ? path : real;
}

std::string name_of(const fs::path& path) {
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  return utf8(folder.filename());
}

ListedModel describe(const model::FoundModel& found, ListedModel::Origin origin) {
  ListedModel listed;
  listed.origin = origin;
  listed.path = found.path;
  listed.name = found.name;
  listed.bytes = found.bytes;
  try {
    const model::ModelDescription description = model::load_network(found.path).description;
    if (origin == ListedModel::Origin::Recent && !description.name.empty()) listed.name = description.name;
    listed.family = description.family;
    listed.layers = description.layers;
    listed.heads = description.heads;
    listed.decoder_layers = description.decoder_layers;
    listed.parameters = description.parameter_count;
    listed.bytes = description.file_bytes;
  } catch (const std::exception& error) {
    listed.problem = error.what();
    listed.problem.resize(std::min(listed.problem.size(), listed.problem.find('\n')));
  }
  return listed;
}

class Search {
 public:
  explicit Search(const std::atomic<bool>& stops) : stops_(stops) {}

  void add_folder(const fs::path& folder, ListedModel::Origin origin) {
    std::error_code failure;
    if (!fs::is_directory(folder, failure)) return;
    try {
      const bool is_chosen = origin == ListedModel::Origin::Folder;
      for (const model::FoundModel& found : is_chosen ? models_below(folder) : model::find_models(folder))
        add(found, origin);
    } catch (const Error& error) {
      ListedModel unread;
      unread.origin = origin;
      unread.path = folder;
      unread.name = name_of(folder);
      unread.problem = error.what();
      models_.push_back(std::move(unread));
    }
  }

  void add(const model::FoundModel& found, ListedModel::Origin origin) {
    if (stops_ || !seen_.insert(real_path(found.path)).second) return;
    models_.push_back(describe(found, origin));
  }

  std::vector<ListedModel> take() { return std::move(models_); }

 private:
  const std::atomic<bool>& stops_;
  std::set<fs::path> seen_;
  std::vector<ListedModel> models_;
};

}  // namespace

std::string ListedModel::about() const {
  const std::string both = decoder_layers > 0 ? fmt::format("{} + {}", layers, decoder_layers) : std::to_string(layers);
  return fmt::format("{} \u00B7 {} layers \u00D7 {} heads", family, both, heads);
}

std::vector<ListedModel> list_models(const ModelSearch& wanted, const std::atomic<bool>& stops) {
  Search search(stops);
  search.add_folder(shared_folder() / "models", ListedModel::Origin::Bundled);
  for (const std::string& recent : wanted.recent) {
    std::error_code failure;
    if (!fs::exists(recent, failure)) continue;
    search.add({.name = name_of(recent), .path = recent, .bytes = 0}, ListedModel::Origin::Recent);
  }
  if (!wanted.folder.empty()) search.add_folder(wanted.folder, ListedModel::Origin::Folder);
  search.add_folder(model::hub_cache_folder(), ListedModel::Origin::HubCache);
  return search.take();
}

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
      opened.path = utf8(std::filesystem::absolute(inference::find_model(path)).lexically_normal());
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
