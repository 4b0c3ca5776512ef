#include "app/cli/subcommands.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/cli/model_flags.h"
#include "app/cli/output.h"
#include "app/cli/state_flags.h"
#include "app/lessons/results.h"
#include "app/models/starter_view.h"
#include "app/state/kept_window.h"
#include "app/state/model_changes.h"
#include "app/state/view_pane.h"
#include "app/window/dialogs/help_dialogs.h"
#include "app/window/viewer.h"
#include "core/error.h"
#include "platform/signals.h"

namespace headlight::app {
namespace {

struct ViewFlags {
  ModelFlags model;
  StateFlags shown;
  std::string device, renderer;
  std::size_t tile_bytes = kDefaultTileBytes;
  float scale = 0.0f;
  bool is_fresh = false, is_linkable = true, lists_keys = false;
  std::string survey, results;
  std::string file;
};

/// Opens the survey of --survey, or of the folder that is to be opened; the latter is shown with its model, where that is
/// here.
void open_survey(ViewFlags& flags, ViewOptions& options) {
  if (!flags.survey.empty()) options.survey = read_survey(std::filesystem::absolute(flags.survey));
  if (flags.model.survey().empty()) return;
  options.survey = read_survey(flags.model.survey());
  if (flags.model.chooses_model()) return;
  try {
    flags.model.use_model(utf8(inference::find_model(named_model(options.survey->model))));
  } catch (const Error& error) {
    options.warning = error.what();
  }
}

int run_view(ViewFlags& flags) {
  if (flags.lists_keys) {
    std::cout << keys_in_words();
    return 0;
  }
  if (!flags.file.empty()) flags.model.open_file(flags.file);
  if (std::filesystem::exists(flags.results))
    read_results(flags.results);  // another file is refused before the window opens
  ViewOptions options;
  open_survey(flags, options);
  LoadedSettings loaded;
  try {
    loaded = load_settings(settings_path());
    options.kept = std::make_shared<KeptWindow>(config_directory(), loaded);
  } catch (const Error& error) {  // no folder for settings: the window starts without them
    loaded.warning = error.what();
  }
  if (loaded.warning) std::cerr << "headlight: " << one_line(*loaded.warning) << '\n';
  options.settings = std::move(loaded.settings);
  if (!options.warning) options.warning = std::move(loaded.warning);
  if (!options.warning && !loaded.note.empty()) options.warning = std::move(loaded.note);
  State& state = options.settings.state;
  if (flags.is_fresh) state = {};
  bool is_first = flags.is_fresh || !loaded.has_state;
  if (options.kept) {
    Resumed resumed = options.kept->resume(state, !flags.is_fresh && !flags.model.chooses_model());
    if (!options.warning && !resumed.words.empty()) options.warning = std::move(resumed.words);
    if (resumed.avoids_settings) state = {};
    is_first = (is_first || resumed.avoids_settings) && !resumed.window;
    if (resumed.window) {
      options.session = session_of(resumed.window->window);
      state = std::move(resumed.window->window.state);
    }
  }
  options.is_first_start = is_first;
  find_moved_model(state);
  options.models = flags.model.models();
  if (is_first && !flags.model.chooses_model()) {
    FirstState first = first_state(*options.models);
    state = std::move(first.state);
    options.model = std::move(first.model);
    if (!options.warning) options.warning = std::move(first.warning);
  }
  flags.model.apply(state);
  if (std::optional<OpenSession> session = flags.model.session()) {
    options.session = std::move(session);
    const std::string changed = model_changes(options.session->saved);
    if (!changed.empty() && !options.warning) {
      options.warning = fmt::format("{}: {}", utf8(options.session->path.filename()), changed);
    }
  }
  if (!flags.model.survey().empty()) state.view.tab = "corpus";
  if (!flags.model.layout().empty()) load_layout(flags.model.layout(), state.view);
  flags.shown.apply(state);
  if (flags.scale > 0.0f) state.view.ui_scale = flags.scale;
  options.steps = flags.model.steps();
  options.device = flags.device;
  options.renderer = flags.renderer;
  options.tile_bytes = flags.tile_bytes;
  options.is_linkable = flags.is_linkable;
  options.lesson = flags.model.lesson();
  options.lesson_card = flags.model.lesson_card();
  options.results = flags.results;
  if (const auto report = platform::take_crash_report(crash_report_file())) {
    const std::string line = fmt::format("The last start ended by a fault: {} says what was on screen.", report->string());
    options.warning = options.warning ? fmt::format("{} {}", *options.warning, line) : line;
    tell_note(line);
  }
  return run_viewer(options);
}

}  // namespace

Subcommand add_view_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "view", run_view);
  FlagGroup(*command, "Text")
      .add_argument("file", "[FILE]",
                    "what to open, recognised by its content: a model's folder, .gguf, .safetensors or .bin file; a capture "
                    "(.npz, .safetensors); a session (.json), or a figure that carries one; a lesson or a layout (.json); "
                    "the folder of a survey; a .zip of saved steps; else a text",
                    flags->file);
  flags->model.add_to(*command, "--score-scale", fmt::format("what was open last, {} at the first start", kCaptionWriter));
  flags->shown.add_to(*command);
  flags->model.add_lesson_flags(*command);
  const FlagGroup shown(*command, "What is shown");
  shown.take_number("--scale", "S", "size of fonts and spacing, 0.5 to 4 (default: the monitor's own)", flags->scale, 0.5f,
                    4.0f);
  shown.turn("--fresh", "begin with the example sentence instead of the last one", flags->is_fresh);
  shown.take("--survey", "DIR", "what `headlight survey` found: in the view Corpus, and of the selected head",
             flags->survey);
  shown.take("--results", "FILE", "write every answer to lessons into this .json file, after those that it has",
             flags->results);
  shown.take_choice("--link", "on|off",
                    "let programs of yours send attention to this window while they compute, over a socket in "
                    "XDG_RUNTIME_DIR (default on)",
                    flags->is_linkable, {{"on", true}, {"off", false}});
  shown.turn("--keys", "print all keys of the window, for a sheet of paper, and exit", flags->lists_keys);
  add_device_flag(*command, flags->device);
  add_renderer_flag(*command, flags->renderer);
  add_cache_flag(*command, flags->tile_bytes);
  return made;
}

}  // namespace headlight::app
