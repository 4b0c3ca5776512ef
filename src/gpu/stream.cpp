#include "gpu/stream.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "gpu/buffer_handles.h"
#include "gpu/failure.h"
#include "gpu/handles.h"
#include "gpu/recording.h"
#include "gpu/staging.h"

namespace headlight::gpu {

namespace {

std::uint64_t read_timestamp(const Recording& recording, std::uint32_t index) {
  return guarded(recording.context->handles(), [&] {
    const auto [result, value] =
        recording.timestamps.getResult<std::uint64_t>(index, 1, sizeof(std::uint64_t), vk::QueryResultFlagBits::e64);
    return result == vk::Result::eSuccess ? value : 0;
  });
}

}  // namespace

Submission::Submission(std::unique_ptr<Recording> recording) : recording_(std::move(recording)) {}
Submission::Submission(Submission&&) noexcept = default;
Submission& Submission::operator=(Submission&& other) noexcept {
  std::swap(recording_, other.recording_);  // the other one waits for ours when it goes
  return *this;
}

Submission::~Submission() {
  if (recording_) finish();
}

void Submission::finish() noexcept {
  constexpr int kAttempts = 3;  // a driver that lacks memory for waiting may have some a moment later
  for (int i = 0; i < kAttempts; ++i) {
    try {
      return wait();
    } catch (const std::exception& error) {
      if (recording_->is_finished) return;
      if (kind_of(error) == ErrorKind::DeviceLost) break;
    }
  }
  try {
    return recording_->context->handles().queue.waitIdle();
  } catch (const vk::DeviceLostError&) {
    return;                          // twice: it runs nothing any more
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is no other way to wait
  }
  // The device may still be using what the recording holds: it is never freed.
  static_cast<void>(recording_.release());
}

bool Submission::is_ready() const {
  return recording_->is_finished ||
         guarded(recording_->context->handles(), [&] { return recording_->fence.getStatus() == vk::Result::eSuccess; });
}

void Submission::wait() {
  if (recording_->is_finished) return;
  const Context::Handles& handles = recording_->context->handles();
  guarded(handles, [&] {
    if (handles.device.waitForFences(*recording_->fence, VK_TRUE, std::numeric_limits<std::uint64_t>::max()) !=
        vk::Result::eSuccess) {
      throw Error("the device '{}' did not finish its work; choose another device", handles.info.name);
    }
    recording_->is_finished = true;
    recording_->measure();
  });
  // The results may have been computed from memory that the device has lost. Drivers don't report that.
  if (handles.info.loses_memory_asleep && handles.sleep->has_slept()) {
    throw Error(ErrorKind::DeviceLost, "the device '{}' may have lost its memory while the computer was asleep; start again",
                handles.info.name);
  }
}

std::span<const std::byte> Submission::bytes(Download download) const {
  assert(is_ready());
  return recording_->downloads.at(download.index).mapped();
}

double Submission::gpu_ms() const {
  if (!recording_->has_timestamps()) return 0.0;
  return recording_->milliseconds(read_timestamp(*recording_, 0),
                                  read_timestamp(*recording_, Recording::kMaxTimestamps - 1));
}

std::vector<Submission::Section> Submission::sections() const {
  std::vector<Section> sections;
  if (!recording_->has_timestamps()) return sections;
  std::uint64_t previous = read_timestamp(*recording_, 0);
  for (std::uint32_t i = 0; i < recording_->marks.size(); ++i) {
    const std::uint64_t now = read_timestamp(*recording_, i + 1);
    sections.push_back({recording_->marks[i], recording_->milliseconds(previous, now)});
    previous = now;
  }
  return sections;
}

std::uint32_t Submission::dispatches() const { return recording_->dispatches; }

namespace {

/// Texel buffers hold vec4.
std::size_t texel_bytes(const Slice& slice) { return slice.has_halves ? 8 : 16; }

VkBuffer raw(const Buffer& buffer) { return static_cast<VkBuffer>(*buffer.handles().buffer); }

}  // namespace

Stream::Stream(Context& context)
    : recording_(guarded(context.handles(), [&] { return std::make_unique<Recording>(context); })) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

Context& Stream::context() const { return *recording_->context; }
std::uint32_t Stream::dispatches() const { return recording_->dispatches; }
double Stream::multiply_adds() const {
  return std::accumulate(recording_->work.begin(), recording_->work.end(), recording_->host_work);
}
double Stream::largest_submission() const { return *std::ranges::max_element(recording_->work); }

void Stream::upload(const Buffer& to, std::size_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  assert(offset + bytes.size() <= to.size());
  Buffer staging(context(), bytes.size(), Memory::Upload, "a copy on its way to the device");
  std::memcpy(staging.mapped().data(), bytes.data(), bytes.size());
  const VkBuffer target = raw(to);
  recording_->order({}, {&target, 1});
  recording_->commands().copyBuffer(*staging.handles().buffer, target,
                                    vk::BufferCopy{.dstOffset = offset, .size = bytes.size()});
  recording_->uploads.push_back(std::move(staging));
}

void Stream::copy(const Buffer& from, const Buffer& to) {
  const VkBuffer source = raw(from), target = raw(to);
  recording_->order({&source, 1}, {&target, 1});
  recording_->commands().copyBuffer(source, target, vk::BufferCopy{.size = std::min(from.size(), to.size())});
}

const Buffer& Stream::scratch(std::size_t bytes, std::string_view purpose) {
  auto& scratch = recording_->scratch;
  if (scratch.empty() || scratch.back().size() < bytes) {
    scratch.push_back(Buffer(context(), bytes, Memory::Transient, purpose));
  }
  return scratch.back();
}

void Stream::clear(const Buffer& buffer) {
  const VkBuffer target = raw(buffer);
  recording_->order({}, {&target, 1});
  recording_->commands().fillBuffer(target, 0, VK_WHOLE_SIZE, 0);
}

void Stream::dispatch(const Kernel& kernel, std::span<const Slice> bindings, std::span<const std::byte> parameters,
                      Groups groups, double multiply_adds) {
  const Reflection& reflection = kernel.reflection();
  const DeviceInfo& info = context().device();
  if (bindings.size() != reflection.bindings.size() || parameters.size() != reflection.push_constant_bytes) {
    throw Error("kernel {} takes {} buffers and {} bytes of parameters, not {} and {}", kernel.name(),
                reflection.bindings.size(), reflection.push_constant_bytes, bindings.size(), parameters.size());
  }
  if (groups.x > info.max_groups[0] || groups.y > info.max_groups[1] || groups.z > info.max_groups[2]) {
    throw Error("kernel {} needs {} × {} × {} workgroups, the device '{}' runs at most {} × {} × {}; make the text shorter",
                kernel.name(), groups.x, groups.y, groups.z, info.name, info.max_groups[0], info.max_groups[1],
                info.max_groups[2]);
  }
  if (!kernel.is_compiled()) {
    recording_->is_complete = false;
    return;
  }
  guarded(context().handles(), [&] {
    recording_->add_work(multiply_adds);
    record(kernel, bindings, parameters, groups);
  });
}

void Stream::record(const Kernel& kernel, std::span<const Slice> bindings, std::span<const std::byte> parameters,
                    Groups groups) {
  const Reflection& reflection = kernel.reflection();
  const DeviceInfo& info = context().device();
  const vk::raii::Device& device = context().handles().device;
  const vk::DescriptorSet set = recording_->allocate_set(*kernel.handles().set_layout);
  std::vector<vk::DescriptorBufferInfo> buffers(bindings.size());
  std::vector<vk::BufferView> views(bindings.size());
  std::vector<vk::WriteDescriptorSet> writes;
  std::vector<VkBuffer> read, written;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const Slice& slice = bindings[i];
    const Reflection::Binding& binding = reflection.bindings[i];
    assert(slice.offset % info.offset_alignment == 0 && slice.offset + slice.size <= slice.buffer->size());
    (binding.is_written ? written : read).push_back(raw(*slice.buffer));
    vk::WriteDescriptorSet write{.dstSet = set, .dstBinding = binding.number, .descriptorCount = 1};
    if (binding.kind == Reflection::Kind::Storage) {
      assert(slice.size <= info.max_storage_range);
      buffers[i] =
          vk::DescriptorBufferInfo{.buffer = *slice.buffer->handles().buffer, .offset = slice.offset, .range = slice.size};
      write.descriptorType = vk::DescriptorType::eStorageBuffer;
      write.pBufferInfo = &buffers[i];
    } else {
      const std::size_t texels = slice.size / texel_bytes(slice);
      assert(texels <= info.max_texel_elements);
      const std::size_t bytes = texels * texel_bytes(slice), wanted = view_size(bytes);
      const bool is_extended = info.compiles_when_run && wanted / texel_bytes(slice) <= info.max_texel_elements;
      recording_->views.emplace_back(
          device, vk::BufferViewCreateInfo{
                      .buffer = *slice.buffer->handles().buffer,
                      .format = slice.has_halves ? vk::Format::eR16G16B16A16Sfloat : vk::Format::eR32G32B32A32Sfloat,
                      .offset = slice.offset,
                      .range = is_extended ? wanted : bytes});
      views[i] = *recording_->views.back();
      write.descriptorType = vk::DescriptorType::eUniformTexelBuffer;
      write.pTexelBufferView = &views[i];
    }
    writes.push_back(write);
  }
  device.updateDescriptorSets(writes, {});
  recording_->order(read, written);
  const vk::raii::CommandBuffer& commands = recording_->commands();
  commands.bindPipeline(vk::PipelineBindPoint::eCompute, *kernel.handles().pipeline);
  commands.bindDescriptorSets(vk::PipelineBindPoint::eCompute, *kernel.handles().layout, 0, set, {});
  if (!parameters.empty()) {
    commands.pushConstants<std::byte>(*kernel.handles().layout, vk::ShaderStageFlagBits::eCompute, 0,
                                      {static_cast<std::uint32_t>(parameters.size()), parameters.data()});
  }
  commands.dispatch(groups.x, groups.y, groups.z);
  ++recording_->dispatches;
}

void Stream::run_on_host(std::function<void()> work, double multiply_adds) {
  if (!context().device().runs_host_steps) {
    throw Error("the device '{}' has memory of its own: functions of the program can't compute there",
                context().device().name);
  }
  guarded(context().handles(), [&] { recording_->add_host_step(std::move(work)); });
  recording_->host_work += multiply_adds;
  ++recording_->dispatches;
}

Download Stream::download(const Slice& from) {
  Buffer target(context(), from.size, Memory::Readback, "a copy on its way from the device");
  const VkBuffer source = raw(*from.buffer);
  recording_->order({&source, 1}, {});
  recording_->commands().copyBuffer(source, *target.handles().buffer,
                                    vk::BufferCopy{.srcOffset = from.offset, .size = from.size});
  recording_->downloads.push_back(std::move(target));
  return {recording_->downloads.size() - 1};
}

Download Stream::download(Buffer&& from) {
  // Kept by the recording in both cases: the copy reads it on the device, later.
  const bool is_readable = from.is_host_cached();
  const Download copy = is_readable ? Download{} : download(Slice(from));
  recording_->downloads.push_back(std::move(from));
  return is_readable ? Download{recording_->downloads.size() - 1} : copy;
}

void Stream::mark(std::string_view label) {
  // Timestamps 0 and kMaxTimestamps − 1 frame the whole submission; marks beyond the rest fold into the last section.
  if (recording_->marks.size() + 2 >= Recording::kMaxTimestamps) return;
  recording_->marks.emplace_back(label);
  recording_->write_timestamp(static_cast<std::uint32_t>(recording_->marks.size()));
}

bool Stream::is_complete() const { return recording_->is_complete; }

Submission Stream::submit() && {
  if (!is_complete()) throw Error("a stream with a kernel that isn't compiled can't be submitted");
  Context::Handles& handles = context().handles();
  if (handles.staging) handles.staging->flush();
  guarded(handles, [&] { recording_->submit(); });
  return Submission(std::move(recording_));
}

}  // namespace headlight::gpu
