#include "app/window/dialogs/picture_form.h"

#include <system_error>

#include "app/state/opened_file.h"
#include "app/widgets/controls.h"
#include "core/error.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

void draw_remark_line(Frame& frame, const char* text, shell::Color color) {
  write_wrapped(frame.ui.fonts().small, color, text);
}

}  // namespace

void PictureForm::open(const std::string& folder, ScreenshotArea area) {
  area_ = area;
  typed_ = (folder.empty() ? std::string("~") : folder) + "/headlight.png";
  trouble_.clear();
  files_.close();
  focus_ = shell::FieldFocus::SelectAll;
}

void PictureForm::draw_area(Frame& frame) {
  static const std::array<std::string, 2> kAreas = {"whole window", "this view"};
  auto area = static_cast<std::size_t>(area_);
  if (draw_segmented(frame, "screenshot.area", kAreas, area)) {
    area_ = static_cast<ScreenshotArea>(area);
    focus_ = shell::FieldFocus::SelectAll;
  }
  draw_remark_line(frame,
                   "What is on screen, as .png; a name that ends in .svg or .pdf gets the view drawn anew for a paper.",
                   frame.ui.theme().text_dim);
}

bool PictureForm::draw_path(Frame& frame) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float button = ImGui::CalcTextSize("Browse").x + 2.0F * style.FramePadding.x;
  const bool is_entered = frame.ui.text_field("##path", typed_,
                                              {.width = ImGui::GetContentRegionAvail().x - button - style.ItemSpacing.x,
                                               .focus = std::exchange(focus_, shell::FieldFocus::None),
                                               .hint = "~/headlight.png",
                                               .enter_confirms = true});
  mark_last_item(frame, "screenshot.path");
  ImGui::SameLine();
  if (draw_button(frame, "screenshot.browse", "Browse")) files_.open(typed_);
  return is_entered;
}

bool PictureForm::confirm() {
  try {
    path_ = expand_home(typed_);
    // A vector format can only be the figure's.
    const bool is_vector = path_->extension() == ".svg" || path_->extension() == ".pdf";
    is_figure_ = is_vector;
    if (path_->extension() != ".png" && !is_vector) *path_ += ".png";
    constexpr int kDialogFades = 3;  // the frame being built still shows it
    frames_to_wait_ = kDialogFades;
    return true;
  } catch (const Error& error) {
    trouble_ = error.what();
    return false;
  }
}

bool PictureForm::draw(Frame& frame) {
  if (files_.is_open()) {
    const float height = std::clamp(frame.ui.size().y - 260.0F, 120.0F, 420.0F);
    if (const std::optional<fs::path> chosen = files_.draw(frame, height)) {
      std::error_code failure;
      typed_ = utf8(fs::is_directory(*chosen, failure) ? *chosen / fs::path(typed_).filename() : *chosen);
      focus_ = shell::FieldFocus::AtEnd;
    }
    return false;
  }
  draw_area(frame);
  ImGui::Spacing();
  const bool is_entered = draw_path(frame);
  if (!trouble_.empty()) draw_remark_line(frame, trouble_.c_str(), frame.ui.theme().warning);
  const bool is_pressed = draw_button(frame, "screenshot.save", "Save");
  return (is_entered || is_pressed) && !typed_.empty() && confirm();
}

std::optional<Picture> PictureForm::take() {
  if (frames_to_wait_ == 0 || --frames_to_wait_ > 0 || !path_) return std::nullopt;
  return Picture{.path = *std::exchange(path_, std::nullopt), .area = area_, .is_figure = is_figure_};
}

}  // namespace headlight::app
