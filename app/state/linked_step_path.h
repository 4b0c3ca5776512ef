#pragma once

#include <cstdint>
#include <filesystem>

namespace headlight::app {

/// The name of the folder in which a window keeps the steps of a live link, and of the file of a step; `serial` is another
/// for each capture, so that a step that was sent again is another file.
std::filesystem::path linked_steps_folder(const std::filesystem::path& socket);
std::filesystem::path linked_step_path(const std::filesystem::path& folder, std::int64_t step, std::uint64_t serial);
/// Is this the capture of a step of a live link? It is gone when its window closes.
bool is_linked_step(const std::filesystem::path& file);
/// Are both captures steps of the same window's link?
bool are_linked_steps(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace headlight::app
