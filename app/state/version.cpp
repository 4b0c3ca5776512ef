#include "app/state/version.h"

#include "platform/folders.h"

namespace headlight::app {

std::string program_version() {
  return kCommit.empty() ? HEADLIGHT_VERSION : HEADLIGHT_VERSION " (" + std::string(kCommit) + ")";
}

std::filesystem::path headlight_program() {
  const std::filesystem::path self = platform::program_file();
  const std::filesystem::path beside = self.parent_path() / "headlight";
  std::error_code failure;
  return std::filesystem::exists(beside, failure) ? beside : self;
}

}  // namespace headlight::app
