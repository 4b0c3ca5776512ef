#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/shell/render_device.h"
#include "app/window/workspace.h"
#include "engine/reference_runner.h"

namespace headlight::app {

/// A user at the window: finds things by name, clicks, types, and waits until all is computed. No display. A frame is drawn
/// when its pixels are read, or each one after draw_every_frame().
class UiDriver {
 public:
  /// `device`: as the settings of the last time have it.
  explicit UiDriver(State state = {}, RunnerFactory open = open_reference_runner, const std::string& device = {},
                    bool shows_welcome = false, bool focuses_text = false, KeptWindow* kept = nullptr);
  ~UiDriver();
  UiDriver(const UiDriver&) = delete;
  UiDriver& operator=(const UiDriver&) = delete;

  Workspace& window() { return *workspace_; }
  const State& state() const { return workspace_->state(); }
  const EngineResult& result() const { return workspace_->result(); }
  shell::Ui& ui() { return ui_; }

  /// Is it on screen, or in the panel of a chip, which is opened for it?
  bool sees(const std::string& name);
  chart::Rect rect(const std::string& name);
  /// Pixels within it that have exactly this colour.
  std::size_t count_pixels(const std::string& name, shell::Color color);
  /// A point given as a part of the widget's width and height, in UI units.
  glm::vec2 at(const std::string& name, float across, float down);

  void click(const std::string& name) { click_within(name, 0.5F, 0.5F); }
  void click_within(const std::string& name, float across, float down);
  void drag(const std::string& from, const std::string& to);
  void move_to(const std::string& name);
  /// The cell of the big heatmap, when nothing is zoomed.
  void click_cell(std::uint32_t query, std::uint32_t key);
  void press(shell::Key key, shell::Modifiers modifiers = {});
  /// Shows a view, by its key.
  void show(std::string_view view);
  void type(const std::string& text);
  /// The keys of lower-case letters, digits and spaces, with the characters that they type, so many seconds apart. Draws
  /// frames in between without waiting until all is computed, and settles at the end.
  void type_keys(const std::string& text, double gap_s);
  /// Replaces the content of a text field, and leaves it.
  void fill_in(const std::string& field, const std::string& text);
  /// Paints the cell with the brush, which is taken up before and laid down after.
  void paint_cell(std::uint32_t query, std::uint32_t key);
  /// Lets so much time pass: a later change is a new step of the history.
  void wait(double seconds) { now_s_ += seconds; }

  void resize(std::uint32_t width, std::uint32_t height, float scale = 1.0F);
  void draw_every_frame();
  /// Returns the text that the view's "Copy CSV" copies.
  std::string csv() { return workspace_->csv(size_, scale_, now_s_); }
  void settle() { now_s_ = workspace_->settle(size_, scale_, now_s_); }
  /// Draws frames, a millisecond each, while a load or a pass goes on, at most 4,000. Returns whether it came about.
  bool frames_until(const std::function<bool()>& is_there);
  /// Input of other kinds: other buttons, points without a name.
  void feed(std::vector<shell::InputEvent> events);

 private:
  bool is_there(const std::string& name) const { return workspace_->item_rect(name).has_value(); }
  /// Brings a menu in sight that another one has, or a view's tab, "tab.logits": that of another group by choosing the
  /// group, which shows one of its views. The second function opens the chip whose panel has a control.
  void reach(const std::string& name);
  void reach_panel(const std::string& name);
  void close_panel();
  /// Returns a point of a widget, in pixels, after closing the panel of a chip that lies over it.
  glm::vec2 uncovered(const std::string& name, float across, float down);

  shell::RenderDevice& device_;
  std::size_t messages_before_;  ///< of the validation layer, in earlier windows
  shell::Ui ui_;
  glm::uvec2 size_{1600, 1000};
  float scale_ = 1.0F;
  double now_s_ = 0.0;
  std::unique_ptr<Workspace> workspace_;
};

/// The playground with a text, and a view.
State with_text(const std::string& text, const std::string& view = kHeadView);
/// Returns so many words of the playground, a token each: word0 … word8 extraordinarily9 word10 … extraordinarily49
/// word0 …
std::string words(std::uint32_t count);

/// The weights tile that the big heatmap shows: exact, the whole matrix.
const attention::Tile& weights(const UiDriver& ui);

/// Every control that the last frame drew says what it does, in one sentence.
void check_tips(UiDriver& ui);

/// The folder of the golden models, with the slash at its end.
extern const std::string kGoldenModels;

/// Opens one of them and waits until it is on screen.
void show_golden_model(UiDriver& ui, const std::string& model);

/// Opens the list of lessons and one of them.
void start_lesson(UiDriver& ui, const std::string& id);

}  // namespace headlight::app
