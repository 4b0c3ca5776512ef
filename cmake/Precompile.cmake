# headlight_precompile(TARGET [json] [vulkan] [HEADER…]) – parses the standard library's headers, {fmt}, where named
# nlohmann's JSON and Vulkan-Hpp, and the project's own HEADERs (app/frame.h) once for the whole target instead of once
# per file. An own header belongs here when most of the target's sources include it: when it changes, all of them are compiled
# again. Sources still include what they use: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as the tidy preset has it, builds without.
function(headlight_precompile target)
  set(headers
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory>
    <mutex> <numeric> <optional> <random> <set> <span> <string> <string_view> <thread> <utility> <variant> <vector>
    <fmt/format.h> <fmt/ranges.h>)
  if(json IN_LIST ARGN)
    list(APPEND headers <nlohmann/json.hpp>)
  endif()
  if(vulkan IN_LIST ARGN)
    target_compile_definitions(${target} PRIVATE VULKAN_HPP_NO_CONSTRUCTORS)  # designated initialisers
    list(APPEND headers <vulkan/vulkan_raii.hpp>)
  endif()
  foreach(header IN LISTS ARGN)
    if(header MATCHES "\\.h$")
      list(APPEND headers "${CMAKE_SOURCE_DIR}/${header}")
    endif()
  endforeach()
  if(CMAKE_UNITY_BUILD AND NOT ARGN MATCHES "\\.h(;|$)")
    return()  # so few compilations that each reads the headers sooner than all of them are precompiled
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()
