#pragma once

#include "app/shell/canvas.h"
#include "app/shell/font_atlas.h"
#include "app/shell/frame_tiles.h"
#include "app/shell/heatmap_pipeline.h"
#include "app/shell/imgui_layer.h"
#include "app/shell/input.h"
#include "app/shell/ui.h"
#include "app/shell/wrapped_text.h"

namespace headlight::shell {

/// Frames in which a field asks for the keyboard. From Dear ImGui 1.89 on a request takes effect in the next frame, and may
/// be lost before.
inline constexpr int kFocusTries = 4;

/// A text field's state between frames.
struct FieldMemory {
  std::optional<std::string> text;  ///< as it was in the last frame
  WrappedText wrapped;              ///< that text in the field's width
  WrappedText live;                 ///< ImGui's text while the field is edited
  float wrap_width = 0.0F;          ///< of `wrapped`
  std::uint64_t fonts = 0;          ///< … and the fonts it was measured in
  bool has_scroll_bar = false, is_multiline = false;
  std::size_t caret = 0, selection = 0;  ///< byte positions in the shown text: the caret, the selection's start
  FieldFocus focus = FieldFocus::None;   ///< requested, not yet in effect
  int focus_tries = 0;                   ///< frames in which it is still requested
};

struct Ui::Impl {
  explicit Impl(RenderDevice::Handles& of_device)
      : handles(of_device),
        canvas(std::in_place, handles),
        layer(handles, canvas->render_pass()),
        heatmaps(std::make_unique<HeatmapRenderer::Pipeline>(handles, canvas->render_pass())) {
    apply(*theme, ImGui::GetStyle());
  }

  /// Makes sure that `count` more frames come. `by` must outlive this object; `line` as of frames_wanted_line.
  void want_frames(int count, const char* by, int line = 0);
  /// Passes the next frame's events to the controls, to ImGui and to is_pressed().
  void apply_input();
  /// Begins to edit the text field that Tab has come to.
  void follow_walk();
  void end_walk();
  /// Returns the tiles that the ended frame draws.
  FrameTiles tiles();
  /// Draws the ended frame, where it differs from the image.
  void draw();

  RenderDevice::Handles& handles;
  std::optional<Canvas> canvas;  ///< none between release_device() and use_device()
  ImGuiLayer layer;
  HeatmapRenderer heatmaps;
  FontAtlas atlas;
  InputQueue queue;

  const Theme* theme = &theme_of(ThemeKind::Light);
  ThemeKind wanted_theme = ThemeKind::Light;
  float scale = 1.0F;
  float atlas_scale = 0.0F;  ///< 0: not built yet
  int frames_wanted = 1;
  const char* frames_wanted_by = "the first frame";  ///< a source file, or a few words
  int frames_wanted_line = 0;                        ///< in that file; 0: it is none
  std::vector<Ground> grounds;                       ///< of this frame
  std::uint64_t frames_drawn = 0;
  std::uint64_t font_uploads = 0;
  std::uint64_t pixels_drawn = 0;
  std::optional<FrameTiles> drawn;  ///< the image's frame
  bool has_new_glyphs = false;
  bool draws_when_read = false;
  bool is_undrawn = false;  ///< the ended frame waits for read_pixels()

  KeyboardFocus keyboard;
  std::vector<KeyPress> pressed;  ///< in this frame, without those that `keyboard` took
  std::string typed;              ///< in this frame, also into a text field
  Modifiers modifiers;
  bool is_alt_alone = false;  ///< held, and nothing was pressed since
  int held_buttons = 0;
  bool was_typed = false;       ///< since the pointer moved: what it was left on needs no tooltip
  double pointer_rest_s = 0.0;  ///< since the pointer moved or something was pressed
  bool is_tooltip_shown = false, was_tooltip_shown = false;  ///< in this frame, in the one before
  bool is_tooltip_awaited = false;

  std::unordered_map<ImGuiID, FieldMemory> fields;
  double quiet_s = 0.0;               ///< since the last input; a caret blinks for a while only
  ImGuiID edited_field = 0;           ///< the text field being edited
  ImGuiID walked_field = 0;           ///< that follow_walk() has left to be edited
  std::optional<std::size_t> cut_at;  ///< bytes of a text of lines of which the user gave more
  bool leaves_text_field = false;
  bool gives_keys = true;         ///< is_pressed() sees keys
  bool field_confirms = false;    ///< the edited field, by Enter: its Escape is the caller's key, too
  bool passes_escape = false;     ///< of the field that was edited in the last frame
  bool will_pass_escape = false;  ///< … in this one
  bool passes_list_keys = false, will_pass_list_keys = false;  ///< in the last frame, in this one
};

}  // namespace headlight::shell
