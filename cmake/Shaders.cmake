# headlight_compile_shader(TARGET SOURCE NAME [DEFINES…])
# Compiles shaders/SOURCE with glslc into <binary dir>/shaders/NAME.spv.inc, a list of 32-bit words to #include in an
# initialiser, and rebuilds it when the shader or anything it includes changes. One source gives several kernels by DEFINES.
find_program(GLSLC glslc REQUIRED)
set(HEADLIGHT_SHADER_DIR ${CMAKE_SOURCE_DIR}/shaders)
set(HEADLIGHT_SHADER_OUT ${CMAKE_BINARY_DIR}/shaders)
file(MAKE_DIRECTORY ${HEADLIGHT_SHADER_OUT})

# GL_KHR_cooperative_matrix: glslc of Debian 13 knows it, that of Debian 12 doesn't. Without it only the kernel that asks devices
# for it is missing.
if(NOT DEFINED HEADLIGHT_GLSLC_KNOWS_MATRICES)
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/matrices.comp)
  file(WRITE ${probe} "#version 450\n#extension GL_KHR_cooperative_matrix : require\nvoid main() {}\n")
  execute_process(COMMAND ${GLSLC} --target-env=vulkan1.1 -o ${probe}.spv ${probe} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(knows TRUE)
  else()
    set(knows FALSE)
  endif()
  set(HEADLIGHT_GLSLC_KNOWS_MATRICES ${knows} CACHE INTERNAL "does glslc compile GL_KHR_cooperative_matrix?")
  message(STATUS "glslc compiles cooperative matrices: ${knows}")
endif()

function(headlight_compile_shader target source name)
  set(output ${HEADLIGHT_SHADER_OUT}/${name}.spv.inc)
  set(defines)
  foreach(define IN LISTS ARGN)
    list(APPEND defines -D${define})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${GLSLC} --target-env=vulkan1.1 -O -Werror -mfmt=num -I ${HEADLIGHT_SHADER_DIR} ${defines}
            -MD -MF ${output}.d -MT ${output} -o ${output} ${HEADLIGHT_SHADER_DIR}/${source}
    MAIN_DEPENDENCY ${HEADLIGHT_SHADER_DIR}/${source}
    DEPFILE ${output}.d
    COMMENT "glslc ${name}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
