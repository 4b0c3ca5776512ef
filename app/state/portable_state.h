#pragma once

#include <filesystem>
#include <string>

#include "app/state/state.h"

namespace headlight::app {

/// How a file in `folder` names another one without saying where on this computer they are: relative to it where they have a
/// folder above them in common besides the root, a model of the hub's cache as "organisation/name", all else by the last
/// part of its path.
std::string portable_path(const std::string& path, const std::filesystem::path& folder);

/// The state as JSON for a file in `folder` that others may get: its model, its capture and those of the run that it is
/// compared with are named as portable_path() does.
std::string portable_state(const State& state, const std::filesystem::path& folder);

/// Finds model and capture of such a state where they are relative to the file's folder; others keep their names.
void find_beside(State& state, const std::filesystem::path& folder);

/// Puts the path of a model in place of its name, where the state knows no more than that.
void find_at(State& state, const std::string& path);

}  // namespace headlight::app
