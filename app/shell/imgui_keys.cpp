#include "app/shell/imgui_keys.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace headlight::shell {
namespace {

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

}  // namespace

#if IMGUI_VERSION_NUM >= 18700

void map_keys(ImGuiIO&) {}

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

}  // namespace headlight::shell
