# Compiles through ccache when it is installed, regardless of the environment. -DCMAKE_CXX_COMPILER_LAUNCHER= switches it off.
find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
