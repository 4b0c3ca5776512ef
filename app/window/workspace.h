#pragma once

#include "app/commands/command.h"
#include "app/data/prompts/prompt_room.h"
#include "app/data/survey/survey_room.h"
#include "app/state/error_section.h"
#include "app/state/kept_window.h"
#include "app/state/looks.h"
#include "app/widgets/brush.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/token_menu.h"
#include "app/window/check.h"
#include "app/window/chips.h"
#include "app/window/dialogs/export_dialog.h"
#include "app/window/dialogs/help_dialogs.h"
#include "app/window/palette.h"
#include "app/window/sessions.h"
#include "app/window/sidebar/panels.h"
#include "app/window/steps.h"
#include "app/window/text_line.h"
#include "app/window/typed_row.h"
#include "app/window/view_area.h"
#include "core/sleep_watch.h"

namespace headlight::app {

/// Returns an engine that computes what a state shows already, while there is nothing yet to show it on.
std::unique_ptr<Engine> start_engine(const EngineOptions& options, const State& state);

/// Returns the theme's colours.
shell::ThemeKind theme_kind(Theme theme);

struct WorkspaceOptions {
  EngineOptions engine;
  std::unique_ptr<Engine> started = {};  ///< of start_engine(engine, settings.state); none: the workspace starts one
  Settings settings;
  std::shared_ptr<const inference::LanguageModel> model = {};  ///< of the settings' state, if it is open already
  std::optional<std::string> warning;                          ///< shown once
  std::string renderer;                                        ///< name of the device that draws, for the About dialog
  /// The device is of the settings, not of a flag: when it is gone, the best one is used.
  bool may_use_another_device = false;
  /// The text box has the keyboard from the beginning, with an example selected: for the very first start.
  bool focuses_text = false;
  ModelFinder find_models = list_models;
  std::optional<OpenSession> session = {};  ///< the one that the settings' state comes from
  KeptWindow* kept = nullptr;               ///< lists lost windows; null: there are none
};

/// Everything that is in the window, without the window: the state and its history, the engine, the panels and what happens
/// between them once a frame. A window or a test feeds input to the Ui, calls frame(), and looks at the result.
class Workspace final : private CommandHost {
 public:
  /// The Ui must outlive the workspace.
  Workspace(shell::Ui& ui, WorkspaceOptions options);

  /// Runs one frame: takes the engine's update, handles keys, draws, records what changed, asks for what is on screen now.
  /// `now_s`: any steady clock.
  void frame(glm::uvec2 size, float content_scale, double now_s);

  /// Returns the seconds until the next frame is wanted though nothing happens; infinity when idle.
  double redraw_after_s() const;
  /// Is nothing being computed, drawn or waited for?
  bool is_settled() const { return pending().empty(); }
  /// Returns why the window isn't settled, in words: "the engine computes"; empty when it is.
  std::string pending() const;
  /// Draws frames, 1/60 s apart from `now_s` on and 1/10 s after a while, waiting for the engine in between, until
  /// is_settled(). Returns the clock then. Throws Error when that doesn't happen within kMaxRest_s of this clock, which the
  /// speed of the machine has no part in.
  static constexpr double kMaxRest_s = 600.0;
  double settle(glm::uvec2 size, float content_scale, double now_s);

  /// Opens files dropped on the window: a text, a session, or a model.
  void open_files(const std::vector<std::string>& paths) { sessions_.open_files(paths); }
  /// Looks into a model in the background and shows it when it can be shown.
  void open_model(const std::string& path) { models_.open(path); }

  /// Shows what programs send over a live link as it comes; `link` returns what has come so far.
  void follow(Steps::LinkSource link) { steps_.follow(std::move(link)); }
  /// Opens a file of saved steps in the background.
  void open_steps(const std::filesystem::path& path) { steps_.open(path); }

  /// Plays a lesson's file from one of its cards on, beside those of the folders. Throws Error where it is none.
  void show_lesson(const std::filesystem::path& path, std::size_t card = 0) { lessons_.show(path, card); }
  /// Gives the cards' notes for the presenter to `tell`, a paragraph each.
  /// Writes the answers to lessons to a file. Throws Error where it has something else.
  void record_answers(const std::filesystem::path& path) { lessons_.record(path); }
  void on_notes(std::function<void(const std::string&)> tell) { lessons_.on_notes(std::move(tell)); }

  /// Shows the view alone, and a lesson's card, in large type.
  void present() { desk_.is_presenting = true; }

  /// Opens a survey, which was read already.
  void show_survey(Survey survey);
  const SurveyRoom& surveys() const { return surveys_; }
  const CheckpointRoom& checkpoints() const { return checkpoints_; }
  PromptRoom& prompts() { return prompts_; }

  /// Tells the user, once, that a device was lost and is open again: the one that computes or the one that draws. `loss`:
  /// what happened, as an Error says it.
  void tell_of_reopening(const std::string& loss);

  /// Does the last frame show the selected map of what is typed now, and no older one?
  bool shows_selected_map() const;
  /// Does the last frame also show all other maps on screen, and the whole translation?
  bool shows_all_maps() const;

  /// Returns the processor time of this thread for the last frame, before anything is given to the graphics driver.
  double build_cpu_ms() const { return build_cpu_ms_; }
  /// Returns the area of the view in the middle, in UI units.
  chart::Rect center() const { return desk_.layout.center; }

  /// Asks to close the window: where its session has changes that aren't saved, the user is asked first.
  void ask_to_quit() { quit(); }
  bool wants_to_quit() const { return wants_to_quit_; }
  /// Shows a line of trouble, after the one that is shown already.
  void warn(const std::string& text);
  /// Returns the window's title: "notes* – Headlight", where the star says that the session has changes that aren't saved.
  std::string title() const { return sessions_.title(); }
  const State& state() const { return desk_.state; }
  /// Returns the part of the window that a crash would lose.
  OpenWindow open_window() const;
  const EngineResult& result() const { return desk_.result; }
  const Undo& undo() const { return desk_.undo; }
  const ExportDialog& export_dialog() const { return export_dialog_; }
  const Notice& notice() const { return desk_.notice; }
  const Toast& toast() const { return toast_; }
  const CommandPalette& palette() const { return palette_.list(); }
  bool is_painting() const { return desk_.transient.paints; }
  const FileDialog& file_dialog() const { return sessions_.files(); }
  const LessonPlayer& lessons() const { return lessons_.player(); }
  const ModelBrowser& model_browser() const { return models_.browser(); }
  /// Returns the token under the pointer, among the chips or in the text, as a row of the map.
  std::optional<std::uint32_t> pointed_query() const { return desk_.transient.pointed.query; }
  /// Returns the row whose weights shade the keys' chips.
  std::optional<std::uint32_t> followed_query() const { return desk_.transient.followed_query(desk_.state); }
  /// Returns the text of the target's box while the model writes it.
  const std::string& shown_translation() const { return text_.prompt.translation; }
  const Generation& generation() const { return desk_.generation; }
  std::optional<Progress> load_progress() const { return desk_.engine->progress().load; }
  /// Writes the figure of the view on screen as SVG, PDF or PNG. Returns what a reader misses in it. Throws Error in one
  /// line where it has none.
  std::vector<std::string> write_figure(const std::filesystem::path& path, const Choices& look = {}) const;
  /// Returns the numbers that the view's button "Copy CSV" copies, after settling until they are known. Throws Error
  /// likewise.
  std::string csv(glm::uvec2 size, float content_scale, double now_s);
  /// Returns the view on screen in words and numbers, as Markdown, with the formulas of its stages. Throws Error likewise.
  std::string describe() const;
  /// Returns what the view on screen says below its title, in the last frame.
  const Sentence& sentence() const { return views_.sentence(); }
  /// Returns the settings to remember; the window's placement is the caller's.
  const Settings& settings();
  /// Returns the area that a widget had in the last frame, in UI units; by the names that panels give (app/frame.h).
  std::optional<chart::Rect> item_rect(std::string_view name) const;
  /// Returns the tooltips of the last frame's controls, by name.
  const ItemTips& item_tips() const { return tips_; }

 private:
  /// Builds one frame without drawing it: `ui_.end_frame()` or `ui_.drop_frame()` comes next. Where it throws, the frame is
  /// dropped.
  void build(glm::uvec2 size, float content_scale, double now_s);
  void build_begun(double now_s);
  void take_engine_update();
  /// Makes sure that the tokens of the run can be drawn.
  void prepare_token_texts();
  /// Says which scripts of the run's tokens have no font, as long as there are such tokens.
  void warn_of_fonts();
  /// Says which weights or scores of the run aren't finite, when that changes, and takes it back when all are.
  void warn_of_numbers();
  /// Says which kept changes the run leaves out, once for each text and model.
  void warn_of_changes();
  /// Remembers a chosen device once it works, or goes without one that is gone.
  void settle_device();
  void tell_of_lost_engine();
  void add(std::unique_ptr<Feature> feature) {
    features_.push_back(feature.get());
    added_.push_back(std::move(feature));
  }

  // workspace_commands.cpp
  CommandContext command_context();
  void handle_keys(double now_s);
  /// Forgets characters that are too old for the next one to belong to them.
  void end_typed_row(double now_s);
  /// Decides whether typed characters are shortcuts, which run, or a text that missed its box (TypedRow).
  void follow_typed_row(std::size_t shortcuts, double now_s);
  /// Undoes what the row's characters have started.
  void take_back_typed_row();
  /// Answers the offer of the typed row as a text by what was clicked in the last frame, or Enter, Esc and Backspace.
  void answer_typed_offer();
  /// Is there a text box, and can a text be put into it?
  bool has_text_box() const;
  /// Runs a command and says what it did to the model; where it isn't enabled says why.
  void run(const Command& command);
  void run(std::string_view id);
  /// Runs what was asked for while the last frame was drawn: by the views, and in the palette. Not then, because what a
  /// command asks of the panels, as the keyboard for the text box, must be there before they are drawn.
  void run_posted();
  /// Says `text` for a while, with an Undo back to `before` where masks, gains or the model differ.
  void tell(std::string text, State before);
  void forget_toast(double now_s);
  /// Undoes what the toast reports.
  void take_back();

  // CommandHost
  std::string undo_label() const override { return desk_.undo.undo_label(); }
  std::string redo_label() const override { return desk_.undo.redo_label(); }
  void undo_change() override { desk_.state = desk_.undo.undo(); }
  void redo_change() override { desk_.state = desk_.undo.redo(); }
  bool can_go_back() const override { return places_.can_go_back(); }
  bool can_go_forward() const override { return places_.can_go_forward(); }
  void go_back() override;
  void go_forward() override;
  /// Has the run on screen the state's head and the window its view?
  bool is_place(const State& place) const;
  void toggle_history() override { shows_history_ = !shows_history_; }
  bool is_loading_model() const override { return desk_.is_arriving(); }
  void browse_models() override { models_.browse(); }
  ExportContents exported() const { return find_view(desk_.state.view.tab).exported(desk_.state); }
  void open_export_dialog() override { export_dialog_.open(desk_.state, exported(), desk_.settings); }
  void open_screenshot_dialog(ScreenshotArea area) override {
    sessions_.ask(FilePurpose::SavePicture, {}, [this, area](Sessions&, const std::filesystem::path& path) {
      constexpr int kDialogFades = 3;  // frames that still show it
      picture_ = {.path = path, .area = area, .frames_to_wait = kDialogFades};
    });
  }
  void save_session() override { sessions_.save(); }
  void ask_for_file(FilePurpose purpose) override { sessions_.ask_for(purpose); }
  void copy_figure() override;
  void copy_as_text() override;
  std::unique_ptr<exporting::Drawing> shown_figure() const;
  void copy_cell() override;
  void copy_torch() override;
  void copy_numbers(CopiedNumbers what) override { copied_numbers_ = what; }
  void show_lost_windows() override { sessions_.show_lost(); }
  void quit() override {
    sessions_.leave([this] { wants_to_quit_ = true; });
  }
  void open_menu(MenuTarget target) override { asked_menu_ = target; }
  void toggle_sidebar() override;
  void toggle_grid() override;
  bool is_presenting() const override { return desk_.is_presenting; }
  void toggle_presentation() override { desk_.is_presenting = !desk_.is_presenting; }
  void toggle_menus() override;
  void toggle_welcome() override;
  PaintedMap selected_map() const override { return painted_map(desk_.result, desk_.state.selection); }
  bool verifies_head() const override { return desk_.settings.verifies_head; }
  void toggle_verification() override { desk_.settings.verifies_head = !desk_.settings.verifies_head; }
  void toggle_lessons() override { lessons_.toggle(); }
  bool plays_lesson() const override { return lessons_.is_playing(); }
  void go_on_in_lesson() override { lessons_.go_on(); }
  void go_back_in_lesson() override { lessons_.go_back(); }
  void toggle_help() override { shows_help_ = !shows_help_; }
  void toggle_palette() override;
  void show_about() override { shows_about_ = true; }
  void check_machine() override { check_.open(); }
  void write_text() override;
  bool can_open_second_text() const override;
  bool has_adapter() const override {
    return is_model(desk_.state.source) && desk_.result.model && desk_.result.model->without_adapter;
  }
  void focus_second_text() override;
  void dismiss() override;
  bool can_step(StepCommand command) const override { return steps_.can(command); }
  void step(StepCommand command) override {
    command == StepCommand::Save ? ask_for_file(FilePurpose::SaveSteps) : steps_.run(command);
  }
  bool is_generating() const override { return desk_.generation.is_running(); }
  bool can_generate() const override;
  void start_generating() override;
  void stop_generating() override { desk_.stop_generating(); }

  // workspace_draw.cpp
  /// Draws all but the menus. `menus` is of the state, `frame` of what the panes show: it, or what was there before a model.
  void draw(Frame& menus, Frame& frame);
  void draw_menu(Frame& frame);
  void draw_welcome(Frame& frame);
  void reach_text();
  bool has_two_texts(const State& state) const;  ///< an encoder–decoder's
  bool has_left() const { return lessons_.player().is_open() || (chips_.has_docked() && !desk_.is_presenting); }
  void draw_left(Frame& frame);
  void draw_text(Frame& frame);
  void draw_chips(Frame& frame);
  void draw_views_row(Frame& frame);
  void draw_center(Frame& frame);
  void draw_status(Frame& frame);
  /// Returns what goes on in the background, for the status line.
  std::string job_text() const;
  void draw_splitters(Frame& frame);
  void draw_rails(Frame& frame);
  /// Draws what was typed outside of a text box, and whether to put it into one.
  void draw_typed_offer(Frame& frame);
  void copy_pinned_cell(Frame& frame);
  void copy_wanted_numbers(Frame& frame);
  void draw_dialogs(Frame& frame);
  void remember(double now_s);
  void request_what_is_seen();
  void save_screenshot();
  // workspace_sections.cpp
  /// Is a text being edited that isn't a dialog's?
  bool is_writing() const { return desk_.ui.is_typing() && !types_in_dialog_; }
  /// Frames that begin and end what is_arriving() means for the keyboard.
  void follow_arrival(double now_s);
  std::string arriving_name();
  void go_on_generating();
  bool shows_early_map() const;
  void draw_arrival(Frame& frame);
  /// Notes since when what is on screen belongs to other inputs than the state's.
  void follow_staleness(double now_s);
  /// Dims the views where that is so for longer than a keystroke takes, with the reason.
  void draw_staleness(Frame& frame);
  void draw_notice(Frame& frame);
  void draw_context_menus(Frame& frame);
  std::string menu_title(MenuTarget target) const;
  void draw_chip_panel(Frame& frame, std::string_view panel);
  void draw_model_panel(Frame& frame);
  std::string error_of(ErrorSection section) const;
  /// Draws a panel in a pane of its own, guarded.
  template <typename Draw>
  void pane(const char* name, const chart::Rect& rect, shell::Color ground, bool is_padded, Draw&& draw_content);

  Desk desk_;
  SurveyRoom surveys_;
  Lessons lessons_;
  Models models_;
  CheckpointRoom checkpoints_;
  PromptRoom prompts_;
  Steps steps_;
  Sessions sessions_;
  Palette palette_;
  MachineCheck check_;
  Chips chips_;
  std::vector<std::unique_ptr<Feature>> added_;  ///< besides
  std::vector<Feature*> features_ = {&models_, &lessons_, &steps_, &sessions_, &palette_, &check_, &chips_};
  std::string renderer_;
  SleepWatch sleep_;                          ///< since the engine's device was opened the last time
  std::optional<std::string> chosen_device_;  ///< in the menu; not remembered until it works
  bool may_use_another_device_ = false;

  /// The input with its tokens' texts as they are drawn, where scripts need shaping (Ui::shaped()).
  struct {
    std::shared_ptr<const model::ModelInput> of, as_drawn;
  } drawn_input_;
  std::uint64_t requested_opening_ = 0;             ///< EngineRequest::opening of the newest request
  SharedValue<BaselineRun> requested_baseline_;     ///< EngineRequest::baseline of the newest request
  RunInputs shown_inputs_;                          ///< of the newest good run, as far as known
  std::vector<Query> requested_queries_, queries_;  ///< of the newest request, and of this frame

  Places places_;
  RowForm row_form_ = RowForm::Whole;
  ShownViews shown_views_;
  ItemRects items_;
  ItemTips tips_;
  TextLineMemory text_;
  TokenMenu token_menu_;
  /// What is on screen becomes a file, in the frame in which the dialog that asked for its name is gone.
  struct Picture {
    std::filesystem::path path = {};
    ScreenshotArea area = ScreenshotArea::Window;
    int frames_to_wait = 0;
  };
  Picture picture_;
  std::optional<MenuTarget> asked_menu_;  ///< opens with the next frame
  MenuTarget menu_target_ = MenuTarget::Cell;
  bool had_two_texts_ = false;             ///< in the last frame
  bool folds_grid_ = false;                ///< the view leaves the grid folded until it is opened by choice
  float text_height_ = 42.0F;              ///< that the text's line wanted in the last frame
  std::optional<double> arrival_began_s_;  ///< while one is, or weights are being loaded
  std::optional<double> stale_since_s_;    ///< while the run on screen has other inputs than the state
  bool types_in_dialog_ = false;
  bool opens_menus_ = false, has_open_menu_ = false;
  bool resumes_text_ = false;  ///< the text box has the keyboard again as soon as it is there
  ViewArea views_;
  PresetEditor preset_editor_;
  ExpressionDrafts expression_drafts_;
  std::string shown_notice_;     ///< its text in the last frame
  double notice_until_s_ = 0.0;  ///< when it goes by itself
  Toast toast_;
  State told_before_, told_after_;          ///< around the command that the toast reports
  std::optional<std::uint64_t> told_step_;  ///< of the history, by id, as soon as the command is in it
  TypedRow typed_row_;
  TypedOfferChoice typed_answer_ = TypedOfferChoice::None;  ///< in the last frame
  std::vector<const Command*> waiting_;                     ///< shortcuts of typed_row_ that haven't run
  /// The window's state before the first of the waiting shortcuts.
  struct {
    State state;
    std::uint64_t step = 0;  ///< of the history
    bool paints = false;
    std::optional<NumberRef> asked_number;
  } before_typed_row_;
  int frames_until_text_field_ = 0;  ///< that a key has just asked for
  std::string font_warning_;         ///< of the run on show
  std::string number_warning_;       ///< of the run on show
  std::string changes_warning_;      ///< kept changes that the run on show leaves out
  WelcomeMemory welcome_memory_;
  OriginMemory origin_memory_;
  ExportDialog export_dialog_;
  bool shows_history_ = false;
  bool shows_help_ = false;
  HelpMemory help_;
  bool shows_about_ = false;
  bool wants_to_quit_ = false;
  bool copies_cell_ = false;                     ///< the pinned one, as soon as its numbers are there
  std::optional<CopiedNumbers> copied_numbers_;  ///< asked for, and on their way
  bool is_mouse_held_ = false;
  double build_cpu_ms_ = 0.0;
};

}  // namespace headlight::app
