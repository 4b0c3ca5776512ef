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
  is_figure_ = false;
  typed_ = (folder.empty() ? std::string("~") : folder) + "/headlight.png";
  trouble_.clear();
  is_open_ = true;
}

void ScreenshotDialog::draw(Frame& frame) {
  const Dialog dialog(frame, "Save screenshot", is_open_, 480.0F);
  if (!dialog.is_visible()) return;
  static const std::array<std::string, 3> kAreas = {"whole window", "this view", "figure"};
  constexpr std::size_t kFigure = 2;
  std::size_t area = is_figure_ ? kFigure : static_cast<std::size_t>(area_);
  if (draw_segmented(frame, "screenshot.area", kAreas, area)) {
    is_figure_ = area == kFigure;
    if (!is_figure_) area_ = static_cast<ScreenshotArea>(area);
    std::filesystem::path path = typed_;
    typed_ = path.replace_extension(is_figure_ ? ".svg" : ".png").string();
  }
  {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
    ImGui::PushTextWrapPos(0.0F);
    ImGui::TextUnformatted(
        is_figure_ ? "What this view shows, drawn anew for a paper: the name ends in .svg, .pdf or .png. Export (Ctrl+E) "
                     "writes figures of many heads at once."
                   : "What is on screen, as .png.");
    ImGui::PopTextWrapPos();
  }
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
      // A vector format can only be the figure's.
      const bool is_vector = path_->extension() == ".svg" || path_->extension() == ".pdf";
      is_figure_ = is_figure_ || is_vector;
      if (path_->extension() != ".png" && !is_vector) *path_ += is_figure_ ? ".svg" : ".png";
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
  return Screenshot{.path = *std::exchange(path_, std::nullopt), .area = area_, .is_figure = is_figure_};
}

}  // namespace headlight::app
