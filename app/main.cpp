#include <cstdlib>

#include "app/cli/command_line.h"
#include "app/models/starter_view.h"
#include "core/utf8.h"
#include "platform/process.h"

int main(int argc, char** argv) {
  // An installation that carries fonts, for systems without any, says so by this file (cmake/Install.cmake).
  const std::filesystem::path fonts = headlight::app::shared_folder() / "fonts" / "fonts.conf";
  std::error_code failure;
  if (std::filesystem::exists(fonts, failure) && std::getenv("FONTCONFIG_FILE") == nullptr) {
    headlight::platform::set_variable("FONTCONFIG_FILE", headlight::utf8(fonts));
  }
  return headlight::app::run_command_line(argc, argv);
}
