#pragma once

#include "app/state/quiet_change.h"
#include "app/state/settings.h"

namespace headlight::app {

/// Saves the settings shortly after they change, so that a crash loses only seconds.
class SettingsKeeper {
 public:
  /// An empty path saves nothing. `saved`: the file's current settings.
  SettingsKeeper(std::filesystem::path path, Settings saved);

  /// Checks for a change. Returns the seconds after which it must be called again without input; infinity when all is saved.
  double keep(const Settings& settings, double now_s);
  /// Saves unsaved changes immediately. Never throws: returns the error in one line.
  std::optional<std::string> save(const Settings& settings);

 private:
  std::filesystem::path path_;
  QuietChange<Settings> change_;
};

}  // namespace headlight::app
