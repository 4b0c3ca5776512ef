#include "app/shell/imgui_layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include <backends/imgui_impl_vulkan.h>

#include "app/shell/imgui_vectors.h"
#include "app/shell/shaped_text.h"
#include "core/error.h"
#include "imgui_internal.h"

namespace headlight::shell {
namespace {

// Four vertices that ImDrawList::PrimRectUV wrote: clockwise from the top left, with a patch of the atlas that has an area.
// Solid rectangles have one texel for all corners, antialiased lines a row of texels.
bool is_glyph(const ImDrawVert* v) {
  return v[0].pos.y == v[1].pos.y && v[1].pos.x == v[2].pos.x && v[2].pos.y == v[3].pos.y && v[3].pos.x == v[0].pos.x &&
         v[0].uv.y == v[1].uv.y && v[1].uv.x == v[2].uv.x && v[2].uv.y == v[3].uv.y && v[3].uv.x == v[0].uv.x &&
         v[0].uv.x != v[2].uv.x && v[0].uv.y != v[2].uv.y && v[0].col == v[2].col;
}

void snap(ImDrawVert* v) {
  const float dx = std::round(v[0].pos.x) - v[0].pos.x;
  const float dy = std::round(v[0].pos.y) - v[0].pos.y;
  for (int corner = 0; corner < 4; ++corner) {
    v[corner].pos.x += dx;
    v[corner].pos.y += dy;
  }
}

void scale_vertices(ImVector<ImDrawVert>& vertices, float scale) {
  int i = 0;
  while (i < vertices.Size) {
    const bool glyph = i + 4 <= vertices.Size && is_glyph(&vertices[i]);
    const int count = glyph ? 4 : 1;
    for (int k = i; k < i + count; ++k) {
      vertices[k].pos.x *= scale;
      vertices[k].pos.y *= scale;
    }
    if (glyph) snap(&vertices[i]);
    i += count;
  }
}

/// Converts a frame that was laid out in UI units to pixels: multiplies vertices and clip rectangles by the scale and moves
/// every upright glyph to whole pixels, where its bitmap (rasterised for this scale) is copied texel by texel. So text is as
/// sharp at 1.25 or 1.5 as at 1 or 2.
void to_pixels(ImDrawData& data, float scale) {
  for (int i = 0; i < data.CmdListsCount; ++i) scale_vertices(data.CmdLists[i]->VtxBuffer, scale);
  data.ScaleClipRects({scale, scale});
  data.DisplaySize.x = std::round(data.DisplaySize.x * scale);
  data.DisplaySize.y = std::round(data.DisplaySize.y * scale);
  data.FramebufferScale = {1.0F, 1.0F};
}

constexpr std::array kImGuiKeys{std::pair{Key::Tab, ImGuiKey_Tab},
                                std::pair{Key::Left, ImGuiKey_LeftArrow},
                                std::pair{Key::Right, ImGuiKey_RightArrow},
                                std::pair{Key::Up, ImGuiKey_UpArrow},
                                std::pair{Key::Down, ImGuiKey_DownArrow},
                                std::pair{Key::PageUp, ImGuiKey_PageUp},
                                std::pair{Key::PageDown, ImGuiKey_PageDown},
                                std::pair{Key::Home, ImGuiKey_Home},
                                std::pair{Key::End, ImGuiKey_End},
                                std::pair{Key::Insert, ImGuiKey_Insert},
                                std::pair{Key::Delete, ImGuiKey_Delete},
                                std::pair{Key::Backspace, ImGuiKey_Backspace},
                                std::pair{Key::Space, ImGuiKey_Space},
                                std::pair{Key::Enter, ImGuiKey_Enter},
                                std::pair{Key::Escape, ImGuiKey_Escape},
                                std::pair{Key::A, ImGuiKey_A},
                                std::pair{Key::C, ImGuiKey_C},
                                std::pair{Key::V, ImGuiKey_V},
                                std::pair{Key::X, ImGuiKey_X},
                                std::pair{Key::Y, ImGuiKey_Y},
                                std::pair{Key::Z, ImGuiKey_Z}};

#if IMGUI_VERSION_NUM >= 18700

/// Maps our keys to ImGui's (1.86 has a table; from 1.87 on events have the keys' names).
void map_keys(ImGuiIO&) {}

/// Presses or releases a key for ImGui.
void set_key(ImGuiIO& io, Key key, bool is_down) {
  const auto found = std::find_if(kImGuiKeys.begin(), kImGuiKeys.end(), [&](const auto& pair) { return pair.first == key; });
  if (found != kImGuiKeys.end()) io.AddKeyEvent(found->second, is_down);
}

void release_all_keys(ImGuiIO& io) {
  for (const auto& [key, name] : kImGuiKeys) io.AddKeyEvent(name, false);
}

void set_modifiers(ImGuiIO& io, const Modifiers& modifiers) {
#if IMGUI_VERSION_NUM >= 18900
  io.AddKeyEvent(ImGuiMod_Ctrl, modifiers.control);
  io.AddKeyEvent(ImGuiMod_Shift, modifiers.shift);
  io.AddKeyEvent(ImGuiMod_Alt, modifiers.alt);
  io.AddKeyEvent(ImGuiMod_Super, modifiers.super);
#else
  io.AddKeyEvent(ImGuiKey_ModCtrl, modifiers.control);
  io.AddKeyEvent(ImGuiKey_ModShift, modifiers.shift);
  io.AddKeyEvent(ImGuiKey_ModAlt, modifiers.alt);
  io.AddKeyEvent(ImGuiKey_ModSuper, modifiers.super);
#endif
}

#else

void map_keys(ImGuiIO& io) {
  for (const auto& [key, name] : kImGuiKeys) io.KeyMap[name] = static_cast<int>(key);
}

void set_key(ImGuiIO& io, Key key, bool is_down) { io.KeysDown[static_cast<std::size_t>(key)] = is_down; }

void release_all_keys(ImGuiIO& io) { std::fill(std::begin(io.KeysDown), std::end(io.KeysDown), false); }

void set_modifiers(ImGuiIO& io, const Modifiers& modifiers) {
  io.KeyCtrl = modifiers.control;
  io.KeyShift = modifiers.shift;
  io.KeyAlt = modifiers.alt;
  io.KeySuper = modifiers.super;
}

#endif

constexpr float kNowhere = -std::numeric_limits<float>::max();  // ImGui's value for "no mouse"

/// Throws on a failure: Dear ImGui's backend continues after an error with objects that weren't created, so this must not
/// return. The backend's objects are undefined then: see abandon_backend().
void check_result(VkResult result) {
  if (result >= 0) return;
  if (result == VK_ERROR_DEVICE_LOST) {
    throw Error(ErrorKind::DeviceLost, "drawing the window failed ({}); start again or choose another device",
                vk::to_string(vk::Result(result)));
  }
  throw Error(
      ErrorKind::OutOfDeviceMemory,
      "drawing the window failed ({}): Dear ImGui uses the first memory of a device that the host can reach; close other "
      "programs or choose another device (--renderer)",
      vk::to_string(vk::Result(result)));
}

template <typename... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overload(Cases...) -> Overload<Cases...>;

}  // namespace

ImGuiLayer::ImGuiLayer(RenderDevice::Handles& handles, vk::RenderPass render_pass)
    : handles_(handles), render_pass_(render_pass) {
  IMGUI_CHECKVERSION();
  // Dear ImGui writes to what it asks for without a look; its own function gives null where there is no memory.
  ImGui::SetAllocatorFunctions([](std::size_t bytes, void*) { return ::operator new(bytes); },
                               [](void* memory, void*) { ::operator delete(memory); });
  context_ = ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  io.BackendPlatformName = "headlight";
  io.BackendFlags |= ImGuiBackendFlags_HasMouseCursors;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  io.MousePos = {kNowhere, kNowhere};
#if IMGUI_VERSION_NUM >= 18700
  io.ConfigInputTrickleEventQueue = false;  // InputQueue has spread the events over frames already
#endif
  map_keys(io);
  io.ClipboardUserData = this;
  io.GetClipboardTextFn = &read_clipboard;
  io.SetClipboardTextFn = &write_clipboard;
}

ImGuiLayer::~ImGuiLayer() {
  stop_backend();
  ImGui::DestroyContext(context_);
}

ImFontAtlas& ImGuiLayer::font_atlas() { return *ImGui::GetIO().Fonts; }

void ImGuiLayer::start_backend() {
  constexpr std::uint32_t kTextures = 16;  // of the atlas, which has several while it grows
  const vk::DescriptorPoolSize fonts{.type = vk::DescriptorType::eCombinedImageSampler, .descriptorCount = kTextures};
  pool_ = vk::raii::DescriptorPool(
      handles_.device, vk::DescriptorPoolCreateInfo{.flags = vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet,
                                                    .maxSets = kTextures,
                                                    .poolSizeCount = 1,
                                                    .pPoolSizes = &fonts});
  ImGui_ImplVulkan_InitInfo info{};
  info.Instance = *handles_.instance;
  info.PhysicalDevice = *handles_.physical;
  info.Device = *handles_.device;
  info.QueueFamily = handles_.queue_family;
  info.Queue = *handles_.queue;
  info.DescriptorPool = *pool_;
  info.MinImageCount = 2;
  info.ImageCount = 2;
  info.MSAASamples = VK_SAMPLE_COUNT_1_BIT;
  info.CheckVkResultFn = &check_result;
  has_backend_ = true;  // from its first call on, also when it fails
#if IMGUI_VERSION_NUM >= 19030
  info.RenderPass = render_pass_;
  ImGui_ImplVulkan_Init(&info);
#else
  ImGui_ImplVulkan_Init(&info, render_pass_);
#endif
}

void ImGuiLayer::stop_backend() {
  if (!has_backend_) return;
  handles_.wait_until_idle();
  has_backend_ = false;
  if (ImGui::GetIO().BackendRendererUserData != nullptr) ImGui_ImplVulkan_Shutdown();
  pool_ = nullptr;
}

void ImGuiLayer::abandon_backend() {
  // An error while it enlarged its vertex buffers leaves a handle of the old, destroyed one, which shutting down would
  // destroy again. Its few objects are destroyed with the device.
  has_backend_ = false;
  ImGuiIO& io = ImGui::GetIO();
  io.BackendRendererUserData = nullptr;
  io.BackendRendererName = nullptr;
  io.BackendFlags &= ~ImGuiBackendFlags_RendererHasVtxOffset;
#if IMGUI_VERSION_NUM >= 19200
  io.BackendFlags &= ~ImGuiBackendFlags_RendererHasTextures;
  for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) {
    texture->BackendUserData = nullptr;
    texture->SetTexID(ImTextureID_Invalid);
    texture->SetStatus(ImTextureStatus_Destroyed);
  }
#endif
}

void ImGuiLayer::release_device() {
  if (context_->WithinFrameScope) ImGui::EndFrame();  // drawing the frame threw
  stop_backend();
  pool_ = nullptr;
}

#if IMGUI_VERSION_NUM >= 19200

/// Uploads fonts; the backend uploads glyphs as they are rasterised, for the scale of the frame.
void ImGuiLayer::upload_fonts(float /*scale*/) {
  if (!has_backend_) start_backend();
}

#else

void ImGuiLayer::upload_fonts(float scale) {
  // 1.86 can replace the atlas' image only by a restart of the backend; its pipeline is small.
  stop_backend();
  start_backend();
#if IMGUI_VERSION_NUM >= 19000
  ImGui_ImplVulkan_CreateFontsTexture();
#else
  handles_.run_once([](vk::CommandBuffer commands) { ImGui_ImplVulkan_CreateFontsTexture(commands); });
  ImGui_ImplVulkan_DestroyFontUploadObjects();
#endif
  ImGui::GetIO().Fonts->ClearTexData();
  ImGui::GetIO().FontGlobalScale = 1.0F / scale;
}

#endif

void ImGuiLayer::apply_modifiers(const Modifiers& modifiers) { set_modifiers(ImGui::GetIO(), modifiers); }

void ImGuiLayer::apply_key(const KeyPress& press) {
  apply_modifiers(press.modifiers);
  // Undo belongs to the whole application, so text fields never get its keys: their own history covers only themselves.
  const bool is_undo = press.modifiers.control && (press.key == Key::Z || press.key == Key::Y);
  if (!is_undo || !press.down) set_key(ImGui::GetIO(), press.key, press.down);
}

void ImGuiLayer::apply(const InputEvent& event, float scale) {
  ImGuiIO& io = ImGui::GetIO();
  std::visit(
      Overload{[&](const MouseMove& move) { io.MousePos = to_imgui(move.position / scale); },
               [&](const MouseLeave&) {
                 io.MousePos = {kNowhere, kNowhere};
               },
               [&](const MouseClick& click) {
                 apply_modifiers(click.modifiers);
                 io.MouseDown[static_cast<std::size_t>(click.button)] = click.down;
               },
               [&](const MouseWheel& wheel) {
                 apply_modifiers(wheel.modifiers);
                 io.MouseWheel += wheel.steps.y;
                 io.MouseWheelH += wheel.steps.x;
               },
               [&](const KeyPress& press) { apply_key(press); }, [&](const TextInput& text) { apply_text(text.utf8); },
               [&](const FocusChange& focus) {
                 if (focus.focused) return;
                 release_all_keys(io);
                 set_modifiers(io, {});
               }},
      event);
}

void ImGuiLayer::apply_text(std::string_view utf8) {
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const std::uint32_t code = next_code_point(utf8, at);
    const bool is_private = code >= ShapedTexts::first() && code <= ShapedTexts::last();
    if (is_private) typed_private_.emplace_back(utf8.substr(begin, at - begin));
    constexpr std::uint32_t kReplacement = 0xFFFD;
    ImGui::GetIO().AddInputCharacter(is_private ? kReplacement : code);
  }
}

void ImGuiLayer::begin_frame(glm::uvec2 size, float scale, double elapsed_s) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = to_imgui(glm::vec2(size) / scale);
  io.DisplayFramebufferScale = {scale, scale};
  io.DeltaTime = static_cast<float>(std::clamp(elapsed_s, 1e-4, 1.0));
  ImGui_ImplVulkan_NewFrame();
  ImGui::NewFrame();
#if IMGUI_VERSION_NUM >= 19200
  // Fonts that text is drawn with directly, without PushFont().
  for (ImFont* font : io.Fonts->Fonts) font->CurrentRasterizerDensity = scale;
#endif
}

void ImGuiLayer::end_frame(float scale) {
  ImGui::Render();
  typed_private_.clear();
  to_pixels(*ImGui::GetDrawData(), scale);
}

void ImGuiLayer::add_to(FrameTiles& tiles) {
  shapes_.read(*ImGui::GetDrawData());
  shapes_.add_to(tiles);
}

void ImGuiLayer::drop_frame() {
  ImGui::EndFrame();
  typed_private_.clear();
}

void ImGuiLayer::record(vk::CommandBuffer commands, const std::vector<PixelRect>& rects) {
  ImDrawData& data = *ImGui::GetDrawData();
  shapes_.cut(data, rects);
  try {
    ImGui_ImplVulkan_RenderDrawData(&data, commands);
  } catch (...) {
    abandon_backend();
    throw;
  }
}

void ImGuiLayer::leave_text_field() { ImGui::ClearActiveID(); }

bool ImGuiLayer::is_animating() const {
  const bool is_dimmed = ImGui::GetTopMostPopupModal() != nullptr;
  return is_dimmed ? context_->DimBgRatio < 1.0F : context_->DimBgRatio > 0.0F;
}

MousePointer ImGuiLayer::pointer() const {
  switch (ImGui::GetMouseCursor()) {
    case ImGuiMouseCursor_None:
      return MousePointer::Hidden;
    case ImGuiMouseCursor_TextInput:
      return MousePointer::Text;
    case ImGuiMouseCursor_ResizeNS:
      return MousePointer::ResizeVertical;
    case ImGuiMouseCursor_ResizeEW:
      return MousePointer::ResizeHorizontal;
    case ImGuiMouseCursor_Hand:
      return MousePointer::Hand;
    default:
      return MousePointer::Arrow;
  }
}

const char* ImGuiLayer::read_clipboard(void* user) {
  auto& self = *static_cast<ImGuiLayer*>(user);
  if (self.clipboard_.read) self.clipboard_text_ = self.clipboard_.read();
  self.given_text_ = self.paste_filter_ ? self.paste_filter_(self.clipboard_text_) : self.clipboard_text_;
  self.pasted_ = self.given_text_;
  return self.given_text_.c_str();
}

void ImGuiLayer::write_clipboard(void* user, const char* text) {
  auto& self = *static_cast<ImGuiLayer*>(user);
  self.clipboard_text_ = self.copy_filter_ ? self.copy_filter_(text) : std::string(text);
  if (self.clipboard_.write) self.clipboard_.write(self.clipboard_text_);
}

}  // namespace headlight::shell
