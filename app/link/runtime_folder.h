#pragma once

#include <filesystem>

namespace headlight::app {

/// Where the sockets of open windows are: $XDG_RUNTIME_DIR/headlight, or /tmp/headlight-UID where that isn't set. Makes it
/// with mode 0700. Throws Error where it isn't a folder of this user that others have no access to.
std::filesystem::path link_folder();
/// The same checks for a folder of any name.
void make_private_folder(const std::filesystem::path& folder);

}  // namespace headlight::app
