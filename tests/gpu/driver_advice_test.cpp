// Advice on what to install where there is no Vulkan driver, by distribution.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "gpu/driver_advice.h"

namespace driver_advice_test {

using namespace headlight;

TEST_SUITE("cpu") {
  TEST_CASE("every distribution that is known has its command, and so has what is derived from it") {
    const std::pair<const char*, const char*> expected[] = {
        {"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n",
         "apt install mesa-vulkan-drivers"},
        {"NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", "apt install mesa-vulkan-drivers"},
        {"NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "apt install mesa-vulkan-drivers"},
        {"NAME=\"Fedora Linux\"\nID=fedora\n", "dnf install mesa-vulkan-drivers"},
        {"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "dnf install mesa-vulkan-drivers"},
        {"ID=arch\n", "pacman -S vulkan-swrast"},
        {"ID=manjaro\r\nID_LIKE=arch\r\n", "pacman -S vulkan-swrast"},
        {"ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"", "zypper install libvulkan1 libvulkan_lvp"},
        {"ID='alpine'\n", "apk add vulkan-loader mesa-vulkan-swrast"},
    };
    for (const auto& [os_release, command] : expected) {
      CHECK(gpu::driver_advice(os_release) ==
            "install a Vulkan driver: " + std::string(command) + " (it has one for any processor)");
    }
  }

  TEST_CASE("others get a general advice") {
    const std::string general = gpu::driver_advice("");
    CHECK(general.starts_with("install the Vulkan loader (libvulkan.so.1) and a Vulkan driver: "));
    for (const char* os_release :
         {"ID=nixos\n", "ID=archaic\nID_LIKE=\"\"\n", "GRID=debian\n", "ID", "ID=", "ID=\"\"\n\n", "\n=debian"}) {
      CHECK(gpu::driver_advice(os_release) == general);
    }
    CHECK(gpu::driver_advice().starts_with("install "));
  }
}

}  // namespace driver_advice_test
