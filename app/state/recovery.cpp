#include "app/state/recovery.h"

#include <limits>
#include <random>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/state/settings.h"
#include "app/state/state_json.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kLockExtension = ".lock";
constexpr const char* kStateExtension = ".json";
constexpr std::uint32_t kVersion = 1;

/// A name that no other process takes: where two draw the same, the second one can't create its lock.
std::string random_name() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::optional<OpenWindow> read_window(const fs::path& path) {
  try {
    const json value = read_json(path);
    if (!value.is_object() || value.value("version", 0U) != kVersion || !value.contains("state")) return std::nullopt;
    Result<State> state = state_from_json(value.at("state"));
    if (!state) return std::nullopt;
    return OpenWindow{.state = std::move(state).value(), .session = value.value("session", std::string())};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Recovery::Recovery(const fs::path& folder, OpenWindow opened) : change_(std::move(opened)) {
  make_directories(folder);
  const std::string name = random_name();
  file_ = folder / (name + kStateExtension);
  lock_file_ = folder / (name + kLockExtension);
  std::error_code error;
  lock_ = platform::lock_file(lock_file_, true, error);
  if (error) throw Error("{}: {}", utf8(lock_file_), error.message());
}

double Recovery::keep(const OpenWindow& window, double now_s) {
  const double wait_s = change_.wait_s(window, now_s);
  if (wait_s > 0.0) return wait_s;
  try {
    const json value = {{"version", kVersion}, {"session", utf8(window.session)}, {"state", to_json(window.state)}};
    write_file_atomically(file_, to_text(value) + "\n");
  } catch (const Error&) {  // saving the settings meets the same disk, and its failure is reported when the window closes
  }
  change_.settle(window);
  return std::numeric_limits<double>::infinity();
}

void Recovery::discard() noexcept {
  std::error_code ignored;
  fs::remove(file_, ignored);
  fs::remove(lock_file_, ignored);
}

std::optional<OpenWindow> take_lost_window(const fs::path& folder) noexcept {
  std::optional<OpenWindow> newest;
  try {
    fs::file_time_type newest_time{};
    std::error_code ignored;
    std::vector<fs::path> locks;
    for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
      if (at->path().extension() == kLockExtension) locks.push_back(at->path());
    }
    for (const fs::path& lock : locks) {
      const platform::Descriptor held = platform::lock_file(lock, false, ignored);
      if (!held) continue;  // its window is open
      const fs::path file = fs::path(lock).replace_extension(kStateExtension);
      const fs::file_time_type time = fs::last_write_time(file, ignored);
      if (!ignored && (!newest || time > newest_time)) {
        if (std::optional<OpenWindow> window = read_window(file)) {
          newest = std::move(window);
          newest_time = time;
        }
      }
      fs::remove(file, ignored);
      fs::remove(lock, ignored);
    }
  } catch (const std::exception&) {
    return newest;
  }
  return newest;
}

fs::path recovery_folder() { return config_directory() / "recovery"; }

}  // namespace headlight::app
