#pragma once

#include "app/models/model_finder.h"
#include "app/window/dialogs/model_browser.h"
#include "app/window/dialogs/welcome_panel.h"
#include "app/window/lessons.h"

namespace headlight::app {

/// Finds, opens and leaves models and captures.
class Models final : public Feature {
 public:
  /// `opened`: the model of the desk's state, if it is open already.
  Models(Desk& desk, Lessons& lessons, const EngineOptions& engine, ModelFinder find,
         std::shared_ptr<const inference::LanguageModel> opened)
      : Feature(desk), lessons_(lessons), jobs_(engine.models, std::move(find), engine.wake), opened_(std::move(opened)) {}

  ModelJobs& jobs() { return jobs_; }
  const ModelJobs& jobs() const { return jobs_; }
  const ModelBrowser& browser() const { return browser_; }
  /// Returns the model that was opened last, until the engine has it; may be null.
  const inference::LanguageModel* opened() const { return opened_.get(); }

  void browse();
  void look();
  /// Looks into a model in the background and shows it when it can be shown.
  void open(const std::string& path);
  /// Throws Error where it is no capture.
  void show_capture(const std::filesystem::path& path);
  /// Shows a capture, or a notice in place of an Error.
  void open_capture(const std::filesystem::path& path);
  std::vector<WelcomeCard> welcome_cards();
  void begin_with(const WelcomeCard& card);
  /// Goes back to the model on screen, before another one is there.
  void give_up_loading();

  void begin_frame() override;
  void dialog(Frame& frame) override;
  bool close() override {
    const bool was_open = browser_.is_open();
    browser_.close();
    return was_open;
  }
  std::string pending() const override;
  double redraw_after_s() const override;

 private:
  void show_model(const ModelJobs::Opened& opened);
  /// Shows the trouble, in the browser while it is open.
  void refuse(const std::string& trouble);
  /// Goes back to what was shown before, with the reason, where weights can't be on the device.
  void leave_what_cannot_be_loaded();
  void go_back();

  Lessons& lessons_;
  ModelJobs jobs_;
  ModelBrowser browser_;
  std::shared_ptr<const inference::LanguageModel> opened_;
  std::optional<std::string> text_to_show_;  ///< with the model that is being opened
  bool is_load_cancelled_ = false;
};

}  // namespace headlight::app
