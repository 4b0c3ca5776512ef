#include "gpu/context.h"

#include <doctest/doctest.h>

#include <chrono>

#include "gpu/stream.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/skip.h"

namespace context_test {

using namespace headlight;
using namespace headlight::gpu;
using test::error_message;

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a device reports its properties and limits") {
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
    CHECK(device.max_invocations >= 128);
    CHECK(device.cores > 0);
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

  TEST_CASE("a missing device: one line that lists the devices") {
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

  TEST_CASE("a context's limits can be lowered, never raised") {
    const DeviceInfo real = test::shared_context().device();
    test::WatchedContext small({.max_storage_range = 65'536,
                                .memory_bytes = 1 << 20,
                                .max_texel_elements = 4'096,
                                .max_groups = 16,
                                .max_invocations = 64,
                                .cores = 3});
    CHECK(small->device().max_storage_range == 65'536);
    CHECK(small->device().memory_bytes == 1 << 20);
    CHECK(small->device().max_texel_elements == 4'096);
    for (const std::uint32_t groups : small->device().max_groups) CHECK(groups == 16);
    CHECK(small->device().max_invocations == 64);
    CHECK(small->device().cores == 3);
    test::WatchedContext vast(
        {.max_storage_range = ~std::size_t{0}, .memory_bytes = ~std::size_t{0}, .max_texel_elements = ~0u});
    CHECK(vast->device().max_storage_range == real.max_storage_range);
    CHECK(vast->device().max_texel_elements == real.max_texel_elements);
  }

  TEST_CASE("the compute queue: without graphics if there is one, with timestamps if possible") {
    using Families = std::vector<QueueFamily>;
    const QueueFamily all{.computes = true, .draws = true, .timestamp_bits = 64}, copies{.timestamp_bits = 64};
    const QueueFamily computes{.computes = true, .timestamp_bits = 64}, has_no_clock{.computes = true};
    CHECK(choose_compute_family(Families{}) == std::nullopt);
    CHECK(choose_compute_family(Families{copies}) == std::nullopt);
    CHECK(choose_compute_family(Families{all}) == 0);                            // llvmpipe, SwiftShader
    CHECK(choose_compute_family(Families{all, copies, computes, copies}) == 2);  // NVIDIA
    CHECK(choose_compute_family(Families{all, computes, copies}) == 1);          // AMD
    CHECK(choose_compute_family(Families{all, all, all, all}) == 0);             // MoltenVK
    CHECK(choose_compute_family(Families{all, has_no_clock}) == 1);
    CHECK(choose_compute_family(Families{has_no_clock, computes}) == 1);
    CHECK(choose_compute_family(Families{{.computes = true, .draws = true}, all}) == 1);
  }

  TEST_CASE("the time between two timestamps is right after a wrap-around and with invalid high bits") {
    CHECK(timestamp_difference(100, 350, 64) == 250);
    CHECK(timestamp_difference(~std::uint64_t{0}, 9, 64) == 10);
    const std::uint64_t end = std::uint64_t{1} << 36;  // Intel's
    CHECK(timestamp_difference(end - 40, 2, 36) == 42);
    CHECK(timestamp_difference((std::uint64_t{5} << 36) + 1, (std::uint64_t{9} << 36) + 8, 36) == 7);
  }

  TEST_CASE("after the computer has slept, a device with memory of its own counts as lost") {
    std::chrono::nanoseconds slept{0};
    const auto read = [](Context& context) {
      const Buffer buffer(context, 4096, Memory::Device, "a test");
      Stream stream(context);
      stream.clear(buffer);
      std::move(stream).submit().wait();
    };
    test::WatchedContext own({.has_private_memory = true, .slept = [&] { return slept; }});
    test::WatchedContext shared({.slept = [&] { return slept; }});
    CHECK_NOTHROW(read(own));
    slept = std::chrono::hours(8);
    CHECK(error_message([&] { read(own); }) ==
          "the device '" + own->device().name + "' may have lost its memory while the computer was asleep; start again");
    if (!shared->device().loses_memory_asleep) CHECK_NOTHROW(read(shared));
    test::WatchedContext again({.has_private_memory = true, .slept = [&] { return slept; }});
    CHECK_NOTHROW(read(again));
  }

  TEST_CASE("with few timestamp bits no time is longer than the wrap-around period") {
    const double period_ns = static_cast<double>(test::shared_context().device().timestamp_period_ns);
    if (period_ns == 0.0) return test::skip("the device has no timestamps");
    test::WatchedContext coarse({.timestamp_bits = 10});
    CHECK(coarse->device().timestamp_bits == 10);
    const Buffer buffer(coarse, std::size_t{8} << 20, Memory::Device, "a test");  // far more than 1,023 ticks of work
    Stream stream(coarse);
    for (int i = 0; i < 8; ++i) stream.clear(buffer);
    stream.mark("clear");
    Submission submission = std::move(stream).submit();
    submission.wait();
    CHECK(submission.gpu_ms() >= 0.0);
    CHECK(submission.gpu_ms() <= 1023.0 * period_ns * 1e-6);
    CHECK(submission.sections()[0].gpu_ms <= 1023.0 * period_ns * 1e-6);
  }
}

}  // namespace context_test
