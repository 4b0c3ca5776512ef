#pragma once

#include <string>
#include <vector>

#include "app/commands/command_list.h"

namespace headlight::app {

/// A window that writes down what commands ask of it.
class FakeHost final : public CommandHost {
 public:
  std::vector<std::string> calls;
  std::string undoes, redoes;
  bool loads = false, generates = false, may_generate = false, plays = false, presents = false, verifies = false;

  std::string undo_label() const override { return undoes; }
  std::string redo_label() const override { return redoes; }
  void undo_change() override { calls.emplace_back("undo"); }
  void redo_change() override { calls.emplace_back("redo"); }
  bool can_go_back() const override { return true; }
  bool can_go_forward() const override { return true; }
  void go_back() override { calls.emplace_back("back"); }
  void go_forward() override { calls.emplace_back("forward"); }
  void open_menu(MenuTarget) override { calls.emplace_back("menu"); }
  void toggle_history() override { calls.emplace_back("history"); }
  bool is_loading_model() const override { return loads; }
  bool can_open_second_text() const override { return true; }
  bool has_adapter() const override { return true; }
  void focus_second_text() override { calls.emplace_back("second text"); }
  void browse_models() override { calls.emplace_back("browse models"); }
  void save_session() override { calls.emplace_back("save session"); }
  void ask_for_file(FilePurpose) override { calls.emplace_back("file"); }
  void open_export_dialog() override { calls.emplace_back("export"); }
  void open_screenshot_dialog(ScreenshotArea area) override {
    calls.emplace_back(area == ScreenshotArea::View ? "screenshot of the view" : "screenshot");
  }
  void copy_figure() override { calls.emplace_back("copy figure"); }
  void copy_as_text() override { calls.emplace_back("copy as text"); }
  void copy_cell() override { calls.emplace_back("copy cell"); }
  void copy_torch() override { calls.emplace_back("copy torch"); }
  void copy_numbers(CopiedNumbers what) override {
    calls.emplace_back(what == CopiedNumbers::Map ? "copy map" : what == CopiedNumbers::Row ? "copy row" : "copy column");
  }
  PaintedMap selected_map() const override { return {.keys = 4, .rows = 4, .columns = 4}; }
  void show_lost_windows() override { calls.emplace_back("lost windows"); }
  void quit() override { calls.emplace_back("quit"); }
  void toggle_sidebar() override { calls.emplace_back("sidebar"); }
  void toggle_grid() override { calls.emplace_back("grid"); }
  bool is_presenting() const override { return presents; }
  void toggle_presentation() override { calls.emplace_back("presentation"); }
  void toggle_menus() override { calls.emplace_back("menus"); }
  void toggle_welcome() override { calls.emplace_back("welcome"); }
  bool verifies_head() const override { return verifies; }
  void toggle_verification() override { calls.emplace_back("verification"); }
  void toggle_lessons() override { calls.emplace_back("lessons"); }
  bool plays_lesson() const override { return plays; }
  void go_on_in_lesson() override { calls.emplace_back("next card"); }
  void go_back_in_lesson() override { calls.emplace_back("previous card"); }
  void toggle_help() override { calls.emplace_back("help"); }
  void toggle_palette() override { calls.emplace_back("palette"); }
  void show_about() override { calls.emplace_back("about"); }
  void check_machine() override { calls.emplace_back("check"); }
  void write_text() override { calls.emplace_back("write text"); }
  void dismiss() override { calls.emplace_back("dismiss"); }
  bool can_step(StepCommand) const override { return true; }
  void step(StepCommand command) override { calls.emplace_back(command == StepCommand::Save ? "save steps" : "step"); }
  bool is_generating() const override { return generates; }
  bool can_generate() const override { return may_generate; }
  void start_generating() override { calls.emplace_back("start generating"); }
  void stop_generating() override { calls.emplace_back("stop generating"); }
};

/// Runs commands on a state, without a window.
struct CommandStage {
  State state;
  Transient transient;
  BlockShapes shapes;
  FakeHost host;

  CommandContext context() { return {.state = state, .transient = transient, .shapes = shapes, .window = host}; }
  bool can_run(const char* id) { return is_enabled(find_command(id), context()); }
  /// Runs the command as a key does: nothing happens where the command isn't enabled.
  void run(const char* id) {
    if (can_run(id)) find_command(id).run(context());
  }
  /// Returns what the status line says after the command; `is_changed`: masks or gains differ from before.
  std::string tell(const char* id, bool is_changed) { return find_command(id).tell(state, is_changed); }
};

}  // namespace headlight::app
