#include "app/shell/ui.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "app/shell/frame_tiles.h"
#include "app/shell/imgui_vectors.h"
#include "app/shell/shaped_text.h"
#include "app/shell/ui_impl.h"
#include "chart/color.h"
#include "chart/missing_font.h"
#include "core/utf8.h"

namespace headlight::shell {
namespace {

// Auto-sized windows and hover states need a frame or two to settle after an event.
constexpr int kSettlingFrames = 3;
constexpr double kCaretPeriod_s = 0.4;  // ImGui's caret shows for 0.8 s and hides for 0.4 s
constexpr double kBlinking_s = 10.0;    // after the last input; then the caret stops blinking, and costs nothing
constexpr double kTooltipRest_s = 0.45;
constexpr double kHeldMousePeriod_s = 0.04;  // repeating buttons, scrolling while selecting

/// Does the key belong to a text field while it is edited?
bool is_editing_key(Key key, const Modifiers& modifiers) {
  if (modifiers.alt || modifiers.super) return false;
  if (key >= Key::F1) return false;
  if (!modifiers.control) return true;
  return key <= Key::Space || key == Key::A || key == Key::C || key == Key::V || key == Key::X;
}

glm::vec3 channels(Color color) { return glm::vec3(chart::unpack(color)) / 255.0F; }

}  // namespace

Ui::Ui(RenderDevice& device) : impl_(device.handles().guarded([&] { return std::make_unique<Impl>(device.handles()); })) {
  impl_->layer.filter_pasted([this](std::string_view text) { return narrowed(text).text(); });
}
Ui::~Ui() {
  if (impl_->canvas) impl_->canvas->finish();
}

void Ui::release_device() {
  Impl& self = *impl_;
  if (self.canvas) self.canvas->finish();
  self.is_undrawn = false;
  self.layer.release_device();
  self.heatmaps.replace(nullptr);
  self.canvas.reset();
}

void Ui::use_device() {
  Impl& self = *impl_;
  self.handles.guarded([&] {
    self.canvas.emplace(self.handles);
    self.layer.use_device(self.canvas->render_pass());
    self.heatmaps.replace(std::make_unique<HeatmapRenderer::Pipeline>(self.handles, self.canvas->render_pass()));
  });
  self.atlas_scale = 0.0F;
  self.drawn.reset();
  request_redraw();
}

void Ui::feed(InputEvent event) {
  if (auto* text = std::get_if<TextInput>(&event)) {
    text->utf8 = narrowed(text->utf8).text();
    ensure_glyphs(text->utf8);
  }
  impl_->queue.push(std::move(event));
}

void Ui::feed(std::span<const InputEvent> events) {
  for (const InputEvent& event : events) feed(event);
}

bool Ui::has_pending_input() const { return !impl_->queue.is_empty(); }

void Ui::Impl::follow_walk() {
  const std::optional<std::uint32_t> field = keyboard.take_field();
  if (!field) return;
  FieldMemory& memory = fields[*field];
  memory.focus = memory.is_multiline ? FieldFocus::AtEnd : FieldFocus::SelectAll;
  memory.focus_tries = kFocusTries + 1;  // at first it is activated already, unless it is out of sight
  walked_field = *field;
}

void Ui::Impl::apply_input() {
  pressed.clear();
  typed.clear();
  bool is_space_taken = false;
  for (const InputEvent& event : queue.take_frame()) {
    want_frames(kSettlingFrames, "input");
    quiet_s = 0.0;
    const bool is_move = std::holds_alternative<MouseMove>(event);
    const bool has_alt = is_alt_alone;
    is_alt_alone = is_move && has_alt;
    was_typed = !is_move && (was_typed || std::holds_alternative<TextInput>(event));
    if (!is_move || !was_tooltip_shown) pointer_rest_s = 0.0;
    if (const auto* press = std::get_if<KeyPress>(&event)) {
      modifiers = press->modifiers;
      // Alt alone is F10, as in other programs; Alt with something else is not.
      const bool is_alt = press->key == Key::LeftAlt;
      is_alt_alone = is_alt && press->down && modifiers == Modifiers{.alt = true};
      if (is_alt && !press->down && has_alt) pressed.push_back({.key = Key::F10});
      if (keyboard.take(*press, ImGui::GetIO().WantTextInput)) {
        is_space_taken = is_space_taken || press->key == Key::Space;
        if (const auto left = fields.find(std::exchange(walked_field, 0)); left != fields.end()) {
          left->second.focus = FieldFocus::None;
        }
        continue;
      }
      // ImGui's Escape reverts the edits since the field got the focus (1.86 did so in its own buffer alone); here it only
      // ends the editing.
      const bool leaves_field = press->key == Key::Escape && press->down && edited_field != 0;
      if (press->down && (!leaves_field || field_confirms)) pressed.push_back(*press);
      if (leaves_field) {
        leaves_text_field = true;
        if (!field_confirms) keyboard.end();
        continue;
      }
    } else if (const auto* click = std::get_if<MouseClick>(&event)) {
      modifiers = click->modifiers;
      held_buttons = click->down ? held_buttons + 1 : std::max(held_buttons - 1, 0);
      if (click->down) keyboard.start_at(to_glm(ImGui::GetIO().MousePos));
    } else if (is_space_taken && std::holds_alternative<TextInput>(event)) {
      continue;  // what Space opened must not get it
    } else if (const auto* text = std::get_if<TextInput>(&event)) {
      if (keyboard.take_text(text->utf8)) continue;
      typed += text->utf8;
    }
    layer.apply(event, scale);
  }
  follow_walk();
}

void Ui::begin_frame(glm::uvec2 size, float scale, double elapsed_s) {
  impl_->handles.guarded([&] { prepare_frame(size, scale); });
  Impl& self = *impl_;
  self.is_undrawn = false;
  self.scale = scale;
  self.quiet_s += elapsed_s;
  self.pointer_rest_s += elapsed_s;
  self.was_tooltip_shown = std::exchange(self.is_tooltip_shown, false);
  self.is_tooltip_awaited = false;
  self.apply_input();
  ImGui::GetIO().ConfigInputTextCursorBlink = self.quiet_s < kBlinking_s;
  self.heatmaps.pipeline().begin_frame(size, scale);
  self.layer.begin_frame(size, scale, elapsed_s);
  self.keyboard.begin_frame();
  if (self.leaves_text_field) self.layer.leave_text_field();
  self.leaves_text_field = false;
  self.passes_escape = std::exchange(self.will_pass_escape, false);
  self.passes_list_keys = std::exchange(self.will_pass_list_keys, false);
  self.edited_field = 0;
}

void Ui::prepare_frame(glm::uvec2 size, float scale) {
  Impl& self = *impl_;
  self.canvas->wait();
  if (self.canvas->size() != size) self.drawn.reset();
  self.canvas->resize(size);
  self.grounds.clear();
  if (self.atlas_scale != scale || self.has_new_glyphs || !self.layer.has_backend()) {
    self.atlas.build(self.layer.font_atlas(), scale);
    self.layer.upload_fonts(scale);
    ++self.font_uploads;
    ImGui::GetIO().FontDefault = self.atlas.fonts().body;
    self.atlas_scale = scale;
    self.has_new_glyphs = false;
    self.want_frames(kSettlingFrames, "new glyphs");
  }
  if (self.theme != &theme_of(self.wanted_theme)) {
    self.theme = &theme_of(self.wanted_theme);
    apply(*self.theme, ImGui::GetStyle());
  }
}

void Ui::end_frame() {
  Impl& self = *impl_;
  self.end_walk();
  self.layer.end_frame(self.scale);
  if (const std::string pasted = self.layer.take_pasted(); !pasted.empty()) ensure_glyphs(pasted);
  self.frames_wanted = std::max(self.frames_wanted - 1, 0);
  self.is_undrawn = self.draws_when_read;
  if (!self.is_undrawn) self.draw();
}

void Ui::draw_when_read(bool is_lazy) { impl_->draws_when_read = is_lazy; }

void Ui::Impl::draw() {
  FrameTiles shown = tiles();
  const std::vector<PixelRect> changed = shown.changed_since(drawn.value_or(FrameTiles()));
  if (changed.empty()) return;
  drawn.reset();  // until the frame is submitted the image may be anything
  handles.guarded([&] {
    const vk::CommandBuffer commands = canvas->begin(channels(theme->background), grounds, changed);
    heatmaps.pipeline().recording = commands;
    layer.record(commands, changed);
    canvas->end_and_submit();
  });
  drawn = std::move(shown);
  ++frames_drawn;
  for (const PixelRect& rect : changed) {
    pixels_drawn += static_cast<std::uint64_t>(rect.right - rect.left) * static_cast<std::uint64_t>(rect.bottom - rect.top);
  }
}

void Ui::Impl::end_walk() {
  if (keyboard.end_frame(*theme)) want_frames(kSettlingFrames, "the keyboard moves to a control");
}

void Ui::drop_frame() {
  impl_->end_walk();
  impl_->layer.drop_frame();
  if (const std::string pasted = impl_->layer.take_pasted(); !pasted.empty()) ensure_glyphs(pasted);
}

std::uint64_t Ui::frames_drawn() const { return impl_->frames_drawn; }
std::uint64_t Ui::pixels_drawn() const { return impl_->pixels_drawn; }
void Ui::redraw_all() { impl_->drawn.reset(); }

void Ui::paint_ground(const chart::Rect& rect, Color color) {
  const auto pixels = [&](glm::vec2 units) {
    return glm::ivec2(glm::clamp(glm::round(units * impl_->scale), glm::vec2(0.0F), glm::vec2(impl_->canvas->size())));
  };
  const glm::ivec2 low = pixels(rect.origin), size = pixels(rect.end()) - low;
  if (size.x > 0 && size.y > 0)
    impl_->grounds.push_back({.origin = low, .size = glm::uvec2(size), .color = channels(color)});
}

FrameTiles Ui::Impl::tiles() {
  FrameHash everywhere;
  everywhere.add(theme->background);
  everywhere.add(font_uploads);
  FrameTiles tiles(canvas->size(), everywhere.value());
  for (const Ground& ground : grounds) {
    FrameHash hash;
    hash.add(ground);
    const glm::ivec2 end = ground.origin + glm::ivec2(ground.size);
    tiles.add({.left = ground.origin.x, .top = ground.origin.y, .right = end.x, .bottom = end.y}, hash.value());
  }
  layer.add_to(tiles);
  return tiles;
}

void Ui::wait_until_drawn() {
  impl_->handles.guarded([&] { impl_->canvas->wait(); });
}

PixelImage Ui::read_pixels() {
  if (std::exchange(impl_->is_undrawn, false)) impl_->draw();
  return impl_->handles.guarded([&] { return impl_->canvas->read(); });
}

glm::vec2 Ui::size() const { return to_glm(ImGui::GetIO().DisplaySize); }
float Ui::scale() const { return impl_->scale; }

double Ui::redraw_after_s() const {
  const Impl& self = *impl_;
  if (!self.queue.is_empty() || self.frames_wanted > 0 || self.has_new_glyphs || self.layer.is_animating()) return 0.0;
  if (self.theme != &theme_of(self.wanted_theme)) return 0.0;
  if (self.held_buttons > 0) return kHeldMousePeriod_s;
  if (self.is_tooltip_awaited) return std::max(kTooltipRest_s - self.pointer_rest_s, 0.02);
  if (ImGui::GetIO().WantTextInput && ImGui::GetIO().ConfigInputTextCursorBlink) return kCaretPeriod_s;
  return std::numeric_limits<double>::infinity();
}

void Ui::Impl::want_frames(int count, const char* by, int line) {
  if (count <= frames_wanted) return;
  frames_wanted = count;
  frames_wanted_by = by;
  frames_wanted_line = line;
}

void Ui::request_redraw(int frames, const char* file, int line) { impl_->want_frames(frames, file, line); }

std::string Ui::redraw_reason() const {
  const Impl& self = *impl_;
  if (!self.queue.is_empty()) return "input";
  if (self.has_new_glyphs) return "new glyphs";
  if (self.layer.is_animating()) return "a dialog's background fades";
  if (self.theme != &theme_of(self.wanted_theme)) return "another theme";
  if (self.frames_wanted == 0) return "nothing";
  if (self.frames_wanted_line == 0) return self.frames_wanted_by;
  return fmt::format("{}:{}", utf8(std::filesystem::path(self.frames_wanted_by).filename()), self.frames_wanted_line);
}

bool Ui::wants_tooltip() {
  Impl& self = *impl_;
  if (self.held_buttons > 0 || self.was_typed) return false;
  const bool has_rested = self.pointer_rest_s >= kTooltipRest_s;
  (has_rested ? self.is_tooltip_shown : self.is_tooltip_awaited) = true;
  // Dear ImGui measures a tooltip in its first frame and shows it in the next.
  if (has_rested && !self.was_tooltip_shown) self.want_frames(kSettlingFrames, "a tooltip");
  return has_rested;
}

void Ui::give_keys(bool are_given) { impl_->gives_keys = are_given; }

bool Ui::is_pressed(Key key, Modifiers modifiers) const {
  if (!impl_->gives_keys) return false;
  const bool is_list_key = key == Key::Up || key == Key::Down || key == Key::PageUp || key == Key::PageDown;
  const bool passes = (key == Key::Escape && impl_->passes_escape) || (is_list_key && impl_->passes_list_keys);
  if (is_typing() && !passes && is_editing_key(key, modifiers)) return false;
  return std::any_of(impl_->pressed.begin(), impl_->pressed.end(),
                     [&](const KeyPress& press) { return press.key == key && press.modifiers == modifiers; });
}

std::string_view Ui::typed() const { return is_typing() ? std::string_view() : impl_->typed; }

void Ui::drop_typed_keys() {
  std::erase_if(impl_->pressed, [](const KeyPress& press) { return types_character(press); });
}

bool Ui::take_key(Key key) {
  if (is_typing()) return false;
  return std::erase_if(impl_->pressed, [&](const KeyPress& press) { return press.key == key && !press.modifiers.control; }) >
         0;
}

void Ui::skip_text_of_key() { impl_->queue.drop_text(); }

std::optional<std::size_t> Ui::take_cut() { return std::exchange(impl_->cut_at, std::nullopt); }

void Ui::leave_text_field() { impl_->leaves_text_field = true; }

bool Ui::is_typing() const { return ImGui::GetIO().WantTextInput; }
Modifiers Ui::modifiers() const { return impl_->modifiers; }
KeyboardFocus& Ui::keyboard() { return impl_->keyboard; }
const KeyboardFocus& Ui::keyboard() const { return impl_->keyboard; }

const FontSet& Ui::fonts() const { return impl_->atlas.fonts(); }

void Ui::ensure_glyphs(std::string_view utf8) {
  if (impl_->atlas.add(utf8)) impl_->has_new_glyphs = true;
}

std::string Ui::shaped(std::string_view utf8) {
  const std::size_t known = impl_->atlas.shaped().texts().size();
  std::string text = impl_->atlas.shaped().replace(utf8);
  if (impl_->atlas.shaped().texts().size() != known) impl_->has_new_glyphs = true;
  return text;
}

std::string Ui::unshaped(std::string_view utf8) const { return impl_->atlas.shaped().restore(utf8); }

NarrowText Ui::narrowed(std::string_view utf8) {
  return {utf8, [this](std::string_view character) {
            std::string replacement = shaped(character);
            return replacement != character ? replacement : std::string("\xEF\xBF\xBD");
          }};
}

std::string Ui::missing_fonts(std::string_view utf8) {
  std::vector<std::uint32_t> missing;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::uint32_t code = next_code_point(utf8, at);
    const bool is_drawn = code < 0x250 || code == 0xFFFD ||
                          (code >= 0x200B && code <= 0x200F) ||  // the interface's, or unseen
                          (code >= 0xE000 && code <= 0xF8FF) || (code >= 0xFE00 && code <= 0xFE0F);
    if (is_drawn || impl_->atlas.files().has(code) || std::ranges::find(missing, code) != missing.end()) continue;
    missing.push_back(code);
  }
  return missing.empty() ? std::string() : chart::missing_font_text(missing);
}

const Theme& Ui::theme() const { return *impl_->theme; }
void Ui::set_theme(ThemeKind kind) { impl_->wanted_theme = kind; }
HeatmapRenderer& Ui::heatmaps() { return impl_->heatmaps; }
void Ui::set_clipboard(Clipboard clipboard) { impl_->layer.set_clipboard(std::move(clipboard)); }
MousePointer Ui::pointer() const { return impl_->layer.pointer(); }

}  // namespace headlight::shell
