#pragma once

#include <set>

#include "app/state/state.h"

namespace headlight::app {

/// The window as it was left, in screen coordinates.
struct WindowPlacement {
  glm::ivec2 size{0};                  ///< 0: not left yet; by the display's size and scale
  std::optional<glm::ivec2> position;  ///< none: chosen by the window manager
  bool is_maximized = false;

  bool operator==(const WindowPlacement&) const = default;
};

/// Whether a side panel is open or folded into a rail at the window's edge.
enum class Fold : std::uint8_t {
  Automatic,  ///< open where the map keeps enough room
  Open,       ///< chosen: open down to the smallest map
  Folded,     ///< chosen: folded in windows of any size
};

/// The window's layout. Widths in UI units, 0: by the window's size. A small window shows narrower panels but keeps these
/// values.
struct Panes {
  float sidebar = 0.0f;  ///< the left panel, by the name that files have
  float grid = 0.0f;
  Fold sidebar_fold = Fold::Automatic;
  Fold grid_fold = Fold::Automatic;
  bool shows_details = false;  ///< of the model: sizes, and settings that are rarely changed

  bool operator==(const Panes&) const = default;
};

/// How a card's task was done.
struct CardMark {
  std::uint32_t wrong = 0, right = 0;  ///< how often
  bool is_due = false;                 ///< it is asked again, because of a wrong answer

  bool operator==(const CardMark&) const = default;
};

/// How far lessons were played, by their ids.
struct LessonProgress {
  std::map<std::string, std::uint32_t> cards;                      ///< the card at which one was left
  std::set<std::string> completed;                                 ///< those that are passed
  std::map<std::string, std::map<std::uint32_t, CardMark>> marks;  ///< of cards

  bool operator==(const LessonProgress&) const = default;
};

/// The program's settings, kept between two starts. Theme, colour map and UI scale are in the state's view choices.
struct Settings {
  WindowPlacement window;
  Panes panes;
  std::string device;                       ///< name or index as --device takes it; empty: the best one
  State state;                              ///< as the window was closed
  std::vector<std::string> recent_models;   ///< the newest first, at most kMaxRecentModels
  std::vector<std::string> recent_files;    ///< saved steps, surveys, files of prompts; likewise, kMaxRecentFiles
  std::vector<std::string> recent_choices;  ///< ids of the palette's entries, the newest first, at most kMaxRecentChoices
  std::string model_folder;                 ///< where the model browser looks besides; empty: nowhere
  std::string export_directory;             ///< where the Export dialog wrote last; empty: none yet
  std::string figure_look;                  ///< of exported figures, as JSON; empty: as the program has it
  LessonProgress lessons;
  bool shows_welcome = true;   ///< until the user closes the welcome panel
  bool verifies_head = false;  ///< the selected head is computed again in double precision, and the status bar says

  bool operator==(const Settings&) const = default;
};

inline constexpr std::size_t kMaxRecentModels = 12, kMaxRecentFiles = 12;
inline constexpr std::size_t kMaxRecentChoices = 6;
/// Forgets masks, head gains and the baseline: a start begins with a model as it was trained; only sessions keep what was
/// changed.
void forget_changes(State& state);
/// A step of a live link, which is gone when the window closes, becomes the playground.
void forget_linked_step(State& state);
/// Puts a model first among the recent ones.
void remember_model(Settings& settings, const std::string& path);
/// Puts a file first among the recent ones.
void remember_file(Settings& settings, const std::filesystem::path& path);
/// Puts an entry of the palette first among the recent ones.
void remember_choice(Settings& settings, const std::string& id);

/// $XDG_CONFIG_HOME/headlight, else ~/.config/headlight. Relative values of the variables are ignored, as the XDG
/// specification requires. Throws Error when neither the variable nor HOME is set.
std::filesystem::path config_directory();
/// $XDG_STATE_HOME/headlight/crash.txt, else in ~/.local/state: what a crash leaves. Empty where neither is set.
std::filesystem::path crash_report_file();
/// $XDG_CACHE_HOME/headlight, else ~/.cache/headlight.
std::filesystem::path cache_directory();
/// config_directory()/settings.json.
std::filesystem::path settings_path();
/// cache_directory()/kernels.json (ops/tuning.h). Empty without such a folder: measurements are then not kept.
std::filesystem::path tuning_file();

inline constexpr std::uint64_t kMaxCounter = std::uint64_t{1} << 53;  ///< every reader of JSON has such numbers exactly

struct LoadedSettings {
  Settings settings;
  bool has_state = false;              ///< false: no saved state, as at the first start
  std::optional<std::string> warning;  ///< one line for the terminal and the window, when the file was invalid
  std::string note = {};               ///< one line of the same kind, about a valid file; empty: there is none
  std::uint64_t counter = 0;           ///< KeptWindow's, when it was saved
  bool is_of_newer_version = false;    ///< a newer Headlight's, which must stay as it is
};

/// Never throws for invalid content: an unreadable file is renamed to <name>.bad, defaults are used, and the warning names
/// the file and the error. A missing file gives no warning; one of a newer version gives defaults and stays.
LoadedSettings load_settings(const std::filesystem::path& path);

/// Atomically, for the user alone; creates the folder. Throws Error naming the file.
void save_settings(const std::filesystem::path& path, const Settings& settings, std::uint64_t counter = 0);

}  // namespace headlight::app
