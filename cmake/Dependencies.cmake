# Every package that Headlight builds on. CMake configs where the project ships one, pkg-config otherwise, so that
# distributions other than Debian work too.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(oniguruma REQUIRED IMPORTED_TARGET oniguruma)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)
# Its newer headers have functions that call Abseil's, which its .pc file doesn't name.
find_file(sentencepiece_header sentencepiece_processor.h HINTS ${sentencepiece_INCLUDE_DIRS} REQUIRED)
file(STRINGS ${sentencepiece_header} includes_abseil REGEX "#include [\"<]absl/" LIMIT_COUNT 1)
if(includes_abseil)
  find_package(absl REQUIRED)
  target_link_libraries(PkgConfig::sentencepiece INTERFACE absl::status absl::strings)
endif()
if(WIN32)  # cmake/Windows.cmake builds no more than these are for
  return()
endif()

find_package(Vulkan REQUIRED)
find_package(glfw3 3.3 REQUIRED)
find_package(glm REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(CLI11 REQUIRED)
# `headlight survey` as ranks of several processes; without MPI it runs as one.
option(HEADLIGHT_MPI "Let `headlight survey` run as ranks of MPI, where that is installed" ON)
if(HEADLIGHT_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # functions of C are called
  find_package(MPI QUIET COMPONENTS CXX)
endif()

pkg_check_modules(fontconfig REQUIRED IMPORTED_TARGET fontconfig)
pkg_check_modules(spirv_cross REQUIRED IMPORTED_TARGET spirv-cross-c-shared)
pkg_check_modules(pangocairo REQUIRED IMPORTED_TARGET pangocairo cairo cairo-pdf cairo-png cairo-svg)
include(Shaderc)
include(Imgui)
