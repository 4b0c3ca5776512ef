#pragma once

#include "app/frame.h"
#include "app/state/settings.h"
#include "app/state/undo.h"
#include "app/widgets/form.h"
#include "app/widgets/notice.h"
#include "app/window/layout.h"
#include "app/window/panels.h"

namespace headlight::app {

class Models;
class PromptRoom;
class SurveyRoom;

/// The values that the window's features share.
struct Desk {
  shell::Ui& ui;
  Settings settings;
  std::unique_ptr<Engine> engine;
  State state = settings.state;
  Undo undo = Undo(state);
  EngineResult result = {};
  std::uint64_t revision = 0;         ///< of the newest request
  std::uint64_t inputs_revision = 0;  ///< of the newest request with other inputs than the one before
  RunInputs requested_inputs = {};    ///< of the newest request
  std::uint64_t opening = 0;          ///< EngineRequest::opening of the next request
  State held = {};                    ///< of the last frame that no model was arriving in
  Generation generation = {};
  Transient transient = {};
  Layout layout = {};
  MenuCatalog catalog = {};
  NumberBeingTyped typed = {};
  Notice notice = {};
  bool is_presenting = false;                   ///< the view alone, in large type
  double now_s = 0.0;                           ///< of this frame
  std::vector<std::string_view> commands = {};  ///< ids; they run with the next frame, as the actions below
  std::vector<std::function<void()>> actions = {};

  /// Runs `action` at the beginning of the next frame, before anything is drawn: another model or state, and what the action
  /// asks of the panels, as the keyboard for the text box, must be there before.
  void post(std::function<void()> action);
  void tell(std::string text) { notice = {.text = std::move(text)}; }
  void warn(std::string text) { notice = {.text = std::move(text), .is_warning = true}; }
  /// Runs `action`, with a warning in place of an exception.
  template <typename Action>
  void attempt(Action&& action) {
    try {
      action();
    } catch (const std::exception& error) {
      warn(error.what());
    }
    ui.request_redraw(2);
  }

  /// Makes sure that the texts of the state can be drawn.
  void ensure_glyphs();
  /// Is the run on screen what the state asks for, and of the whole network?
  bool is_current() const;
  /// Is the run on screen still another model's than the state's? Then what was shown before stays, whole.
  bool is_arriving() const;
  void stop_generating();
};

/// A chip at the right end of the row, with a panel of its own.
struct FeatureChip {
  const char* id = "";  ///< of the panel; "": there is no chip
  std::string label = {};
  const char* help = "";
};

/// A part of the window that owns its state. The window walks all of them.
class Feature {
 public:
  explicit Feature(Desk& desk) : desk_(desk) {}
  virtual ~Feature() = default;
  Feature(const Feature&) = delete;
  Feature& operator=(const Feature&) = delete;

  /// Takes what has come since the last frame, before keys and menus.
  virtual void begin_frame() {}
  virtual FeatureChip chip(const Frame& /*frame*/) { return {}; }
  /// Draws what the chip opens.
  virtual void panel(Frame& /*frame*/) {}
  /// Draws what the feature says of the selected head, below its properties in the right panel.
  virtual void property(Frame& /*frame*/) {}
  virtual void dialog(Frame& /*frame*/) {}
  /// Closes its dialog. Was it open?
  virtual bool close() { return false; }
  /// Returns what the feature waits for, in words; empty: nothing.
  virtual std::string pending() const { return {}; }
  /// Returns the seconds until the feature wants a frame though nothing happens.
  virtual double redraw_after_s() const { return std::numeric_limits<double>::infinity(); }

 protected:
  Desk& desk_;
};

/// Makes the feature of the open survey.
std::unique_ptr<Feature> survey_feature(Desk& desk, Models& models, SurveyRoom& room);
/// Makes the feature of the chosen set of prompts.
std::unique_ptr<Feature> prompts_feature(Desk& desk, PromptRoom& room);

}  // namespace headlight::app
