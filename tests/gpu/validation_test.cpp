// Calls Vulkan directly: gpu/Stream records every barrier, so a missing one has to be recorded by hand.
#include <fmt/ranges.h>

#include "gpu/buffer_handles.h"
#include "gpu/handles.h"
#include "support/gpu.h"

namespace validation_test {

using namespace headlight::gpu;

TEST_SUITE("gpu") {
  TEST_CASE("the validation layer notices that a barrier is missing") {
    Context context({.validation = true});  // a context of its own, not watched: its validation message is expected
    const Buffer buffer(context, 1024, Memory::Device, "a buffer that is written twice");
    const Context::Handles& handles = context.handles();
    const vk::raii::CommandPool pool(handles.device, vk::CommandPoolCreateInfo{.queueFamilyIndex = handles.queue_family});
    const vk::raii::CommandBuffers commands(handles.device,
                                            vk::CommandBufferAllocateInfo{.commandPool = *pool, .commandBufferCount = 1});
    commands[0].begin(vk::CommandBufferBeginInfo{});
    commands[0].fillBuffer(*buffer.handles().buffer, 0, VK_WHOLE_SIZE, 0);
    INFO(fmt::format("{}", fmt::join(context.validation_messages(), "\n")));
    CHECK(context.validation_messages().empty());
    commands[0].fillBuffer(*buffer.handles().buffer, 0, VK_WHOLE_SIZE, 1);
    commands[0].end();
    const auto messages = context.validation_messages();
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].find("WRITE_AFTER_WRITE") != std::string::npos);
  }
}

}  // namespace validation_test
