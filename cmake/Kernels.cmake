# headlight_kernel(TARGET SHADER [DEFINES…]): compiles shaders/SHADER.comp with these defines into the target, as one module of the
# table that headlight_kernel_table(TARGET FILE) writes. What specialization constants can say needs no module of its own.
function(headlight_kernel target shader)
  set(module ${shader})
  set(defines)
  foreach(define IN LISTS ARGN)
    string(REGEX REPLACE "=.*" "" word ${define})
    string(TOLOWER ${word} word)
    string(APPEND module "_${word}")
    string(APPEND defines "\"${define}\", ")
  endforeach()
  headlight_compile_shader(${target} ${shader}.comp ${module} ${ARGN})
  string(APPEND words "const std::uint32_t k_${module}_words[] = {\n#include \"${module}.spv.inc\"\n};\n")
  string(APPEND words "const std::array<std::string_view, [[COUNT]]> k_${module}_defines{${defines}};\n")
  list(LENGTH ARGN count)
  string(REPLACE "[[COUNT]]" "${count}" words "${words}")
  set_property(TARGET ${target} APPEND_STRING PROPERTY KERNEL_WORDS "${words}")
  set_property(TARGET ${target} APPEND_STRING PROPERTY KERNEL_ROWS
    "    KernelModule{\"${shader}\", \"${shader}.comp\", k_${module}_defines, k_${module}_words},\n")
endfunction()

function(headlight_kernel_table target file)
  get_target_property(words ${target} KERNEL_WORDS)
  get_target_property(rows ${target} KERNEL_ROWS)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
"// Made by cmake/Kernels.cmake from src/ops/CMakeLists.txt.
#include \"ops/kernel_variant.h\"

#include <array>
#include <cstdint>

namespace headlight::ops {
namespace {

@words@
const std::array kModules{
@rows@};

}  // namespace

std::span<const KernelModule> kernel_modules() { return kModules; }

}  // namespace headlight::ops
")
  target_sources(${target} PRIVATE ${file})
  target_include_directories(${target} PRIVATE ${HEADLIGHT_SHADER_OUT})
endfunction()

# headlight_embed_shaders(TARGET FILE PATHS…): writes FILE with the text of these files of shaders/, for kernels that are compiled at run time.
function(headlight_embed_shaders target file)
  set(rows)
  foreach(path IN LISTS ARGN)
    file(READ ${HEADLIGHT_SHADER_DIR}/${path} text)
    string(APPEND rows "    ShaderText{\"${path}\", R\"GLSL(${text})GLSL\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HEADLIGHT_SHADER_DIR}/${path})
  endforeach()
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
"// Made by cmake/Kernels.cmake from src/ops/CMakeLists.txt.
#include \"ops/kernel_variant.h\"

#include <array>

namespace headlight::ops {
namespace {

constexpr std::array kTexts{
@rows@};

}  // namespace

std::span<const ShaderText> shader_texts() { return kTexts; }

}  // namespace headlight::ops
")
  target_sources(${target} PRIVATE ${file})
endfunction()
