# headlight_precompile(TARGET [json] [vulkan] [cli]) – parses the standard library's headers, {fmt}, and where named
# nlohmann's JSON, Vulkan-Hpp and CLI11 once for the whole target instead of once per file. Sources still include what they use:
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as the tidy preset has it, builds without.
function(headlight_precompile target)
  set(headers
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory>
    <mutex> <numeric> <optional> <random> <set> <span> <string> <string_view> <thread> <utility> <variant> <vector>
    <fmt/format.h> <fmt/ranges.h>)
  if(json IN_LIST ARGN)
    list(APPEND headers <nlohmann/json.hpp>)
  endif()
  if(cli IN_LIST ARGN)
    list(APPEND headers <CLI/CLI.hpp>)
  endif()
  if(vulkan IN_LIST ARGN)
    target_compile_definitions(${target} PRIVATE VULKAN_HPP_NO_CONSTRUCTORS)  # designated initialisers
    list(APPEND headers <vulkan/vulkan_raii.hpp>)
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()
