#include "app/state/version.h"

namespace headlight::app {

std::string program_version() {
  return kCommit.empty() ? HEADLIGHT_VERSION : HEADLIGHT_VERSION " (" + std::string(kCommit) + ")";
}

}  // namespace headlight::app
