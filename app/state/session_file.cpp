#include "app/state/session_file.h"

#include <nlohmann/json.hpp>

#include "app/state/chosen_json.h"
#include "app/state/opened_file.h"
#include "app/state/portable_state.h"
#include "app/state/state_json.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "export/figure_session.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::string_view kExtension = ".headlight.json";

/// Nothing when this program reads sessions of the file's version, else what to do.
std::string version_problem(const json& session) {
  const auto version = session.find("version");
  if (version == session.end()) return {};
  if (!version->is_number_unsigned() || version->get<std::uint64_t>() == 0) {
    return fmt::format("version: expected a whole number from 1 to {}, found {}", kSessionVersion, shown(*version));
  }
  const auto number = version->get<std::uint64_t>();
  if (number <= kSessionVersion) return {};
  return fmt::format("a session of version {}, but this Headlight reads versions up to {}; open it with a newer one", number,
                     kSessionVersion);
}

/// The JSON of a session file, or of the session that an exported figure carries.
json read_session(const std::filesystem::path& path) {
  if (!is_figure_path(path)) return read_chosen_json(path, "a session, which File, Save session writes");
  constexpr std::uint64_t kLargestFigure = std::uint64_t{256} << 20;
  const std::optional<std::string> text = exporting::session_of_figure(read_file(path, kLargestFigure));
  if (!text) {
    throw Error("{} carries no session: it isn't a figure that Headlight exported, or was changed since", path.string());
  }
  const Result<json> session = parse_json(*text);
  if (!session) throw Error("the session in {}: {}", path.string(), session.error());
  return *session;
}

}  // namespace

bool is_figure_path(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".png" || extension == ".svg" || extension == ".pdf";
}

std::optional<json> load_figure(const std::filesystem::path& path) {
  const json session = read_session(path);
  if (!session.is_object() || !session.contains("figure")) return std::nullopt;
  return session.at("figure");
}

void save_session(const std::filesystem::path& path, const State& state, const SessionRecord* record) {
  json session = {
      {"headlight", 1}, {"version", kSessionVersion}, {"state", to_json(findable_state(state, path.parent_path()))}};
  if (record) session["record"] = to_json(*record);
  write_file_atomically(path, to_text(session) + "\n");
}

Result<State> load_session(const std::filesystem::path& path) {
  try {
    const json session = read_session(path);
    if (!session.is_object() || !session.contains("headlight") || !session.contains("state")) {
      return Failure{path.string() + " is no Headlight session: it has no members \"headlight\" and \"state\""};
    }
    if (const std::string problem = version_problem(session); !problem.empty()) {
      return Failure{path.string() + ": " + problem};
    }
    Result<State> state = state_from_json(session.at("state"));
    if (!state) return Failure{path.string() + ": " + state.error()};
    if (session.contains("record")) {
      try {
        static_cast<void>(record_from_json(session.at("record")));
      } catch (const Error& error) {
        return Failure{path.string() + ": " + error.what()};
      }
    }
    State shown = std::move(state).value();
    find_beside(shown, path.parent_path());
    return shown;
  } catch (const Error& error) {
    return Failure{error.what()};
  }
}

std::optional<SessionRecord> load_record(const std::filesystem::path& path) {
  const json session = read_session(path);
  if (!session.is_object() || !session.contains("record")) return std::nullopt;
  return record_from_json(session.at("record"));
}

std::filesystem::path session_path(const std::string& typed) {
  std::filesystem::path path = expand_home(typed);
  if (path.has_filename() && path.extension() != ".json") path += kExtension;
  return path;
}

std::string session_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  if (name.size() > kExtension.size() && name.ends_with(kExtension)) name.resize(name.size() - kExtension.size());
  return name;
}

bool has_unsaved_changes(const OpenSession& session, const State& state) {
  State as_saved = state;
  as_saved.selection = session.saved.selection;
  as_saved.view = session.saved.view;
  as_saved.neuron = session.saved.neuron;
  as_saved.block = session.saved.block;
  return as_saved != session.saved;
}

}  // namespace headlight::app
