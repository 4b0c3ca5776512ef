#include "gpu/context.h"

#include <doctest/doctest.h>

#include "support/error_message.h"
#include "support/gpu.h"

using namespace headlight;
using namespace headlight::gpu;
using test::error_message;

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a device says what it is and what it can hold") {
    const DeviceInfo& device = context.device();
    CHECK(device.is_usable());
    CHECK_FALSE(device.name.empty());
    CHECK_FALSE(device.driver.empty());
    CHECK(device.api.starts_with("1."));
    CHECK(device.uuid.size() == 32);
    CHECK(device.memory_bytes > 0);
    CHECK(device.max_storage_range >= std::size_t{128} << 20);  // Vulkan's minimum is 2^27
    CHECK(device.max_texel_elements >= 65'536);
    CHECK(device.offset_alignment <= 256);  // what DeviceTensor's items are apart
    CHECK(device.shared_memory_bytes >= 16'384);
    CHECK(device.subgroup_size >= 1);
  }

  TEST_CASE("devices are listed in order, and one can be chosen by number or by a part of its name") {
    const std::vector<DeviceInfo> devices = list_devices();
    REQUIRE_FALSE(devices.empty());
    for (std::size_t i = 0; i < devices.size(); ++i) CHECK(devices[i].index == i);
    const DeviceInfo chosen = test::shared_context().device();
    test::WatchedContext by_number({.device = std::to_string(chosen.index)});
    CHECK(by_number->device().uuid == chosen.uuid);
    std::string upper_case = chosen.name.substr(0, 4);
    for (char& letter : upper_case) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    test::WatchedContext by_name({.device = upper_case});
    CHECK(by_name->device().name.starts_with(chosen.name.substr(0, 4)));
  }

  TEST_CASE("a device that isn't there: one line that lists what there is") {
    const std::vector<DeviceInfo> devices = list_devices();
    for (const std::string& wanted :
         {std::string("Voodoo 2"), std::to_string(devices.size()), std::string("99999999999999")}) {
      const std::string message = error_message([&] { Context context({.device = wanted}); });
      CAPTURE(message);
      CHECK(test::is_one_line(message));
      CHECK(message.starts_with("there is no Vulkan device '" + wanted + "'; choose by number or name among 0: "));
      for (const DeviceInfo& device : devices) {
        CHECK(message.find(std::to_string(device.index) + ": " + device.name) != std::string::npos);
      }
    }
  }

  TEST_CASE("a context pretends to have less, never more") {
    const DeviceInfo real = test::shared_context().device();
    test::WatchedContext small({.max_storage_range = 65'536, .memory_bytes = 1 << 20, .max_texel_elements = 4'096});
    CHECK(small->device().max_storage_range == 65'536);
    CHECK(small->device().memory_bytes == 1 << 20);
    CHECK(small->device().max_texel_elements == 4'096);
    test::WatchedContext vast(
        {.max_storage_range = ~std::size_t{0}, .memory_bytes = ~std::size_t{0}, .max_texel_elements = ~0u});
    CHECK(vast->device().max_storage_range == real.max_storage_range);
    CHECK(vast->device().max_texel_elements == real.max_texel_elements);
  }
}
