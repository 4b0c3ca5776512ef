#pragma once

#include "app/shell/drawn_shapes.h"
#include "app/shell/input.h"
#include "app/shell/pixels.h"
#include "app/shell/ui.h"
#include "app/shell/vulkan_handles.h"

struct ImGuiContext;
struct ImFontAtlas;

namespace headlight::shell {

/// Dear ImGui's context and its Vulkan backend: with HeatmapRenderer and FontAtlas the only place that depends on its
/// version (1.86 here; the keyboard by events from 1.87, the backend's other signatures from 1.90).
class ImGuiLayer {
 public:
  ImGuiLayer(RenderDevice::Handles& handles, vk::RenderPass render_pass);
  ~ImGuiLayer();
  ImGuiLayer(const ImGuiLayer&) = delete;
  ImGuiLayer& operator=(const ImGuiLayer&) = delete;

  ImFontAtlas& font_atlas();
  /// Puts the atlas, built for `scale`, on the device: before the first frame, and again after release_device() or when
  /// has_backend() is false. Nothing may be in flight.
  void upload_fonts(float scale);
  bool has_backend() const { return has_backend_; }
  /// Frees everything on the device. Dear ImGui's own state stays.
  void release_device();
  /// Sets the render pass of the next upload_fonts(), on a device that was opened again.
  void use_device(vk::RenderPass render_pass) { render_pass_ = render_pass; }

  void apply(const InputEvent& event, float scale);
  void begin_frame(glm::uvec2 size, float scale, double elapsed_s);
  /// Ends ImGui's frame, lays it out in pixels. record() then draws it.
  void end_frame(float scale);
  /// Draws the frame inside these rectangles, which have no pixels in common; once a frame.
  void record(vk::CommandBuffer commands, const std::vector<PixelRect>& rects);
  /// Discards the frame; called instead of end_frame().
  void drop_frame();
  /// Adds what end_frame() laid out; before record(), once a frame.
  void add_to(FrameTiles& tiles);

  /// Ends the editing of the text field that has the focus, keeping its text.
  void leave_text_field();
  /// Is an animation in progress?
  bool is_animating() const;
  MousePointer pointer() const;
  void set_clipboard(Clipboard clipboard) { clipboard_ = std::move(clipboard); }
  /// Lets text that ImGui copies pass through `filter` before it reaches the clipboard; an empty filter changes nothing.
  void filter_copies(std::function<std::string(std::string_view)> filter) { copy_filter_ = std::move(filter); }
  /// Returns the characters of the private use area that were typed in this frame, in order. ImGui takes none from the
  /// keyboard: its field has U+FFFD for each.
  std::vector<std::string> take_typed_private() { return std::exchange(typed_private_, {}); }
  /// Lets text from the clipboard pass through `filter` before ImGui gets it; an empty filter changes nothing.
  void filter_pasted(std::function<std::string(std::string_view)> filter) { paste_filter_ = std::move(filter); }
  /// Returns the text that came from the clipboard since the last call, filtered.
  std::string take_pasted() { return std::exchange(pasted_, {}); }

 private:
  void start_backend();
  void stop_backend();
  void abandon_backend();
  void apply_modifiers(const Modifiers& modifiers);
  void apply_key(const KeyPress& press);
  void apply_text(std::string_view utf8);
  static const char* read_clipboard(void* user);
  static void write_clipboard(void* user, const char* text);

  RenderDevice::Handles& handles_;
  vk::RenderPass render_pass_;
  vk::raii::DescriptorPool pool_ = nullptr;
  ImGuiContext* context_ = nullptr;
  DrawnShapes shapes_;  ///< of the frame
  bool has_backend_ = false;
  Clipboard clipboard_;
  std::string clipboard_text_;
  std::string given_text_;  ///< what read_clipboard() returned stays valid
  std::string pasted_;
  std::vector<std::string> typed_private_;
  std::function<std::string(std::string_view)> copy_filter_, paste_filter_;
};

}  // namespace headlight::shell
