#include "gpu/driver_advice.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "platform/process.h"

namespace headlight::gpu {
namespace {

/// Packages with Mesa's driver for any processor, by os-release's ID; Debian's, Fedora's and Arch's ask for the loader
/// themselves.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCommands = {{
    {"debian", "apt install mesa-vulkan-drivers"},
    {"ubuntu", "apt install mesa-vulkan-drivers"},
    {"fedora", "dnf install mesa-vulkan-drivers"},
    {"rhel", "dnf install mesa-vulkan-drivers"},
    {"arch", "pacman -S vulkan-swrast"},
    {"opensuse", "zypper install libvulkan1 libvulkan_lvp"},
    {"suse", "zypper install libvulkan1 libvulkan_lvp"},
    {"alpine", "apk add vulkan-loader mesa-vulkan-swrast"},
}};

/// The value of `key` in lines of KEY=value or KEY="value"; "" where there is none.
std::string_view value_of(std::string_view os_release, std::string_view key) {
  while (!os_release.empty()) {
    const std::size_t end = std::min(os_release.find('\n'), os_release.size());
    std::string_view line = os_release.substr(0, end);
    os_release.remove_prefix(std::min(end + 1, os_release.size()));
    if (!line.starts_with(key) || line.substr(key.size(), 1) != "=") continue;
    line.remove_prefix(key.size() + 1);
    const std::size_t first = line.find_first_not_of("\"'"), last = line.find_last_not_of("\"'\r");
    return first == std::string_view::npos ? std::string_view() : line.substr(first, last + 1 - first);
  }
  return {};
}

}  // namespace

std::string driver_advice(std::string_view os_release) {
  // ID is one word, "debian"; ID_LIKE has those that it is derived from, nearest first: "ubuntu debian".
  for (const std::string_view key : {"ID", "ID_LIKE"}) {
    std::string_view words = value_of(os_release, key);
    while (!words.empty()) {
      const std::string_view word = words.substr(0, words.find(' '));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      for (const auto& [id, command] : kCommands) {
        // openSUSE's names have an edition: "opensuse-tumbleweed".
        if (word == id || (word.starts_with(id) && word.substr(id.size(), 1) == "-")) {
          return fmt::format("install a Vulkan driver: {} (it has one for any processor)", command);
        }
      }
    }
  }
  return "install the Vulkan loader (libvulkan.so.1) and a Vulkan driver: the GPU's, or Mesa's, which has one for any "
         "processor";
}

std::string driver_advice() { return driver_advice(platform::system_release()); }

}  // namespace headlight::gpu
