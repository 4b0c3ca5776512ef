#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headlight::shell {

/// The Vulkan device that draws the window; the compute engine has its own.
struct RenderDeviceOptions {
  /// Empty: the first device that isn't a CPU, else the first one; where it can't be opened, the next. Otherwise an index
  /// ("0") or a part of its name ("llvmpipe").
  std::string device = {};
  /// Chooses among the devices that can show a window on this display: needs one, and the main thread.
  bool shows_windows = false;
  /// Switches the validation layer on; HEADLIGHT_VALIDATION=1 in the environment does so too.
  bool validation = false;
  /// Texel buffers are taken to be no longer than every Vulkan device has them: for tests of what is done instead.
  bool has_short_texel_buffers = false;
};

/// The Vulkan instance, device and graphics queue that the user interface draws with. The compute engine owns another set,
/// so the interface never waits for a computation and the two may run on different GPUs.
class RenderDevice {
 public:
  /// Throws Error in one line when there is no Vulkan device that can draw or none matches the options, with those there
  /// are.
  explicit RenderDevice(const RenderDeviceOptions& options = {});
  ~RenderDevice();
  RenderDevice(const RenderDevice&) = delete;
  RenderDevice& operator=(const RenderDevice&) = delete;

  /// Closes the device after it was lost and opens it again with its options. All its objects must be destroyed. Throws
  /// Error in one line; reopen() may then be tried again.
  void reopen();

  /// Throws Error of kind DeviceLost where the computer was suspended since the device was opened, and the device may have
  /// lost its memory meanwhile, which drivers don't report.
  void check_sleep() const;

  /// Returns the driver's name of the device.
  const std::string& name() const;

  bool has_validation() const;
  /// Warnings and errors of the validation layer since construction, oldest first, capped at 100 texts.
  std::vector<std::string> validation_messages() const;
  std::uint32_t validation_message_count() const;

  /// The Vulkan objects, for the shell's own files (shell/vulkan_handles.h).
  struct Handles;
  Handles& handles() { return *handles_; }

 private:
  void open();

  RenderDeviceOptions options_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace headlight::shell
