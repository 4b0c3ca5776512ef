#pragma once

#include "app/state/state.h"

namespace headlight::app {

/// How a file in `folder` names another one without saying where on this computer they are: relative to it where they have a
/// folder above them in common besides the root, a model of the hub's cache as "organisation/name", all else by the last
/// part of its path.
std::string portable_path(const std::string& path, const std::filesystem::path& folder);

/// The state as JSON for a file in `folder` that others may get: its model, its capture and those of the run that it is
/// compared with are named as portable_path() does.
std::string portable_state(const State& state, const std::filesystem::path& folder);

/// How a file in `folder` that is to open `path` again names it: as portable_path(), a path with "./" or "../" at its
/// beginning; where the two share nothing but the root, from the home folder on ("~/models/gpt2"), and outside of it as it
/// is.
std::string findable_path(const std::string& path, const std::filesystem::path& folder);
/// The path that a file in `folder` names so, if there is something; else the name.
std::string found_path(const std::string& name, const std::filesystem::path& folder);
/// Is it the model at `path` that a file names so?
bool is_name_of(const std::string& name, const std::string& path);
/// The state with its paths as findable_path() names them.
State findable_state(const State& state, const std::filesystem::path& folder);

/// Finds model and capture of such a state where they are relative to the file's folder; others keep their names.
void find_beside(State& state, const std::filesystem::path& folder);

/// Puts the path of a model in place of its name, where the state knows no more than that.
void find_at(State& state, const std::string& path);

}  // namespace headlight::app
