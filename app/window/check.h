#pragma once

#include "app/checks/check_run.h"
#include "app/window/desk.h"

namespace headlight::app {

/// Help › Check this machine: the quick checks of every device, line by line as they come, then every kernel where that is
/// wanted. They go on while the dialog is closed.
class MachineCheck final : public Feature {
 public:
  using Feature::Feature;

  /// Begins the checks the first time.
  void open();
  void dialog(Frame& frame) override;
  bool close() override { return std::exchange(is_open_, false); }
  double redraw_after_s() const override;

 private:
  void draw(Frame& frame);

  bool is_open_ = false;
  std::unique_ptr<CheckJob> job_;
  std::size_t drawn_ = 0;  ///< lines of the last frame
  bool shows_end_ = false;
  int frames_to_scroll_ = 0;
};

}  // namespace headlight::app
