#pragma once

#include <filesystem>

#include "app/data/link/link_server.h"
#include "core/file.h"

namespace headlight::app {

/// Is the path named as a .zip, which save_steps() writes?
bool is_steps_path(const std::filesystem::path& path);

/// Writes the captures of all steps, as they are, and their scalars into one .zip: "steps.json" and "step-100.safetensors"
/// for each step (docs/CAPTURES.md). Throws Error in one line; a file of that name stays as it was then.
void save_steps(const std::filesystem::path& file, const LinkSnapshot& steps);

/// The steps of such a file, unpacked into a private folder that goes with this object.
class SavedSteps {
 public:
  /// Throws Error in one line for everything that isn't such a file: members of other names, too many or too large ones,
  /// captures that can't be read.
  explicit SavedSteps(const std::filesystem::path& file);
  SavedSteps(const SavedSteps&) = delete;
  SavedSteps& operator=(const SavedSteps&) = delete;

  /// Returns the steps with the file's name; at least one step.
  const LinkSnapshot& snapshot() const { return snapshot_; }

 private:
  void unpack(const std::filesystem::path& file);

  PassingFolder folder_;
  LinkSnapshot snapshot_;
};

}  // namespace headlight::app
