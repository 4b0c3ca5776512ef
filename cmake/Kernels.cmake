# headlight_kernel(TARGET NAME SOURCE [DEFINES…]): compiles one compute kernel into the target and lists it in the table that
# headlight_kernel_table(TARGET FILE) writes, so that a kernel is declared in one place only.
function(headlight_kernel target name source)
  headlight_compile_shader(${target} ${source} ${name} ${ARGN})
  set(defines)
  foreach(define IN LISTS ARGN)
    string(APPEND defines "\"${define}\", ")
  endforeach()
  string(APPEND words "const std::uint32_t k_${name}_words[] = {\n#include \"${name}.spv.inc\"\n};\n")
  string(APPEND words "const std::array<std::string_view, [[COUNT]]> k_${name}_defines{${defines}};\n")
  list(LENGTH ARGN count)
  string(REPLACE "[[COUNT]]" "${count}" words "${words}")
  set_property(TARGET ${target} APPEND_STRING PROPERTY KERNEL_WORDS "${words}")
  set_property(TARGET ${target} APPEND_STRING PROPERTY KERNEL_ROWS
    "    gpu::KernelSource{\"${name}\", \"${source}\", k_${name}_defines, k_${name}_words},\n")
endfunction()

function(headlight_kernel_table target file)
  get_target_property(words ${target} KERNEL_WORDS)
  get_target_property(rows ${target} KERNEL_ROWS)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
"// Made by cmake/Kernels.cmake from src/ops/CMakeLists.txt.
#include \"ops/kernel_table.h\"

#include <array>
#include <cstdint>

namespace headlight::ops {
namespace {

@words@
const std::array kTable{
@rows@};

}  // namespace

std::span<const gpu::KernelSource> kernel_table() { return kTable; }

}  // namespace headlight::ops
")
  target_sources(${target} PRIVATE ${file})
  target_include_directories(${target} PRIVATE ${HEADLIGHT_SHADER_OUT})
endfunction()
