#include "app/state/portable_state.h"

#include <cstdlib>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/state/opened_file.h"
#include "app/state/state_json.h"
#include "core/json.h"
#include "model/hub_cache.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

const fs::path kHome = "~";

/// Replaces the paths of what is shown and of what it is compared with.
void replace_paths(State& state, const std::function<std::string(const std::string& path)>& replace) {
  const auto replace_in = [&](Source& source) {
    match(
        source, [](Playground&) {}, [](Notebook&) {}, [&](Model& model) { model.path = replace(model.path); },
        [&](Capture& capture) { capture.path = replace(capture.path); });
  };
  replace_in(state.source);
  if (!state.compare.baseline) return;
  BaselineRun baseline = *state.compare.baseline;
  replace_in(baseline.inputs.source);
  state.compare.baseline = std::move(baseline);
}

/// Without a separator at the end.
fs::path whole_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

}  // namespace

std::string portable_path(const std::string& path, const fs::path& folder) {
  if (path.empty() || fs::path(path).is_relative()) return path;
  const fs::path to = whole_path(path), from = whole_path(folder.empty() ? "." : folder);
  std::string name = model::model_name(to);
  if (name != to.filename()) return name;
  const auto apart = std::ranges::mismatch(from, to);
  const bool meet_below_root = std::distance(from.begin(), apart.in1) > 1;
  return meet_below_root ? to.lexically_relative(from).string() : name;
}

std::string portable_state(const State& state, const fs::path& folder) {
  State named = state;
  replace_paths(named, [&](const std::string& path) { return portable_path(path, folder); });
  return to_text(to_json(named), -1);
}

std::string findable_path(const std::string& path, const fs::path& folder) {
  std::error_code failure;
  if (path.empty() || (fs::path(path).is_relative() && !fs::exists(path, failure))) return path;  // of the hub's cache
  const std::string whole = whole_path(path).string();
  std::string named = portable_path(whole, folder);
  const fs::path from = whole_path(folder.empty() ? "." : folder);
  if (whole_path(from / named) == whole) return named.starts_with("../") ? named : "./" + named;
  if (model::model_name(whole) != fs::path(whole).filename()) return named;
  const char* home = std::getenv("HOME");
  const fs::path below = home == nullptr ? fs::path() : fs::path(whole).lexically_relative(whole_path(home));
  return below.empty() || *below.begin() == ".." ? whole : (kHome / below).string();
}

std::string found_path(const std::string& name, const fs::path& folder) {
  if (name.empty() || fs::path(name).is_absolute()) return name;
  const bool is_of_home = *fs::path(name).begin() == kHome && std::getenv("HOME") != nullptr;
  const fs::path found = is_of_home ? expand_home(name) : whole_path(folder / name);
  // Of what was saved as beside the file, a missing one is named with its folder.
  const bool is_beside = name.starts_with("./") || name.starts_with("../");
  std::error_code failure;
  return is_beside || fs::exists(found, failure) ? found.string() : name;
}

bool is_name_of(const std::string& name, const std::string& path) {
  return !path.empty() && (name == path || name == model::model_name(path));
}

State findable_state(const State& state, const fs::path& folder) {
  State named = state;
  replace_paths(named, [&](const std::string& path) { return findable_path(path, folder); });
  return named;
}

void find_beside(State& state, const fs::path& folder) {
  replace_paths(state, [&](const std::string& path) { return found_path(path, folder); });
}

void find_at(State& state, const std::string& path) {
  const fs::path name = fs::path(model::model_name(path)).filename();
  replace_paths(state, [&](const std::string& known) {
    std::error_code failure;
    const bool is_missing = !known.empty() && !fs::exists(known, failure);
    return is_missing && fs::path(known).filename() == name ? path : known;
  });
}

}  // namespace headlight::app
