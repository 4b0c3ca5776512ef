#include "app/engine/gpu_runner.h"

#include <utility>

#include "app/state/settings.h"
#include "capture/captured_run.h"

namespace headlight::app {
namespace {

gpu::ContextOptions context_options(const std::string& device) {
  gpu::ContextOptions options;
  options.device = device;
  return options;
}

}  // namespace

GpuRunner::GpuRunner(const std::string& device) : context_(context_options(device)), session_(context_, tuning_file()) {}

std::shared_ptr<const inference::Run> GpuRunner::run_capture(std::shared_ptr<const capture::CaptureFile> file) {
  return std::make_shared<const capture::CapturedRun>(std::move(file), &session_);
}

std::unique_ptr<Runner> open_gpu_runner(const std::string& device) { return std::make_unique<GpuRunner>(device); }

}  // namespace headlight::app
