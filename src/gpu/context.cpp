#include "gpu/context.h"

#include <cctype>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>

#include <fmt/ranges.h>

#include "core/error.h"
#include "gpu/cooperative_matrices.h"
#include "gpu/driver_advice.h"
#include "gpu/handles.h"
#include "gpu/memory_pool.h"
#include "gpu/recording.h"
#include "gpu/staging.h"

namespace headlight::gpu {
namespace {

/// Position in `devices` of the device that the user asked for. Throws Error listing what there is.
std::size_t choose(const std::vector<DeviceInfo>& devices, const std::string& wanted) {
  if (devices.empty()) throw Error(ErrorKind::NoDevice, "no Vulkan device: {}", driver_advice());
  std::vector<std::string> names;
  for (const DeviceInfo& device : devices) names.push_back(fmt::format("{}: {}", device.index, device.name));
  if (!wanted.empty()) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!is_wanted(wanted, i, devices[i].name)) continue;
      if (!devices[i].is_usable()) {
        throw Error("the device '{}' can't be used because {}; choose another one (there are {})", devices[i].name,
                    fmt::join(devices[i].lacks, ", "), fmt::join(names, "; "));
      }
      return i;
    }
    throw Error("there is no Vulkan device '{}'; choose by number or name among {}", wanted, fmt::join(names, "; "));
  }
  for (const std::string_view kind : {"discrete GPU", "integrated GPU", "virtual GPU", "CPU", "other"}) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].kind == kind && devices[i].is_usable()) return i;
    }
  }
  throw Error(ErrorKind::NoDevice, "no usable Vulkan device: {} can't be used because {}; {}", devices[0].name,
              fmt::join(devices[0].lacks, ", "), driver_advice());
}

void create_device(Context::Handles& handles) {
  auto physicals = vk::raii::PhysicalDevices(handles.instance);
  std::vector<DeviceInfo> devices;
  for (const auto& physical : physicals) {
    devices.push_back(describe(handles.instance, physical));
    devices.back().index = static_cast<std::uint32_t>(devices.size() - 1);
  }
  const std::size_t chosen = choose(devices, handles.options.device);
  handles.physical = std::move(physicals[chosen]);
  handles.info = devices[chosen];
  handles.memory = handles.physical.getMemoryProperties();
  handles.queue_family = *find_compute_family(handles.physical);
  const float priority = 1.0f;
  const vk::DeviceQueueCreateInfo queue{
      .queueFamilyIndex = handles.queue_family, .queueCount = 1, .pQueuePriorities = &priority};
  // A device that has it wants it named: it says that some of Vulkan is missing there, none of which is used here.
  constexpr std::string_view kSubset = "VK_KHR_portability_subset";
  std::vector<const char*> extensions;
  for (const vk::ExtensionProperties& extension : handles.physical.enumerateDeviceExtensionProperties()) {
    if (std::string_view(extension.extensionName.data()) == kSubset) extensions.push_back(kSubset.data());
  }
  MatrixFeatures features;
  const bool has_matrices = handles.info.matrix_lanes > 0;
  if (has_matrices) extensions.insert(extensions.end(), kMatrixExtensions.begin(), kMatrixExtensions.end());
  handles.device = vk::raii::Device(
      handles.physical, vk::DeviceCreateInfo{.pNext = has_matrices ? features.first() : nullptr,
                                             .queueCreateInfoCount = 1,
                                             .pQueueCreateInfos = &queue,
                                             .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                             .ppEnabledExtensionNames = extensions.data()});
  handles.queue = vk::raii::Queue(handles.device, handles.queue_family, 0);
}

/// Keeps the first one until the process ends. The loader unloads drivers with the last instance, and NVIDIA's is found no
/// more after it has been loaded some times (seen with 580.159.04).
void keep_one(vk::raii::Context&& loader, vk::raii::Instance&& instance) {
  struct Kept {
    vk::raii::Context loader;
    vk::raii::Instance instance;
  };
  static std::mutex mutex;
  static const Kept* kept = nullptr;  // never destroyed: at exit some drivers are gone before
  const std::scoped_lock lock(mutex);
  if (kept == nullptr) kept = new Kept{std::move(loader), std::move(instance)};
}

template <typename Number>
void restrict(Number& limit, Number pretended) {
  if (pretended != 0) limit = std::min(limit, pretended);
}

}  // namespace

Context::Context(const ContextOptions& options) {
  try {
    handles_ = std::make_unique<Handles>();
    handles_->options = options;
    if (const char* folder = std::getenv("HEADLIGHT_SHADERS"); folder != nullptr && options.shader_folder.empty()) {
      handles_->options.shader_folder = folder;
    }
    const bool validates = is_validation_wanted(options.validation);
    handles_->instance = make_instance(handles_->loader, validates);
    if (validates) handles_->messenger = collect_messages(handles_->instance, handles_->validation);
    create_device(*handles_);
    handles_->memory_pool = std::make_shared<MemoryPool>(*handles_);
    handles_->idle_recordings = std::make_shared<IdleRecordings>();
  } catch (const vk::IncompatibleDriverError&) {
    throw Error(ErrorKind::NoDevice, "no Vulkan device: {}", driver_advice());
  } catch (const vk::SystemError& error) {
    throw Error("the Vulkan device could not be opened ({}): {}", error.what(), driver_advice());
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {  // vulkan-hpp's loader throws this one when libvulkan is missing
    throw Error(ErrorKind::NoDevice, "no Vulkan loader ({}): {}", error.what(), driver_advice());
  }
  DeviceInfo& info = handles_->info;
  restrict(info.max_storage_range, options.max_storage_range);
  restrict(info.memory_bytes, options.memory_bytes);
  restrict(info.max_texel_elements, options.max_texel_elements);
  restrict(info.max_invocations, options.max_invocations);
  if (options.cores > 0) info.cores = options.cores;
  restrict(info.timestamp_bits, options.timestamp_bits);
  handles_->sleep.emplace(options.slept);
  if (options.has_private_memory) info.loses_memory_asleep = true;
  if (options.compiles_when_made) info.compiles_when_run = false;
  if (options.has_private_memory || options.shaders_only) info.runs_host_steps = false;
  for (std::uint32_t& limit : info.max_groups) restrict(limit, options.max_groups);
}

Context::~Context() {
  handles_->staging.reset();
  handles_->memory_pool.reset();
  vk::raii::Context loader = std::move(handles_->loader);
  vk::raii::Instance instance = std::move(handles_->instance);
  handles_.reset();
  keep_one(std::move(loader), std::move(instance));
}

const DeviceInfo& Context::device() const { return handles_->info; }
const ContextOptions& Context::options() const { return handles_->options; }
std::size_t Context::allocated_bytes() const { return handles_->allocated_bytes; }
std::size_t Context::reserved_bytes() const { return handles_->memory_pool->reserved_bytes(); }
void Context::give_back_unused_memory() { handles_->memory_pool->give_back_unused(); }
MemoryCalls Context::memory_calls() const { return handles_->memory_pool->calls(); }
std::uint64_t Context::recordings_created() const { return handles_->recordings_created; }
std::uint64_t Context::submissions() const { return handles_->submissions; }
std::uint64_t Context::host_waits() const { return handles_->host_waits; }

double Context::work_per_submission() const {
  constexpr double kTarget_ms = 50.0;
  // The guess for a device that wasn't measured yet: some 50 ms on the slowest that are in use, far less on most.
  constexpr double kGuessOfDiscrete = 2.5e10, kGuessOfOthers = 2.5e9;
  if (handles_->options.max_work > 0.0) return handles_->options.max_work;
  if (handles_->info.is_cpu) return std::numeric_limits<double>::infinity();
  if (handles_->work_per_ms > 0.0) return handles_->work_per_ms * kTarget_ms;
  return handles_->info.kind == "discrete GPU" ? kGuessOfDiscrete : kGuessOfOthers;
}

std::vector<std::string> Context::validation_messages() const {
  const std::lock_guard lock(handles_->validation.mutex);
  return handles_->validation.messages;
}

}  // namespace headlight::gpu
