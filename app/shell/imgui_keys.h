#pragma once

#include "app/shell/input.h"
#include "imgui.h"

namespace headlight::shell {

/// Maps our keys to ImGui's (1.86 has a table; from 1.87 on events have the keys' names).
void map_keys(ImGuiIO& io);

/// Presses or releases a key for ImGui.
void set_key(ImGuiIO& io, Key key, bool is_down);
void release_all_keys(ImGuiIO& io);
void set_modifiers(ImGuiIO& io, const Modifiers& modifiers);

}  // namespace headlight::shell
