#include "app/state/settings.h"

#include "app/state/json_reader.h"
#include "app/state/source.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "platform/folders.h"

namespace headlight::app {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;

constexpr std::uint32_t kSettingsVersion = 1;  // a file without one is of this version

fs::path own_folder(platform::UserFolder which) {
  std::string trouble;
  const fs::path folder = platform::user_folder(which, trouble);
  if (folder.empty()) throw Error("{}, so there is no folder for Headlight's files; set one of them", trouble);
  return folder / "headlight";
}

json window_to_json(const WindowPlacement& window) {
  json value = {{"is_maximized", window.is_maximized}};
  if (window.size.x > 0) value["width"] = window.size.x;
  if (window.size.y > 0) value["height"] = window.size.y;
  if (window.position) value["position"] = {window.position->x, window.position->y};
  return value;
}

WindowPlacement window_from_json(const json& value, const std::string& path) {
  constexpr int kLargest = 32'768;
  const JsonReader reader(value, path);
  WindowPlacement window;
  reader.read("width", window.size.x, 64, kLargest);
  reader.read("height", window.size.y, 64, kLargest);
  reader.read("is_maximized", window.is_maximized);
  if (const json* position = reader.find("position")) {
    if (!position->is_array() || position->size() != 2) reader.fail("position", "[x, y]", *position);
    window.position = {JsonReader::integer(reader.path("position"), position->at(0), -kLargest, kLargest),
                       JsonReader::integer(reader.path("position"), position->at(1), -kLargest, kLargest)};
  }
  return window;
}

constexpr std::array<EnumName<Fold>, 3> kFolds = {
    {{Fold::Automatic, "automatic"}, {Fold::Open, "open"}, {Fold::Folded, "folded"}}};

/// Writes members of an object, or reads them: so that each is in one list.
struct MemberWriter {
  json& object;

  void operator()(const char* key, const auto& value) const { object[key] = value; }
  void operator()(const char* key, float value, float /*low*/, float /*high*/) const { object[key] = value; }
  void operator()(const char* key, Fold value) const { object[key] = enum_name(kFolds, value); }
};
struct MemberReader {
  const JsonReader& object;

  void operator()(const char* key, auto& value) const { object.read(key, value); }
  void operator()(const char* key, float& value, float low, float high) const { object.read(key, value, low, high); }
  void operator()(const char* key, Fold& value) const { object.read_enum(key, value, kFolds); }
};

void for_each_member(auto& panes, const auto& use) {
  constexpr float kWidest = 4'000.0f;
  use("sidebar", panes.sidebar, 0.0f, kWidest);
  use("grid", panes.grid, 0.0f, kWidest);
  use("sidebar_fold", panes.sidebar_fold);
  use("grid_fold", panes.grid_fold);
  use("shows_details", panes.shows_details);
}

/// Those that are a text or a switch.
void for_each_plain_member(auto& settings, const auto& use) {
  use("device", settings.device);
  use("export_directory", settings.export_directory);
  use("figure_look", settings.figure_look);
  use("model_folder", settings.model_folder);
  use("shows_welcome", settings.shows_welcome);
  use("verifies_head", settings.verifies_head);
}

constexpr std::uint32_t kCourse = 2;  // lessons of a file without a number had other ids

json lessons_to_json(const LessonProgress& lessons) {
  json marks = json::object();
  for (const auto& [id, cards] : lessons.marks) {
    for (const auto& [card, mark] : cards) {
      marks[id][std::to_string(card)] = {{"wrong", mark.wrong}, {"right", mark.right}, {"due", mark.is_due}};
    }
  }
  return {{"course", kCourse}, {"cards", lessons.cards}, {"completed", lessons.completed}, {"marks", marks}};
}

std::map<std::string, std::map<std::uint32_t, CardMark>> marks_from_json(const json& value, const std::string& path) {
  constexpr std::uint32_t kMost = 1'000'000;
  std::map<std::string, std::map<std::uint32_t, CardMark>> marks;
  const JsonReader by_id(value, path);
  for (const auto& [id, cards] : value.items()) {
    const JsonReader by_card(cards, by_id.path(id));
    for (const auto& [card, member] : cards.items()) {
      const JsonReader reader(member, by_card.path(card));
      const bool is_number = !card.empty() && card.size() < 5 && card.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number) throw Error("{}: expected the number of a card", by_card.path(card));
      CardMark& mark = marks[id][static_cast<std::uint32_t>(std::stoul(card))];
      reader.read("wrong", mark.wrong, 0U, kMost);
      reader.read("right", mark.right, 0U, kMost);
      reader.read("due", mark.is_due);
    }
  }
  return marks;
}

/// `note`: what became of lessons that aren't here any more.
LessonProgress lessons_from_json(const json& value, const std::string& path, std::string& note) {
  constexpr std::uint32_t kLastCard = 1'000;
  const JsonReader reader(value, path);
  LessonProgress lessons;
  if (const json* cards = reader.find("cards")) {
    const JsonReader by_id(*cards, reader.path("cards"));
    for (const auto& [id, card] : cards->items()) {
      lessons.cards[id] = JsonReader::integer(by_id.path(id), card, std::uint32_t{0}, kLastCard);
    }
  }
  if (const json* completed = reader.find("completed")) {
    if (!completed->is_array()) reader.fail("completed", "a list of names", *completed);
    for (const json& id : *completed) {
      if (!id.is_string()) reader.fail("completed", "a list of names", *completed);
      lessons.completed.insert(id.get<std::string>());
    }
  }
  if (const json* marks = reader.find("marks")) lessons.marks = marks_from_json(*marks, reader.path("marks"));
  if (reader.find("course") || lessons == LessonProgress{}) return lessons;
  note = "The course is new (F4): progress in the lessons before it is not kept.";
  return {};
}

/// At most `most` of a list of texts; `of`: what they are.
std::vector<std::string> recent_from_json(const JsonReader& reader, const char* key, const char* of, std::size_t most) {
  std::vector<std::string> recent;
  const json* value = reader.find(key);
  if (!value) return recent;
  const std::string expected = std::string("a list of ") + of;
  if (!value->is_array()) reader.fail(key, expected, *value);
  for (const json& text : *value) {
    if (!text.is_string()) reader.fail(key, expected, *value);
    if (recent.size() < most) recent.push_back(text.get<std::string>());
  }
  return recent;
}

/// Puts a text first in a list of at most `most`.
void put_first(std::vector<std::string>& recent, const std::string& text, std::size_t most) {
  std::erase(recent, text);
  recent.insert(recent.begin(), text);
  if (recent.size() > most) recent.resize(most);
}

Settings settings_from_json(const json& value, std::string& note) {
  const JsonReader reader(value, "");
  Settings settings;
  for_each_plain_member(settings, MemberReader{reader});
  settings.recent_models = recent_from_json(reader, "recent_models", "paths", kMaxRecentModels);
  settings.recent_files = recent_from_json(reader, "recent_files", "paths", kMaxRecentFiles);
  settings.recent_choices = recent_from_json(reader, "recent_choices", "names", kMaxRecentChoices);
  if (const json* window = reader.find("window")) settings.window = window_from_json(*window, "window");
  if (const json* lessons = reader.find("lessons")) settings.lessons = lessons_from_json(*lessons, "lessons", note);
  if (const json* panes = reader.find("panes")) for_each_member(settings.panes, MemberReader{JsonReader(*panes, "panes")});
  if (const json* state = reader.find("state")) {
    const Result<State> read = state_from_json(with_color_range(*state, "largest"));
    if (!read) throw Error("state.{}", read.error());
    settings.state = *read;
    forget_changes(settings.state);  // of files that an older version wrote
  }
  return settings;
}

/// Renames an unreadable file before the next save overwrites it; an older <name>.bad is kept too, under a number.
fs::path keep_aside(const fs::path& path) {
  constexpr int kMaxKept = 100;
  for (int number = 0; number < kMaxKept; ++number) {
    fs::path kept = path;
    kept += number == 0 ? std::string(".bad") : fmt::format(".bad.{}", number);
    std::error_code failure;
    if (fs::exists(kept, failure)) continue;
    fs::rename(path, kept, failure);
    if (failure) throw Error("can't rename {} to {}: {}", utf8(path), utf8(kept), failure.message());
    return kept;
  }
  throw Error("{} files like {}.bad are there already; remove some", kMaxKept, utf8(path));
}

/// `what_is_wrong` names the file.
LoadedSettings defaults_after(const fs::path& path, const std::string& what_is_wrong) {
  LoadedSettings loaded;
  try {
    const fs::path kept = keep_aside(path);
    loaded.warning = fmt::format("{}; kept as {}, starting with defaults", what_is_wrong, utf8(kept.filename()));
  } catch (const Error& error) {
    loaded.warning = fmt::format("{}; starting with defaults ({})", what_is_wrong, error.what());
  }
  return loaded;
}

}  // namespace

void forget_changes(State& state) {
  restore_training(state);
  state.compare.baseline.reset();
  state.playground().kept_masks = {};
  forget_linked_step(state);
}

void forget_linked_step(State& state) {
  if (is_linked_step(capture_path(state.source))) select_capture(state, "");
}

void remember_model(Settings& settings, const std::string& path) {
  put_first(settings.recent_models, path, kMaxRecentModels);
}

void remember_file(Settings& settings, const fs::path& path) {
  put_first(settings.recent_files, utf8(fs::absolute(path).lexically_normal()), kMaxRecentFiles);
}

void remember_choice(Settings& settings, const std::string& id) {
  put_first(settings.recent_choices, id, kMaxRecentChoices);
}

fs::path config_directory() { return own_folder(platform::UserFolder::Settings); }
fs::path cache_directory() { return own_folder(platform::UserFolder::Cache); }
fs::path settings_path() { return config_directory() / "settings.json"; }

fs::path file_in(platform::UserFolder which, const char* name) {
  try {
    return own_folder(which) / name;
  } catch (const Error&) {
    return {};
  }
}

fs::path tuning_file() { return file_in(platform::UserFolder::Cache, "kernels.json"); }
fs::path crash_report_file() { return file_in(platform::UserFolder::State, "crash.txt"); }

LoadedSettings load_settings(const fs::path& path) {
  std::error_code failure;
  if (!fs::exists(path, failure)) return {};
  // Whatever is in the file, the program starts.
  json value;
  try {
    value = read_json(path);
  } catch (const std::exception& error) {
    return defaults_after(path, error.what());
  }
  if (is_of_newer_version(value, kSettingsVersion)) {
    const std::string warning =
        fmt::format("{} is of a newer Headlight and stays as it is: starting with defaults, which aren't saved", utf8(path));
    return {.settings = {}, .warning = warning, .is_of_newer_version = true};
  }
  try {
    LoadedSettings loaded;
    loaded.settings = settings_from_json(value, loaded.note);
    loaded.has_state = value.contains("state");
    JsonReader(value, "").read("counter", loaded.counter, std::uint64_t{0}, kMaxCounter);
    return loaded;
  } catch (const std::exception& error) {
    return defaults_after(path, fmt::format("{}: {}", utf8(path), one_line(error.what())));
  }
}

void save_settings(const fs::path& path, const Settings& settings, std::uint64_t counter) {
  json value = {{"version", kSettingsVersion},
                {"counter", counter},
                {"recent_models", settings.recent_models},
                {"recent_files", settings.recent_files},
                {"recent_choices", settings.recent_choices},
                {"lessons", lessons_to_json(settings.lessons)},
                {"window", window_to_json(settings.window)},
                {"state", to_json(settings.state)}};
  for_each_plain_member(settings, MemberWriter{value});
  for_each_member(settings.panes, MemberWriter{value["panes"]});
  write_private_file(path, to_text(value) + "\n");
}

}  // namespace headlight::app
