#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace headlight::platform {

/// From now on a fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE, or abort() as of an exception that nothing catches) writes `file`:
/// what note_for_crash() said last, and the stack of the thread. Then the program ends as it would have. Nothing is sent
/// anywhere. To be called once, before anything else handles these signals.
void keep_crash_reports(const std::filesystem::path& file);

/// Sets the lines about the program in a report; they replace those set before, and are cut at 8 KiB. Called by one
/// thread at a time.
void note_for_crash(std::string_view lines);

/// The report that an earlier start has left, which is named crash-before.txt from now on. Nullopt:
/// there is none. Never throws.
std::optional<std::filesystem::path> take_crash_report(const std::filesystem::path& file) noexcept;

}  // namespace headlight::platform
