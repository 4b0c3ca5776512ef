#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace headlight::platform {

/// A variable of the environment as a path; none where it isn't set or empty.
std::optional<std::filesystem::path> path_variable(const char* name);

/// The user's own folder, "~"; empty where the system names none.
std::filesystem::path home_folder();

enum class UserFolder : std::uint8_t { Settings, Cache, State };
/// Returns the folder of the user's where programs keep such files, each in a folder of its own. Empty: `trouble` says
/// which variable isn't set.
std::filesystem::path user_folder(UserFolder which, std::string& trouble);

/// Returns the path where programs of this user meet until all of them end; make_private_folder() makes it.
std::filesystem::path meeting_folder();
/// Makes a folder that only this user has access to, or takes one that is there and is so. `error` is permission_denied
/// where it isn't a folder of this user's that is closed to others.
void make_private_folder(const std::filesystem::path& folder, std::error_code& error);

/// The file that this program was started from; empty where the system doesn't say.
std::filesystem::path program_file();

}  // namespace headlight::platform
