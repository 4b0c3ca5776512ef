#include "app/state/portable_state.h"

#include <algorithm>
#include <functional>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/state/state_json.h"
#include "core/json.h"
#include "model/hub_cache.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

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
  const std::string name = model::model_name(to);
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

void find_beside(State& state, const fs::path& folder) {
  replace_paths(state, [&](const std::string& path) {
    if (path.empty() || fs::path(path).is_absolute()) return path;
    const fs::path beside = whole_path(folder / path);
    std::error_code failure;
    return fs::exists(beside, failure) ? beside.string() : path;
  });
}

void find_at(State& state, const std::string& path) {
  const fs::path name = fs::path(model::model_name(path)).filename();
  replace_paths(state, [&](const std::string& known) {
    std::error_code failure;
    const bool is_name = !known.empty() && fs::path(known).is_relative() && !fs::exists(known, failure);
    return is_name && fs::path(known).filename() == name ? path : known;
  });
}

}  // namespace headlight::app
