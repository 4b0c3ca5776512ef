#pragma once

#include "app/shell/input.h"
#include "imgui.h"

namespace headlight::shell {

/// Tells ImGui which of our keys are its own (1.86 has a table; from 1.87 on the names travel with the events).
void map_keys(ImGuiIO& io);

/// Presses or releases a key in ImGui's eyes.
void set_key(ImGuiIO& io, Key key, bool is_down);
void release_all_keys(ImGuiIO& io);
void set_modifiers(ImGuiIO& io, const Modifiers& modifiers);

}  // namespace headlight::shell
