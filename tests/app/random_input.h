#pragma once

#include <string>
#include <vector>

#include <glm/vec2.hpp>

#include "app/shell/input.h"
#include "app/window/workspace.h"
#include "support/random.h"

namespace headlight::test {

/// One thing that a user without a plan does: input for the window, or a change of its size or model from outside.
struct RandomAct {
  std::string what;  ///< in words, for a failure's message: "click mask.causal"
  std::vector<shell::InputEvent> events = {};
  std::string model = {};  ///< the folder of one to open; empty: none
};

/// Random clicks, drags, wheel turns, keys and texts all over the window and on the controls that it has, strokes with the
/// mask's brush, choices in the palette, undo and redo, other sizes of the window, other models. Nothing leaves the program:
/// see keep_inside(). The same seed does the same as long as the window shows the same.
class RandomInput {
 public:
  /// `models`: folders that it may open.
  RandomInput(std::uint32_t seed, std::vector<std::string> models) : random_(seed), models_(std::move(models)) {}

  /// `ui_scale`: pixels per UI unit of the last frame.
  RandomAct next(const app::Workspace& workspace, float ui_scale);

  glm::uvec2 size() const { return size_; }  ///< of the window, in pixels
  float scale() const { return scale_; }     ///< pixels per UI unit that the display asks for
  void restore_size() { size_ = kFirstSize, scale_ = 1.0F; }

 private:
  glm::vec2 any_point();
  std::size_t below(std::size_t count) { return random_.below(static_cast<std::uint32_t>(count)); }
  RandomAct click_control(const app::Workspace& workspace, float ui_scale);
  RandomAct paint(const app::Workspace& workspace, float ui_scale);
  RandomAct use_palette(const app::Workspace& workspace);
  RandomAct press_key();
  RandomAct resize();

  static constexpr glm::uvec2 kFirstSize{1600, 1000};

  Random random_;
  std::vector<std::string> models_;
  glm::uvec2 size_ = kFirstSize;
  float scale_ = 1.0F;
};

/// Esc, while a dialog is open that would write or read files; nothing otherwise.
std::vector<shell::InputEvent> keep_inside(const app::Workspace& workspace);

}  // namespace headlight::test
