#pragma once

#include "app/shell/fonts.h"
#include "app/shell/heatmap_renderer.h"
#include "app/shell/input.h"
#include "app/shell/keyboard_focus.h"
#include "app/shell/pixels.h"
#include "app/shell/theme.h"
#include "app/shell/wrapped_text.h"
#include "chart/viewport.h"

namespace headlight::shell {

class RenderDevice;

/// Connects copy and paste to the system's clipboard. Without one, Ui keeps the text itself.
struct Clipboard {
  std::function<std::string()> read;
  std::function<void(const std::string&)> write;
};

/// The shape of the mouse pointer, for the window.
enum class MousePointer : std::uint8_t { Arrow, Text, ResizeVertical, ResizeHorizontal, Hand, Hidden };

/// Bytes [begin, end) of a field's text, tinted as strongly as the colour is opaque, or with a line below them.
struct TextMark {
  std::size_t begin = 0, end = 0;
  Color color = 0;
  bool is_line = false;
  Color ink = 0;  ///< of the text, over a thicker line; 0: the text stays as it is
};

/// The user's positions in a field's text.
struct TextPointer {
  std::optional<std::size_t> hovered;  ///< the byte under the mouse
  std::optional<std::size_t> caret;    ///< while the field is being edited
};

/// Does a field take the keyboard in this frame, with the caret at the end or with the whole text selected?
enum class FieldFocus : std::uint8_t { None, AtEnd, SelectAll };

struct TextFieldOptions {
  float width = -1.0F;       ///< UI units; −1: all there is
  float height = 0.0F;       ///< above 0: several lines, wrapped at the field's width
  float most_height = 0.0F;  ///< the height to which several lines grow before they scroll
  FieldFocus focus = FieldFocus::None;
  bool passes_escape = false;                ///< Escape ends the editing and is the caller's key too, as in a dialog
  bool passes_list_keys = false;             ///< Up, Down, Page Up and Page Down are the caller's: a list hangs on the field
  const char* hint = nullptr;                ///< shown while the field is empty
  bool enter_confirms = false;               ///< one line only: true is returned on Enter, not on every edit
  std::size_t limit = std::size_t{1} << 20;  ///< bytes
  std::span<const TextMark> marks = {};      ///< several lines only
  std::span<const TextMark> lines = {};      ///< likewise; sorted, apart: only those in sight cost something
  TextPointer* pointer = nullptr;            ///< several lines only: set when given
};

/// Returns the height of a field that shows this many lines, in the current font.
float text_field_height(float lines);

/// Dear ImGui drawn on Vulkan into an image, with or without a window. A frame is
///   ui.begin_frame(size, scale, seconds);  …ImGui calls…;  ui.end_frame();
/// and then window.present(ui) or ui.read_pixels(). One Ui at a time: ImGui's context is global.
///
/// All coordinates of panels are in UI units: at scale 1 a unit is a pixel; at scale 2 the same layout is drawn with twice
/// as many pixels, fonts rasterised again and glyphs snapped to whole pixels. So panels never multiply by the scale.
class Ui {
 public:
  /// The device must outlive the Ui. Throws Error when a font is missing or a Vulkan object can't be created.
  explicit Ui(RenderDevice& device);
  ~Ui();
  Ui(const Ui&) = delete;
  Ui& operator=(const Ui&) = delete;

  /// Queues the user's input for the next frames. A press and a release are always in different frames.
  void feed(InputEvent event);
  void feed(std::span<const InputEvent> events);
  bool has_pending_input() const;

  /// Begins a frame: `size` in pixels, `scale` pixels per UI unit (the display's content scale × the user's zoom),
  /// `elapsed_s` since the previous frame. Waits until the previous frame was drawn. Throws Error of kind DeviceLost or
  /// OutOfDeviceMemory when the device fails, as end_frame(), wait_until_drawn() and read_pixels() do.
  void begin_frame(glm::uvec2 size, float scale, double elapsed_s);
  /// Paints a plain rectangle below everything else in this frame; later ones are over earlier ones. Far cheaper than
  /// drawing it where a CPU fills the pixels.
  void paint_ground(const chart::Rect& rect, Color color);
  /// Draws the frame into the image (asynchronously), as far as it differs from the frame that the image shows: only tiles
  /// in which something changed, none when nothing did.
  void end_frame();
  /// Ends the frame without drawing it, because another one follows immediately; called instead of end_frame().
  void drop_frame();
  /// Lets end_frame() leave drawing to read_pixels(), where that is called before the next frame begins: for windows that no
  /// display shows, few of whose frames are looked at. `false`: every frame is drawn again.
  void draw_when_read(bool is_lazy = true);
  /// Returns the number of frames drawn; end_frame() adds one where something changed.
  std::uint64_t frames_drawn() const;
  /// Returns the number of pixels in the rectangles that were redrawn, over all frames.
  std::uint64_t pixels_drawn() const;
  /// Lets the next end_frame() draw every pixel, changed or not.
  void redraw_all();
  /// Waits until the frame is drawn into the image.
  void wait_until_drawn();

  /// Frees everything on the device before RenderDevice::reopen(), and creates it again afterwards. Nothing may be drawn in
  /// between. Input, text fields and windows are kept. Throws Error; both may then be tried again.
  void release_device();
  void use_device();
  /// Returns the frame that end_frame() ended.
  PixelImage read_pixels();

  /// Returns width and height of the frame being built, UI units.
  glm::vec2 size() const;
  float scale() const;

  /// Returns the seconds until a frame is needed without input: 0 immediately (input is queued, or layout is settling after
  /// an event), about 0.5 while a caret blinks, infinity when idle.
  double redraw_after_s() const;
  bool wants_redraw() const { return redraw_after_s() <= 0.0; }
  /// Requests so many frames, for changes not caused by input. Within a frame that one is the first of them: 2 draw another
  /// one after it.
  void request_redraw(int frames = 1, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  /// Returns the reason for the next frame, where redraw_after_s() is 0: the line that requested it, or a few words. Used in
  /// the message about a window that never comes to rest.
  std::string redraw_reason() const;

  /// Is it time for the tooltip of the item under the pointer? True once the pointer has rested for a moment, and
  /// immediately when it moves from one tooltip to the next. Requests the frame in which it becomes true.
  bool wants_tooltip();

  /// Was the key pressed (or repeated) in this frame with exactly these modifiers? Keys that the text field being
  /// edited uses (plain letters, Ctrl+C, arrows, …) are the field's and give false, as do those that keyboard() takes;
  /// Ctrl+Z and Ctrl+Y are always the caller's.
  bool is_pressed(Key key, Modifiers modifiers = {}) const;
  /// Lets is_pressed() see keys, or none: a pane that hasn't the keyboard is drawn without.
  void give_keys(bool are_given);
  /// Returns the characters typed in this frame while no text field is edited; Ctrl, Alt and Super type none.
  std::string_view typed() const;
  /// Takes the frame's keys that type characters, Space among them, from everything that asks is_pressed() later.
  void drop_typed_keys();
  /// Takes one key likewise; returns whether it was pressed, without modifiers or with Shift.
  bool take_key(Key key);
  /// Called for a key that opens a text field: the character of that key press isn't typed into the field.
  void skip_text_of_key();
  /// Returns the limit of a field of several lines into which more was typed or pasted, once.
  std::optional<std::size_t> take_cut();
  /// Ends the editing of a text field with the next frame; its text stays.
  void leave_text_field();
  /// Is a text field being edited?
  bool is_typing() const;
  Modifiers modifiers() const;

  /// Returns the object to which panels offer their controls for Tab.
  KeyboardFocus& keyboard();
  const KeyboardFocus& keyboard() const;

  const FontSet& fonts() const;
  /// Ensures that these characters can be shown: new ones are added to the fonts before the next frame. Cheap when there
  /// is nothing new. Typed and pasted text is added automatically; call it for text from files and for tokens.
  void ensure_glyphs(std::string_view utf8);

  /// Returns the text for drawing: where its script needs shaping (needs_shaping()), a character of the private use area
  /// that is drawn as the whole text from the next frame on.
  std::string shaped(std::string_view utf8);
  /// Returns the text that shaped() was given, for files and the clipboard.
  std::string unshaped(std::string_view utf8) const;
  /// Returns the message about characters of this text that no installed font has, in one line; empty: there are none.
  std::string missing_fonts(std::string_view utf8);

  const Theme& theme() const;
  /// Takes effect in the next frame.
  void set_theme(ThemeKind kind);

  HeatmapRenderer& heatmaps();

  /// Draws a text field bound to `text`. Returns true in the frame where the user changed it. Follows changes of `text` from
  /// elsewhere (undo, a preset) even while it is being edited, which ImGui::InputText does not, and scrolls to the
  /// change; has no undo of its own. Breaks at the field's width are never part of `text`.
  bool text_field(const char* id, std::string& text, const TextFieldOptions& options = {});

  void set_clipboard(Clipboard clipboard);
  MousePointer pointer() const;

  /// The image of the last frame, which Window uses.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  /// Returns the text with characters of the private use area for those beyond U+FFFF, drawn as these; U+FFFD once all are
  /// taken. unshaped() undoes it.
  NarrowText narrowed(std::string_view utf8);
  /// Prepares image and fonts for a frame of this size and scale.
  void prepare_frame(glm::uvec2 size, float scale);

  std::unique_ptr<Impl> impl_;
};

}  // namespace headlight::shell
