# headlight_shaderc: libshaderc, however this system links it. Debian 12's shared library lacks the symbols of glslang and
# SPIRV-Tools that it uses, so where linking it fails the static one is linked with their archives.
include(CheckCXXSourceCompiles)
pkg_check_modules(shaderc REQUIRED IMPORTED_TARGET shaderc)

set(CMAKE_REQUIRED_LIBRARIES PkgConfig::shaderc)
check_cxx_source_compiles("
  #include <shaderc/shaderc.h>
  int main() { shaderc_compiler_release(shaderc_compiler_initialize()); }" HEADLIGHT_SHARED_SHADERC_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)

add_library(headlight_shaderc INTERFACE)
if(HEADLIGHT_SHARED_SHADERC_LINKS)
  target_link_libraries(headlight_shaderc INTERFACE PkgConfig::shaderc)
else()
  set(archives)
  find_library(SHADERC_COMBINED_LIBRARY shaderc_combined REQUIRED)
  foreach(name shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler SPIRV SPIRV-Tools-opt SPIRV-Tools)
    find_library(HEADLIGHT_${name}_ARCHIVE NAMES lib${name}.a ${name})
    if(HEADLIGHT_${name}_ARCHIVE)  # which of glslang's archives exist depends on its version
      list(APPEND archives ${HEADLIGHT_${name}_ARCHIVE})
    endif()
  endforeach()
  target_link_libraries(headlight_shaderc INTERFACE -Wl,--start-group ${archives} -Wl,--end-group Threads::Threads)
endif()
