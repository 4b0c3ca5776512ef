#include "app/engine/gpu_runner.h"

#include "app/state/settings.h"

namespace headlight::app {
namespace {

gpu::ContextOptions context_options(const std::string& device) {
  gpu::ContextOptions options;
  options.device = device;
  return options;
}

}  // namespace

GpuRunner::GpuRunner(const std::string& device) : context_(context_options(device)), session_(context_, tuning_file()) {}

std::unique_ptr<Runner> open_gpu_runner(const std::string& device) { return std::make_unique<GpuRunner>(device); }

}  // namespace headlight::app
