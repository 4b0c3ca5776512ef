// Sees Vulkan itself: the shell places every barrier, so a missing one has to be recorded by hand.
#include <doctest/doctest.h>

#include "app/shell/render_device.h"
#include "app/shell/vulkan_handles.h"

namespace shell_validation_test {

using namespace headlight::shell;

TEST_SUITE("gpu") {
  TEST_CASE("the validation layer notices that a barrier is missing between two writes of a drawing") {
    RenderDevice device({.validation = true});
    const MappedBuffer buffer(device.handles(), 1024, vk::BufferUsageFlagBits::eTransferDst);
    std::uint32_t first = 1;
    device.handles().run_once([&](vk::CommandBuffer commands) {
      commands.fillBuffer(*buffer.buffer, 0, VK_WHOLE_SIZE, 0);
      first = device.validation_message_count();
      commands.fillBuffer(*buffer.buffer, 0, VK_WHOLE_SIZE, 1);
    });
    CHECK(first == 0);
    REQUIRE(device.validation_message_count() == 1);
    CHECK(device.validation_messages()[0].find("WRITE_AFTER_WRITE") != std::string::npos);
  }
}

}  // namespace shell_validation_test
