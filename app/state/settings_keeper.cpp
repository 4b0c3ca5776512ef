#include "app/state/settings_keeper.h"

#include <limits>
#include <utility>

#include "core/error.h"

namespace headlight::app {
namespace {

constexpr double kQuiet_s = 2.0;  // without further changes before the file is written

}  // namespace

SettingsKeeper::SettingsKeeper(std::filesystem::path path, Settings saved)
    : path_(std::move(path)), saved_(std::move(saved)), seen_(saved_) {}

double SettingsKeeper::keep(const Settings& settings, double now_s) {
  if (path_.empty()) return std::numeric_limits<double>::infinity();
  if (settings != seen_) {
    seen_ = settings;
    changed_at_s_ = now_s;
  }
  if (seen_ == saved_) return std::numeric_limits<double>::infinity();
  const double left_s = changed_at_s_ + kQuiet_s - now_s;
  if (left_s > 0.0) return left_s;
  save(settings);  // a failure is reported when the window closes, after another attempt
  saved_ = settings;
  return std::numeric_limits<double>::infinity();
}

std::optional<std::string> SettingsKeeper::save(const Settings& settings) {
  if (path_.empty()) return std::nullopt;
  try {
    save_settings(path_, settings);
    saved_ = seen_ = settings;
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace headlight::app
