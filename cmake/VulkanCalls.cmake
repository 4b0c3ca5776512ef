# headlight_vulkan_calls(TARGET) – gives the target a definition of every function of Vulkan 1.0, of surfaces and of swapchains that looks
# it up in the loader's library at its first call (gpu/instance.h). Dear ImGui's archive calls them by name; so the program starts
# where there is no libvulkan.so.1, and says what to install.
function(headlight_vulkan_calls target)
  file(READ ${Vulkan_INCLUDE_DIR}/vulkan/vulkan_core.h header)
  set(source "// Made by cmake/VulkanCalls.cmake.\n#include <vulkan/vulkan_core.h>\n\n#include \"gpu/instance.h\"\n")
  # Sections of the header, and the one that follows.
  foreach(section VK_VERSION_1_0:VK_VERSION_1_1 VK_KHR_surface:VK_KHR_swapchain VK_KHR_swapchain:VK_KHR_display)
    string(REGEX MATCH "(.*):(.*)" _ ${section})
    string(FIND "${header}" "#define ${CMAKE_MATCH_1} 1" begin)
    string(FIND "${header}" "#define ${CMAKE_MATCH_2} 1" end)
    math(EXPR length "${end} - ${begin}")
    string(SUBSTRING "${header}" ${begin} ${length} rest)
    string(REGEX MATCHALL "VKAPI_ATTR [^;]+" prototypes "${rest}")
    foreach(prototype IN LISTS prototypes)
      string(REGEX MATCH "VKAPI_CALL (vk[A-Za-z0-9]+)\\(([^)]*)\\)" _ "${prototype}")
      set(name ${CMAKE_MATCH_1})
      # "const float blendConstants[4], VkBool32 waitAll" becomes "blendConstants, waitAll".
      string(REGEX REPLACE "\\[[^]]*\\]" "" arguments "${CMAKE_MATCH_2}")
      string(REGEX REPLACE "[^,]*[ *]([A-Za-z0-9_]+)(,|$)" "\\1\\2 " arguments "${arguments}")
      string(STRIP "${arguments}" arguments)
      string(APPEND source "\n${prototype} {\n"
        "  static const auto kFunction = reinterpret_cast<PFN_${name}>(headlight::gpu::vulkan_function(\"${name}\"));\n"
        "  return kFunction(${arguments});\n}\n")
    endforeach()
  endforeach()
  set(path "${CMAKE_CURRENT_BINARY_DIR}/vulkan_calls.cpp")
  file(GENERATE OUTPUT "${path}" CONTENT "${source}")
  target_sources(${target} PRIVATE "${path}")
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
