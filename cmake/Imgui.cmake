# PkgConfig::imgui (Dear ImGui with its backend for Vulkan) and PkgConfig::stb (stb_image, stb_image_write): as Debian packages them, or,
# where a system has no such packages, from their sources: -DHEADLIGHT_IMGUI_SOURCES=FOLDER, a folder as upstream releases it, and
# stb's two headers wherever CMake finds them.
pkg_check_modules(stb IMPORTED_TARGET stb)
if(NOT TARGET PkgConfig::stb)
  find_path(HEADLIGHT_STB_HEADERS stb_image.h PATH_SUFFIXES stb REQUIRED)
  file(WRITE ${CMAKE_BINARY_DIR}/stb.cpp
    "#define STB_IMAGE_IMPLEMENTATION\n#include <stb_image.h>\n#define STB_IMAGE_WRITE_IMPLEMENTATION\n#include <stb_image_write.h>\n")
  add_library(headlight_stb STATIC ${CMAKE_BINARY_DIR}/stb.cpp)
  target_include_directories(headlight_stb SYSTEM PUBLIC ${HEADLIGHT_STB_HEADERS})
  add_library(PkgConfig::stb ALIAS headlight_stb)
endif()

set(HEADLIGHT_IMGUI_SOURCES "" CACHE PATH "Folder of Dear ImGui's sources, for systems without a package of it")
if(HEADLIGHT_IMGUI_SOURCES)
  find_package(Freetype REQUIRED)
  file(GLOB sources ${HEADLIGHT_IMGUI_SOURCES}/imgui*.cpp)
  list(FILTER sources EXCLUDE REGEX "imgui_demo")
  add_library(headlight_imgui STATIC ${sources} ${HEADLIGHT_IMGUI_SOURCES}/backends/imgui_impl_vulkan.cpp
    ${HEADLIGHT_IMGUI_SOURCES}/misc/freetype/imgui_freetype.cpp)
  target_include_directories(headlight_imgui SYSTEM PUBLIC ${HEADLIGHT_IMGUI_SOURCES} ${HEADLIGHT_IMGUI_SOURCES}/misc/freetype)
  target_compile_definitions(headlight_imgui PUBLIC IMGUI_ENABLE_FREETYPE)
  target_link_libraries(headlight_imgui PUBLIC Freetype::Freetype Vulkan::Vulkan)
  add_library(PkgConfig::imgui ALIAS headlight_imgui)
else()
  pkg_check_modules(imgui IMPORTED_TARGET imgui)
  if(NOT imgui_FOUND)
    message(FATAL_ERROR "There is no package of Dear ImGui (imgui.pc) here: unpack its sources and name their folder with -DHEADLIGHT_IMGUI_SOURCES=FOLDER")
  endif()
endif()
