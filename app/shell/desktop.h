#pragma once

#include <filesystem>

namespace headlight::shell {

/// Shows a folder in the desktop's file manager, through xdg-open. Throws Error in one line when there is no such program.
void show_folder(const std::filesystem::path& folder);

/// Puts a PNG on the clipboard: through wl-copy under Wayland, else through xclip, which keep it there after this program
/// has ended. Throws Error in one line that names what to install when there is neither, or no display. Any thread; waits
/// until the program has read the file.
void copy_image(const std::filesystem::path& png);

}  // namespace headlight::shell
