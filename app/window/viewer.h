#pragma once

#include "app/data/survey/survey_folder.h"
#include "app/engine/engine.h"
#include "app/engine/model_cache.h"
#include "app/state/kept_window.h"

namespace headlight::app {

/// The options that `headlight view` was started with.
struct ViewOptions {
  Settings settings;                      ///< as they were saved, with the flags of the command line applied
  std::shared_ptr<KeptWindow> kept = {};  ///< keeps the window and saves its settings; null: neither
  std::optional<std::string> warning;     ///< to show in the window once
  std::string device;                     ///< --device; empty: settings.device
  std::string renderer = {};              ///< --renderer; empty: the first that can show the window
  std::shared_ptr<ModelCache> models = std::make_shared<ModelCache>();
  std::shared_ptr<const inference::LanguageModel> model = {};  ///< of the state, if it is open already
  std::optional<OpenSession> session = {};                     ///< that the state comes from
  std::size_t tile_bytes = kDefaultTileBytes;                  ///< budget of the tile cache
  std::optional<Survey> survey = {};                           ///< shown beside the selected head
  std::filesystem::path steps = {};                            ///< a file of saved steps; empty: none
  std::filesystem::path lesson = {};                           ///< played; empty: none
  std::size_t lesson_card = 0;                                 ///< with which it begins
  std::filesystem::path results = {};                          ///< to which answers are written; empty: none
  bool is_first_start = false;                                 ///< the text box has the keyboard, to be typed into
  bool is_linkable = true;                                     ///< programs can send captures to the window
};

/// The options that `headlight screenshot` was started with.
struct ScreenshotOptions {
  State state;
  std::filesystem::path out;   ///< .png, or of a figure .svg or .pdf too
  bool is_figure = false;      ///< instead of the window: its view's figure for a paper
  Choices look = {};           ///< of that figure (figure_settings.h); its colours are the window's
  std::uint32_t width = 1600;  ///< pixels of the image, whatever the scale
  std::uint32_t height = 1000;
  float scale = 1.0f;  ///< of fonts and spacing, as on a HiDPI monitor
  std::string device;
  std::string renderer = {};  ///< --renderer
  bool shows_welcome = false;
  std::optional<Survey> survey = {};  ///< shown beside the selected head
  std::filesystem::path steps = {};   ///< a file of saved steps; empty: none
  std::filesystem::path lesson = {};  ///< played; empty: none
  std::size_t lesson_card = 0;        ///< with which it begins
  bool is_presentation = false;
  std::optional<std::string> warning = {};  ///< to show in the window
  std::shared_ptr<ModelCache> models = std::make_shared<ModelCache>();
  std::shared_ptr<const inference::LanguageModel> model = {};  ///< of the state, if it is open already
  inference::CompileObserver watch_compiling = {};             ///< called from the engine's thread
  std::size_t tile_bytes = kDefaultTileBytes;                  ///< budget of the tile cache
};

/// Opens the window and returns when it is closed: the exit status. Throws Error in one line when there is no display or no
/// device.
int run_viewer(const ViewOptions& options);

/// Draws the window that `headlight view` shows offscreen, waits until everything is computed and writes it. Throws Error in
/// one line.
void take_screenshot(const ScreenshotOptions& options);

/// Returns what the window's view then shows, in words and numbers: Workspace::describe(). Throws Error in one line.
std::string describe_view(const ScreenshotOptions& options);

}  // namespace headlight::app
