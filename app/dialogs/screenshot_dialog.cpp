#include "app/dialogs/screenshot_dialog.h"

#include <array>
#include <utility>

#include "app/state/opened_file.h"
#include "app/widgets/dialog.h"
#include "app/widgets/ink.h"
#include "app/widgets/segmented.h"
#include "core/error.h"

namespace headlight::app {

void ScreenshotDialog::open(const std::string& folder, ScreenshotArea area) {
  area_ = area;
  typed_ = (folder.empty() ? std::string("~") : folder) + "/headlight.png";
  trouble_.clear();
  is_open_ = true;
}

void ScreenshotDialog::draw(Frame& frame) {
  const Dialog dialog(frame, "Save screenshot", is_open_, 480.0F);
  if (!dialog.is_visible()) return;
  static const std::array<std::string, 2> kAreas = {"whole window", "this view"};
  auto area = static_cast<std::size_t>(area_);
  if (draw_segmented(frame, "screenshot.area", kAreas, area)) area_ = static_cast<ScreenshotArea>(area);
  ImGui::Spacing();
  frame.ui.text_field("##path", typed_);
  mark_last_item(frame, "screenshot.path");
  if (!trouble_.empty()) {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().warning);
    ImGui::PushTextWrapPos(0.0F);
    ImGui::TextUnformatted(trouble_.c_str());
    ImGui::PopTextWrapPos();
  }
  if (ImGui::Button("Save")) {
    try {
      path_ = expand_home(typed_);
      if (path_->extension() != ".png" && path_->extension() != ".svg") *path_ += ".png";
      constexpr int kDialogFades = 3;  // the frame being built still shows it
      frames_to_wait_ = kDialogFades;
      is_open_ = false;
      ImGui::CloseCurrentPopup();
    } catch (const Error& error) {
      trouble_ = error.what();
    }
  }
  mark_last_item(frame, "screenshot.save");
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) {
    is_open_ = false;
    ImGui::CloseCurrentPopup();
  }
  mark_last_item(frame, "screenshot.cancel");
}

std::optional<Screenshot> ScreenshotDialog::take() {
  if (frames_to_wait_ == 0 || --frames_to_wait_ > 0 || !path_) return std::nullopt;
  return Screenshot{.path = *std::exchange(path_, std::nullopt), .area = area_};
}

}  // namespace headlight::app
