#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "app/shell/render_device.h"
#include "app/window/workspace.h"
#include "core/error.h"
#include "engine/reference_runner.h"

namespace headlight::app {

/// A user at the window: finds things by name, clicks, types, and waits until all is computed and drawn. No display.
class UiDriver {
 public:
  /// `device`: as the settings of the last time have it.
  explicit UiDriver(State state = {}, RunnerFactory open = open_reference_runner, const std::string& device = {},
                    bool shows_welcome = false, bool focuses_text = false)
      : device_({.device = {}, .validation = true}), ui_(device_) {
    EngineOptions engine;
    engine.open = std::move(open);
    engine.device = device;
    Settings settings;
    settings.state = std::move(state);
    settings.device = device;
    settings.shows_welcome = shows_welcome;
    workspace_ = std::make_unique<Workspace>(ui_, WorkspaceOptions{.engine = engine,
                                                                   .started = {},
                                                                   .settings = settings,
                                                                   .warning = {},
                                                                   .renderer = device_.name(),
                                                                   .may_use_another_device = true,
                                                                   .focuses_text = focuses_text});
    settle();
  }

  ~UiDriver() {
    workspace_.reset();
    for (const std::string& message : device_.validation_messages()) FAIL_CHECK(message);
  }
  UiDriver(const UiDriver&) = delete;
  UiDriver& operator=(const UiDriver&) = delete;

  Workspace& window() { return *workspace_; }
  const State& state() const { return workspace_->state(); }
  const EngineResult& result() const { return workspace_->result(); }
  shell::Ui& ui() { return ui_; }

  bool sees(const std::string& name) const { return workspace_->item_rect(name).has_value(); }
  view::Rect rect(const std::string& name) const {
    const auto found = workspace_->item_rect(name);
    REQUIRE_MESSAGE(found.has_value(), "nothing called \"", name, "\" is on screen");
    return *found;
  }

  void click(const std::string& name) { click_within(name, 0.5F, 0.5F); }
  /// At a point given as a part of the widget's width and height.
  void click_within(const std::string& name, float across, float down) {
    const view::Rect at = rect(name);
    feed(
        shell::click_at({(at.origin.x + at.size.x * across) * ui_.scale(), (at.origin.y + at.size.y * down) * ui_.scale()}));
  }
  void drag(const std::string& from, const std::string& to) {
    const view::Rect a = rect(from);
    const view::Rect b = rect(to);
    feed(shell::drag(a.center() * ui_.scale(), b.center() * ui_.scale()));
  }
  void move_to(const std::string& name) {
    const view::Rect at = rect(name);
    feed({shell::MouseMove{at.center() * ui_.scale()}});
  }
  /// The cell of the big heatmap, when nothing is zoomed.
  void click_cell(std::uint32_t query, std::uint32_t key) {
    const inference::BlockShape shape = result().shapes.at(state().selection.block);
    click_within("head.map", (static_cast<float>(key) + 0.5F) / static_cast<float>(shape.keys),
                 (static_cast<float>(query) + 0.5F) / static_cast<float>(shape.queries));
  }
  void press(shell::Key key, shell::Modifiers modifiers = {}) { feed(shell::tap(key, modifiers)); }
  void type(const std::string& text) { feed({shell::TextInput{text}}); }
  /// Replaces what stands in a text field, and leaves it.
  void fill_in(const std::string& field, const std::string& text) {
    click(field);
    press(shell::Key::A, shell::kControl);
    text.empty() ? press(shell::Key::Delete) : type(text);
    press(shell::Key::Escape);
  }
  /// With the brush, which is taken up before and laid down after.
  void paint_cell(std::uint32_t query, std::uint32_t key) {
    if (!workspace_->is_painting()) press(shell::Key::B);
    click_cell(query, key);
    press(shell::Key::B);
  }
  /// So much time passes: what follows is a new step of the history.
  void wait(double seconds) { now_s_ += seconds; }

  void resize(std::uint32_t width, std::uint32_t height, float scale = 1.0F) {
    size_ = {width, height};
    scale_ = scale;
    settle();
  }
  void settle() { now_s_ = workspace_->settle(size_, scale_, now_s_); }

 private:
  void feed(std::vector<shell::InputEvent> events) {
    now_s_ += 0.05;
    ui_.feed(events);
    settle();
  }

  shell::RenderDevice device_;
  shell::Ui ui_;
  glm::uvec2 size_{1600, 1000};
  float scale_ = 1.0F;
  double now_s_ = 0.0;
  std::unique_ptr<Workspace> workspace_;
};

/// The weights tile that the big heatmap shows: exact, the whole matrix.
inline const attention::Tile& weights(const UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  for (const auto& [query, known] : ui.result().tiles) {
    const bool is_it = query.quantity == QuantityId(attention::Stage::Weights) && query.block == selection.block &&
                       query.batch == selection.batch && query.head == selection.head && query.pool == 1;
    if (is_it && ui.result().is_current(query)) return *known.tile;
  }
  throw Error("the selected head's weights are not among the tiles");
}

/// The folder of the golden models, with the slash at its end.
inline const std::string kGoldenModels = std::string(HEADLIGHT_GOLDEN_DIR) + "/models/";

/// Opens one of them and waits until it is on screen.
inline void show_golden_model(UiDriver& ui, const std::string& model) {
  ui.window().open_model(kGoldenModels + model);
  ui.settle();
  REQUIRE_MESSAGE(model_path(ui.state().source) == kGoldenModels + model, ui.window().notice().text);
}

}  // namespace headlight::app
