#include <cstdlib>

#include "app/cli/command_line.h"
#include "app/models/starter_view.h"

int main(int argc, char** argv) {
  // An installation that carries fonts, for systems without any, says so by this file (cmake/Install.cmake).
  const std::filesystem::path fonts = headlight::app::shared_folder() / "fonts" / "fonts.conf";
  std::error_code failure;
  if (std::filesystem::exists(fonts, failure)) ::setenv("FONTCONFIG_FILE", fonts.c_str(), 0);
  return headlight::app::run_command_line(argc, argv);
}
