#include "app/state/session_file.h"

#include <cstdlib>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/state/corpus_settings.h"
#include "app/state/looks.h"
#include "app/state/opened_file.h"
#include "app/state/predictions_settings.h"
#include "app/state/prompts_settings.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "export/figure_session.h"
#include "model/hub_cache.h"
#include "platform/folders.h"

namespace headlight::app {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;

const fs::path kHome = "~";

/// Replaces the paths of what is shown, of its lens, of what it is compared with, and of the open survey.
void replace_paths(State& state, const std::function<std::string(const std::string& path)>& replace) {
  const auto replace_in = [&](Source& source) {
    match(
        source, [](Playground&) {}, [](Notebook&) {}, [&](Model& model) { model.path = replace(model.path); },
        [&](Capture& capture) { capture.path = replace(capture.path); });
  };
  replace_in(state.source);
  if (!state[kCorpusView.folder].empty()) state.set(kCorpusView.folder, replace(state[kCorpusView.folder]));
  if (is_prompt_file(state[kPromptsView.set])) state.set(kPromptsView.set, replace(state[kPromptsView.set]));
  if (!state[kPredictionsView.lens].empty()) state.set(kPredictionsView.lens, replace(state[kPredictionsView.lens]));
  if (!state.compare.baseline) return;
  BaselineRun baseline = *state.compare.baseline;
  replace_in(baseline.inputs.source);
  state.compare.baseline = std::move(baseline);
}

/// Returns the path without a separator at its end.
fs::path whole_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

constexpr std::string_view kExtension = ".headlight.json";

/// Returns nothing when this program reads sessions of the file's version, else what to do.
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

/// Returns the JSON of a session file, or of the session that an exported figure carries.
json read_session(const std::filesystem::path& path) {
  if (!is_figure_path(path)) return read_chosen_json(path, "a session, which File, Save session writes");
  constexpr std::uint64_t kLargestFigure = std::uint64_t{256} << 20;
  const std::optional<std::string> text = exporting::session_of_figure(read_file(path, kLargestFigure));
  if (!text) {
    throw Error("{} carries no session: it isn't a figure that Headlight exported, or was changed since", utf8(path));
  }
  const Result<json> session = parse_json(*text);
  if (!session) throw Error("the session in {}: {}", utf8(path), session.error());
  return *session;
}

}  // namespace

bool is_figure_path(const std::filesystem::path& path) {
  const std::string extension = utf8(path.extension());
  return extension == ".png" || extension == ".svg" || extension == ".pdf";
}

std::optional<json> load_figure(const std::filesystem::path& path) {
  const json session = read_session(path);
  if (!session.is_object() || !session.contains("figure")) return std::nullopt;
  return std::make_optional<json>(session.at("figure"));
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
      return Failure{utf8(path) + " is no Headlight session: it has no members \"headlight\" and \"state\""};
    }
    if (const std::string problem = version_problem(session); !problem.empty()) {
      return Failure{utf8(path) + ": " + problem};
    }
    Result<State> state = state_from_json(session.at("state"));
    if (!state) return Failure{utf8(path) + ": " + state.error()};
    if (session.contains("record")) {
      try {
        static_cast<void>(record_from_json(session.at("record")));
      } catch (const Error& error) {
        return Failure{utf8(path) + ": " + error.what()};
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
  std::string name = utf8(path.filename());
  if (name.size() > kExtension.size() && name.ends_with(kExtension)) name.resize(name.size() - kExtension.size());
  return name;
}

bool has_unsaved_changes(const OpenSession& session, const State& state) {
  return state != session.saved && !differ_in_looks_alone(state, session.saved);
}

std::string portable_path(const std::string& path, const fs::path& folder) {
  if (path.empty() || fs::path(path).is_relative()) return path;
  const fs::path to = whole_path(path), from = whole_path(folder.empty() ? "." : folder);
  std::string name = model::model_name(to);
  if (name != to.filename()) return name;
  const auto apart = std::ranges::mismatch(from, to);
  const bool meet_below_root = std::distance(from.begin(), apart.in1) > 1;
  return meet_below_root ? utf8(to.lexically_relative(from)) : name;
}

std::string portable_state(const State& state, const fs::path& folder) {
  State named = state;
  replace_paths(named, [&](const std::string& path) { return portable_path(path, folder); });
  return to_text(to_json(named), -1);
}

std::string portable_session(const State& state, const fs::path& folder) {
  return fmt::format(R"({{"headlight": 1, "version": {}, "state": {}}})", kSessionVersion, portable_state(state, folder));
}

std::string findable_path(const std::string& path, const fs::path& folder) {
  std::error_code failure;
  if (path.empty() || (fs::path(path).is_relative() && !fs::exists(path, failure))) return path;  // of the hub's cache
  const std::string whole = utf8(whole_path(path));
  std::string named = portable_path(whole, folder);
  const fs::path from = whole_path(folder.empty() ? "." : folder);
  if (whole_path(from / named) == whole) return named.starts_with("../") ? named : "./" + named;
  if (model::model_name(whole) != fs::path(whole).filename()) return named;
  const fs::path home = platform::home_folder();
  const fs::path below = home.empty() ? fs::path() : fs::path(whole).lexically_relative(whole_path(home));
  return below.empty() || *below.begin() == ".." ? whole : utf8(kHome / below);
}

std::string found_path(const std::string& name, const fs::path& folder) {
  if (name.empty() || fs::path(name).is_absolute()) return name;
  const bool is_of_home = *fs::path(name).begin() == kHome && !platform::home_folder().empty();
  const fs::path found = is_of_home ? expand_home(name) : whole_path(folder / name);
  // A missing file that was saved as beside this one is named with its folder.
  const bool is_beside = name.starts_with("./") || name.starts_with("../");
  std::error_code failure;
  return is_beside || fs::exists(found, failure) ? utf8(found) : name;
}

bool is_name_of(const std::string& name, const std::string& path) {
  if (path.empty()) return false;
  if (name == path || name == model::model_name(path)) return true;
  std::error_code failure;
  return !fs::exists(name, failure) && fs::path(name).filename() == fs::path(model::model_name(path)).filename();
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
