#include "app/state/settings_keeper.h"

#include <limits>

#include "core/error.h"

namespace headlight::app {
SettingsKeeper::SettingsKeeper(std::filesystem::path path, Settings saved)
    : path_(std::move(path)), change_(std::move(saved)) {}

double SettingsKeeper::keep(const Settings& settings, double now_s) {
  if (path_.empty()) return std::numeric_limits<double>::infinity();
  const double wait_s = change_.wait_s(settings, now_s);
  if (wait_s > 0.0) return wait_s;
  save(settings);  // a failure is reported when the window closes, after another attempt
  change_.settle(settings);
  return std::numeric_limits<double>::infinity();
}

std::optional<std::string> SettingsKeeper::save(const Settings& settings) {
  if (path_.empty()) return std::nullopt;
  try {
    save_settings(path_, settings);
    change_.settle(settings);
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace headlight::app
