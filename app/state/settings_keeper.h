#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/state/settings.h"

namespace headlight::app {

/// Saves the settings a moment after they changed, so that even a crash costs seconds, not work.
class SettingsKeeper {
 public:
  /// An empty path keeps nothing. `saved`: what stands in the file.
  SettingsKeeper(std::filesystem::path path, Settings saved);

  /// Looks for a change. Returns seconds until it wants to be called again though nothing happens; infinity when all is
  /// kept.
  double keep(const Settings& settings, double now_s);
  /// Saves at once what isn't saved yet. Never throws: returns the one line that says why it couldn't.
  std::optional<std::string> save(const Settings& settings);

 private:
  std::filesystem::path path_;
  Settings saved_, seen_;
  double changed_at_s_ = 0.0;
};

}  // namespace headlight::app
