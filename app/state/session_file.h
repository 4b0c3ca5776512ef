#pragma once

#include "app/state/session_record.h"
#include "app/state/state.h"
#include "core/error.h"

namespace headlight::app {

/// The version of session files that save_session() writes, and the newest one that load_session() reads. A file without a
/// version is of version 1.
inline constexpr std::uint32_t kSessionVersion = 1;

/// A session that is open under a name, and its state as the file has it.
struct OpenSession {
  std::filesystem::path path;
  State saved;
};

/// Writes a session file, {"headlight": 1, "version": 1, "state": …, "record": …}, atomically; the state's files are named
/// relative to it where they can be (findable_path()), so that they can be moved together. `record`: numbers of the
/// state's run; null: the file has none. Throws Error naming the file.
void save_session(const std::filesystem::path& path, const State& state, const SessionRecord* record = nullptr);
/// Reads a session file, or a figure that carries one. Fails in one line naming the file and, in an invalid one, the place;
/// also for a session of a newer version, and for an invalid record.
Result<State> load_session(const std::filesystem::path& path);
/// Is it named as a figure (.png, .svg, .pdf)?
bool is_figure_path(const std::filesystem::path& path);
/// Reads the description of a figure's contents, as app/figures/figure_kind.h reads it; none: the file has only a session.
/// Throws Error.
std::optional<nlohmann::json> load_figure(const std::filesystem::path& path);
/// Reads the record of a file that load_session() reads; none: it has none.
std::optional<SessionRecord> load_record(const std::filesystem::path& path);

/// Returns the file that a typed name means: "~" is the home folder, and without ".json" at its end ".headlight.json" is
/// added. Throws Error when HOME isn't set.
std::filesystem::path session_path(const std::string& typed);
/// Returns a session's name in titles: "notes" for "/home/ada/notes.headlight.json".
std::string session_name(const std::filesystem::path& path);

/// Does `state` differ from the file in more than what is selected and how it is shown?
bool has_unsaved_changes(const OpenSession& session, const State& state);

/// Returns the name under which a file in `folder` names another one without revealing where on this computer they are:
/// relative to the folder where they have a folder above them in common besides the root, a model of the hub's cache as
/// "organisation/name", all else by the last part of its path.
std::string portable_path(const std::string& path, const std::filesystem::path& folder);

/// Returns the state as JSON for a file in `folder` that others may get: its model, its capture and those of the run that it
/// is compared with are named as portable_path() does.
std::string portable_state(const State& state, const std::filesystem::path& folder);
/// The same as a whole session, which a view's figure carries.
std::string portable_session(const State& state, const std::filesystem::path& folder);

/// Returns the name under which a file in `folder` that is to open `path` again names it: like portable_path(), a path with
/// "./" or "../" at its beginning; where the two share nothing but the root, from the home folder on ("~/models/gpt2"), and
/// outside of it unchanged.
std::string findable_path(const std::string& path, const std::filesystem::path& folder);
/// Returns the path that a file in `folder` names so, if there is something; else the name.
std::string found_path(const std::string& name, const std::filesystem::path& folder);
/// Is it the model at `path` that a file names so? The last part decides for a name that is no path, or no longer one.
bool is_name_of(const std::string& name, const std::string& path);
/// Returns the state with its paths as findable_path() names them.
State findable_state(const State& state, const std::filesystem::path& folder);

/// Finds model and capture of such a state where they are relative to the file's folder; others keep their names.
void find_beside(State& state, const std::filesystem::path& folder);

/// Puts the path of a model in place of its name, where the state knows no more than that.
void find_at(State& state, const std::string& path);

}  // namespace headlight::app
