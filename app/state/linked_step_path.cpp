#include "app/state/linked_step_path.h"

#include <fmt/format.h>

namespace headlight::app {
namespace {

constexpr const char* kStepsExtension = ".steps";

}  // namespace

std::filesystem::path linked_steps_folder(const std::filesystem::path& socket) {
  return std::filesystem::path(socket).replace_extension(kStepsExtension);
}

std::filesystem::path linked_step_path(const std::filesystem::path& folder, std::int64_t step, std::uint64_t serial) {
  return folder / fmt::format("step-{}.{}.safetensors", step, serial);
}

bool is_linked_step(const std::filesystem::path& file) {
  return file.parent_path().extension() == kStepsExtension && file.filename().string().starts_with("step-");
}

bool are_linked_steps(const std::filesystem::path& a, const std::filesystem::path& b) {
  return is_linked_step(a) && is_linked_step(b) && a.parent_path() == b.parent_path();
}

}  // namespace headlight::app
