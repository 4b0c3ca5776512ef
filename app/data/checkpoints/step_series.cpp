#include "app/data/checkpoints/step_series.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/data/checkpoints/trainer_state.h"
#include "core/error.h"
#include "core/json.h"
#include "model/hub_cache.h"
#include "model/lora.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

/// What a configuration, of an adapter its model's, says of the network: without names, versions and types of numbers, which
/// differ between checkpoints that were saved at different times. Null where there is no readable one.
nlohmann::json network_of(const fs::path& folder) {
  constexpr std::size_t kLargestConfig = std::size_t{1} << 20;
  try {
    const fs::path whole = model::has_adapter(folder) ? model::base_of_adapter(folder) : folder;
    nlohmann::json config = read_json(whole / "config.json", {.bytes = kLargestConfig});
    if (!config.is_object()) return nullptr;
    for (auto member = config.begin(); member != config.end();) {
      const bool is_of_network = !member.key().starts_with("_") && member.key() != "transformers_version" &&
                                 member.key() != "torch_dtype" && member.key() != "dtype" && member.key() != "use_cache";
      member = is_of_network ? std::next(member) : config.erase(member);
    }
    return config;
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// When a file of the folder was written last.
std::int64_t newest_time(const fs::path& folder) {
  std::int64_t newest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::int64_t time = fs::last_write_time(entry->path(), ignored).time_since_epoch().count();
    if (!ignored) newest = std::max(newest, time);
  }
  return newest;
}

struct Found {
  fs::path path;
  std::string name;
};
std::vector<Found> in_repository(const fs::path& repository, const fs::path& model) {
  const std::map<std::string, std::string> names = model::revision_names(repository);
  std::vector<Found> found;
  for (const model::FoundModel& one : model::find_models(repository / "snapshots")) {
    const auto name = names.find(utf8(one.path.filename()));
    if (name != names.end()) found.push_back({one.path, name->second});
    if (name == names.end() && one.path == model) found.push_back({one.path, utf8(one.path.filename()).substr(0, 8)});
  }
  return found;
}
std::vector<Found> in_folder(const fs::path& folder) {
  std::vector<Found> found;
  for (const model::FoundModel& one : model::find_models(folder)) {
    const std::string name = utf8(one.path.filename());
    if (one.path == folder || step_in_name(name)) found.push_back({one.path, name});
  }
  return found;
}

/// Reads what was logged up to the last step that has a log.
void read_log(StepSeries& series) {
  std::error_code ignored;
  for (auto step = series.steps.rbegin(); step != series.steps.rend(); ++step) {
    const fs::path file = fs::path(step->path) / kTrainerState;
    if (!fs::exists(file, ignored)) continue;
    try {
      series.scalars = read_trainer_state(file);
    } catch (const std::exception& error) {
      series.trouble = one_line(error.what());
    }
    return;
  }
}

}  // namespace

std::optional<std::size_t> StepSeries::nearest(std::int64_t step) const {
  std::optional<std::size_t> nearest;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto distance = [&](std::size_t place) { return std::abs(*steps[place].step - step); };
    if (steps[i].step && (!nearest || distance(i) < distance(*nearest))) nearest = i;
  }
  return nearest;
}

std::optional<std::size_t> StepSeries::find(const std::string& path) const {
  const auto found = std::ranges::find(steps, path, &SeriesStep::path);
  return found == steps.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - steps.begin()));
}

std::optional<std::int64_t> step_in_name(std::string_view name) {
  constexpr std::size_t kMaxDigits = 15;  // exact in a double, as the numbers of linked steps
  constexpr std::array<std::string_view, 7> kWords = {"step", "checkpoint", "ckpt", "iteration", "iter", "epoch", "steps"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  for (const std::string_view word : kWords) {
    for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      if (at > 0 && std::isalpha(static_cast<unsigned char>(lower[at - 1])) != 0) continue;
      std::size_t first = at + word.size();
      if (first < lower.size() && (lower[first] == '-' || lower[first] == '_' || lower[first] == '=')) ++first;
      std::size_t end = first;
      while (end < lower.size() && std::isdigit(static_cast<unsigned char>(lower[end])) != 0) ++end;
      if (end == first || end - first > kMaxDigits) continue;
      std::int64_t step = 0;
      std::from_chars(lower.data() + first, lower.data() + end, step);
      return step;
    }
  }
  return std::nullopt;
}

StepSeries find_checkpoints(const fs::path& model) {
  const fs::path folder = model.has_filename() ? model : model.parent_path();
  const nlohmann::json network = network_of(folder);
  if (network.is_null()) return {};
  const bool is_snapshot = folder.parent_path().filename() == "snapshots";
  const bool is_numbered = step_in_name(utf8(folder.filename())).has_value();
  const fs::path around = is_snapshot || is_numbered ? folder.parent_path() : folder;
  std::error_code failure;
  static_cast<void>(fs::directory_iterator(around, failure));
  if (failure) throw Error("{}: its other checkpoints can't be listed: {}", utf8(around), failure.message());
  std::vector<Found> found = is_snapshot ? in_repository(folder.parent_path().parent_path(), folder) : in_folder(around);
  std::erase_if(found, [&](const Found& one) { return one.path != folder && network_of(one.path) != network; });
  StepSeries series;
  for (const Found& one : found) {
    series.steps.push_back(
        {.step = step_in_name(one.name), .name = one.name, .path = utf8(one.path), .stamp = newest_time(one.path)});
  }
  if (series.steps.size() < 2) return {};
  std::ranges::sort(series.steps, [](const SeriesStep& a, const SeriesStep& b) {
    if (a.step.has_value() != b.step.has_value()) return a.step.has_value();
    return a.step != b.step ? a.step < b.step : a.name < b.name;
  });
  if (series.steps.size() > kMaxSeriesSteps) {
    series.left_out = series.steps.size() - kMaxSeriesSteps;
    const std::optional<std::size_t> shown = series.find(utf8(folder));
    const std::size_t last =
        shown ? std::max(*shown + 1, kMaxSeriesSteps) : kMaxSeriesSteps;  // the one on show is among them
    series.steps.assign(series.steps.begin() + static_cast<std::ptrdiff_t>(last - kMaxSeriesSteps),
                        series.steps.begin() + static_cast<std::ptrdiff_t>(last));
  }
  read_log(series);
  return series;
}

Source source_at(Source source, const SeriesStep& step) {
  if (auto* model = std::get_if<Model>(&source)) model->path = step.path;
  if (auto* capture = std::get_if<Capture>(&source)) capture->path = step.path;
  return source;
}

}  // namespace headlight::app
