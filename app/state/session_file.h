#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/state/session_record.h"
#include "app/state/state.h"
#include "core/result.h"

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
/// Of a session file, or of a figure that carries one. Fails in one line naming the file and, in an invalid one, the place;
/// also for a session of a newer version, and for an invalid record.
Result<State> load_session(const std::filesystem::path& path);
/// Is it named as a figure (.png, .svg, .pdf)?
bool is_figure_path(const std::filesystem::path& path);
/// What a figure shows and how, as app/exports/figure_kind.h reads it; none: the file has only a session. Throws Error.
std::optional<nlohmann::json> load_figure(const std::filesystem::path& path);
/// The record of a file that load_session() reads; none: it has none.
std::optional<SessionRecord> load_record(const std::filesystem::path& path);

/// The file that a typed name means: "~" is the home folder, and without ".json" at its end ".headlight.json" is added.
/// Throws Error when HOME isn't set.
std::filesystem::path session_path(const std::string& typed);
/// A session's name in titles: "notes" for "/home/ada/notes.headlight.json".
std::string session_name(const std::filesystem::path& path);

/// Does `state` differ from the file in more than what is selected and how it is shown?
bool has_unsaved_changes(const OpenSession& session, const State& state);

}  // namespace headlight::app
