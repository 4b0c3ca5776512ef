#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headlight::platform {

std::uint32_t process_id();
/// Returns the number of the user whose rights this process has.
std::uint32_t user_id();
/// The computer's name in its network; empty where the system doesn't say.
std::string host_name();
/// Returns the system's description of itself, as lines KEY=value (os-release, freedesktop.org); empty where it has
/// none.
std::string system_release();
/// The language of the user's choice, as "de_DE.UTF-8"; empty: none.
std::string user_language();
/// Sets a variable of this process and of those that it starts. Not while another thread may read variables.
void set_variable(const char* name, const std::string& value);

/// A program that this one started.
struct Child {
  std::intptr_t id = 0;
};
/// Starts a program of PATH, without output. It reads the file `input`, or nothing where that is empty. None: there is no
/// such program.
std::optional<Child> start_program(const std::vector<std::string>& command, const std::filesystem::path& input = {});
/// Waits until it has ended. Its exit status; −1 where a signal ended it.
int wait_for(Child child);

/// Shows a folder in the desktop's file manager. Returns why not, in one line; empty: it is shown.
std::string show_folder(const std::filesystem::path& folder);
/// Puts a PNG on the clipboard, where it stays after this program has ended; waits until the file is read. Returns why not,
/// and what to install, in one line; empty: it is there.
std::string copy_image(const std::filesystem::path& png);

}  // namespace headlight::platform
