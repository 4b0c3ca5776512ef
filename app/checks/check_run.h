#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "app/checks/check_line.h"
#include "gpu/device_info.h"

namespace headlight::app {

struct CheckOptions {
  bool is_quick = false;
  std::vector<std::string> groups = {};  ///< of checks::groups(); empty: all, or the quick ones
  std::chrono::seconds patience{60};     ///< a device that gives no line for so long hangs
};

/// The findings about one device.
struct DeviceReport {
  gpu::DeviceInfo device;
  std::vector<CheckLine> lines;
  std::set<std::string> excluded;  ///< kernels that this device doesn't compute with from now on
  double seconds = 0.0;

  CheckStatus status() const;
};

using CheckObserver = std::function<void(const CheckLine&)>;

/// Checks a device in a process of its own (`headlight check` as a child). A step that ends that process, hangs or loses the
/// device is done again in a new one; where that ends too it is a line, which blames the step's kernels for a fault (not for
/// a signal from outside), and a third process goes on with the next step. Kernels with wrong numbers are excluded from now
/// on (ops::save_faults); those that weren't checked this time stay excluded. Blocks; ends early, with what it has, when
/// `stops` says so.
DeviceReport check_device(const gpu::DeviceInfo& device, const CheckOptions& options, const CheckObserver& observe,
                          const std::stop_token& stops = {});

/// The environment's variable that makes `headlight check` such a child; its value is the first step.
inline constexpr const char* kCheckChild = "HEADLIGHT_CHECK_CHILD";

/// Returns "0: llvmpipe" and a line's row below it, wrapped.
std::string device_heading(const gpu::DeviceInfo& device);
std::string table_row(const CheckLine& line);
/// Returns "nothing is wrong (2 warnings), 12 s".
std::string summary(const DeviceReport& report);
/// Returns all of it for an issue: less than 100 KB, without paths.
std::string report_json(std::span<const DeviceReport> reports, bool is_quick);

/// Checks every device of the machine on a thread of its own, for the window.
class CheckJob {
 public:
  explicit CheckJob(const CheckOptions& options);

  struct View {
    std::vector<DeviceReport> reports;
    bool is_done = false;
  };
  View view() const;
  const CheckOptions& options() const { return options_; }

 private:
  void run(const std::stop_token& stops);

  CheckOptions options_;
  mutable std::mutex mutex_;
  View view_;
  std::jthread thread_;
};

}  // namespace headlight::app
