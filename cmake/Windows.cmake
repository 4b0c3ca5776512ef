# What of the tree is built for Windows: the folders whose libraries tools/windows builds, and their tests. CONTRIBUTING.md says what
# the others need.
add_compile_options(-Wa,-mbig-obj)  # sources that are compiled together have more sections than a small object file can name
add_link_options(-static)

include_directories(src)
foreach(folder platform core text model)
  add_subdirectory(src/${folder})
  headlight_unite(headlight_${folder})
endforeach()
# What tests/model compares a network with: the sources of these folders that need no device.
add_library(headlight_inference STATIC
  src/attention/layer_graph.cpp src/attention/reference.cpp src/inference/reference_run.cpp)
target_link_libraries(headlight_inference PUBLIC headlight_model PRIVATE headlight_warnings)

if(BUILD_TESTING)
  enable_testing()
  add_subdirectory(tests)
endif()
