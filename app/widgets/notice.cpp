#include "app/widgets/notice.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kNoticeInset = 16.0F, kNoticeGap = 24.0F;  // before the text, and between it and the button

/// A row of pills: a text, optionally followed by a button.
class RemarkLine {
 public:
  struct Remark {
    const char* name;  ///< of the pill; the button is <name>.button
    const std::string& text;
    const char* button;  ///< "": none
    const char* explanation;
    shell::Color role;
  };

  RemarkLine(Frame& frame, float x) : frame_(frame), x_(x) {}

  /// Returns whether the button was clicked.
  bool draw(const Remark& remark) {
    constexpr float kInset = 10.0F;
    constexpr float kGap = 8.0F;
    constexpr float kMargin = 3.0F;  // above and below
    const shell::Theme& theme = frame_.ui.theme();
    ImFont* font = frame_.ui.fonts().small;
    const TextStyleScope ink(font, theme.text);
    const ImVec2 origin = ImGui::GetWindowPos();
    const float height = ImGui::GetWindowHeight() - 2.0F * kMargin;
    const float button = *remark.button == '\0' ? 0.0F : text_width(font, remark.button) + 2.0F * kInset;
    const float room = std::max(ImGui::GetWindowWidth() - x_ - button - 2.0F * kInset, 1.0F);
    const std::string text = fit_text(font, remark.text, room);
    const float width = kInset + text_width(font, text) + (button > 0.0F ? button : kInset);
    const ImVec2 low(origin.x + x_, origin.y + kMargin);
    const ImVec2 high(low.x + width, low.y + height);
    const float rounding = height * 0.5F;
    fill_rect(to_glm(low), to_glm(high), shell::with_alpha(remark.role, 0x30), rounding);
    outline_rect(to_glm(low), to_glm(high), remark.role, rounding);
    const float text_y = low.y + text_drop(font, height);
    put_text(font, {low.x + kInset, text_y}, theme.text, text);
    ImGui::SetCursorScreenPos(low);
    ImGui::Dummy({width - button, height});
    frame_.mark(remark.name, last_item_rect());
    explain_last_item(frame_, text == remark.text ? remark.explanation : remark.text.c_str());
    x_ += width + kGap;
    if (button == 0.0F) return false;
    ImGui::SetCursorScreenPos({high.x - button, low.y});
    const bool was_clicked = click_area(remark.name, {button, height});
    mark_last_item(frame_, fmt::format("{}.button", remark.name));
    const bool is_hovered = ImGui::IsItemHovered();
    if (is_hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    const ImVec2 at(high.x - button + kInset, text_y);
    put_text(font, to_glm(at), remark.role, remark.button);
    const float line_y = at.y + font_size(font);
    draw_line({at.x, line_y}, {high.x - kInset, line_y}, remark.role, is_hovered ? 2.0F : 1.0F);
    return was_clicked;
  }

  float end() const { return x_ + 4.0F; }

 private:
  Frame& frame_;
  float x_;
};

}  // namespace

float notice_width(const Frame& frame, const Notice& notice, float most) {
  const float text = text_width(frame.ui.fonts().body, notice.text);
  return std::min(std::ceil(kNoticeInset + text + kNoticeGap + button_width("Close")) + 8.0F, most);
}

void draw_notice_panel(Frame& frame, Notice& notice) {
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float height = ImGui::GetWindowHeight();
  const shell::Color role = notice.is_warning ? theme.warning : theme.accent;
  constexpr float kRounding = 5.0F;
  const ImVec2 end(origin.x + width, origin.y + height);
  fill_rect(to_glm(origin), to_glm(end), theme.popup, kRounding);
  ImGui::GetWindowDrawList()->AddRectFilled(origin, {origin.x + 4.0F, end.y}, role, kRounding, ImDrawFlags_RoundCornersLeft);
  outline_rect(to_glm(origin), to_glm(end), theme.border, kRounding);

  const float button = button_width("Close");
  ImFont* font = frame.ui.fonts().body;
  const float room = std::max(width - button - kNoticeGap, 1.0F);
  const std::string text = fit_text(font, notice.text, room - kNoticeInset);
  put_text(font, {origin.x + kNoticeInset, origin.y + text_drop(font, height)}, theme.text, text);
  ImGui::SetCursorPos({0.0F, 0.0F});
  ImGui::Dummy({room, height});
  frame.mark("notice.text", last_item_rect());
  explain_last_item(frame, notice.text.c_str());
  ImGui::SetCursorPos({width - button - 8.0F, std::round((height - ImGui::GetFrameHeight()) * 0.5F)});
  if (draw_button(frame, "notice.close", "Close")) notice = {};
}

StatusChoice draw_remarks(Frame& frame, const std::string& fixed_range, const Toast& toast) {
  constexpr float kEdge = 8.0F;
  StatusChoice choice{.end = 12.0F};
  RemarkLine line(frame, kEdge);
  if (!fixed_range.empty()) {
    choice.fits_colors = line.draw({.name = "status.range",
                                    .text = fixed_range,
                                    .button = "Fit",
                                    .explanation = "The colour range was dragged or typed, and is the same for all heads, "
                                                   "layers and texts. Fit gives each map its own again.",
                                    .role = frame.ui.theme().accent});
  }
  if (toast.is_shown()) {
    frame.ui.ensure_glyphs(toast.text);
    choice.undoes = line.draw({.name = "toast",
                               .text = toast.text,
                               .button = toast.can_undo ? "Undo" : "",
                               .explanation = "Esc closes this",
                               .role = frame.ui.theme().accent});
  }
  choice.end = std::max(choice.end, line.end());
  return choice;
}

bool has_cure(const Frame& frame) { return frame.result.error_kind == ErrorKind::TooFewPositions; }

void draw_cure(Frame& frame) {
  if (draw_button(frame, "text.stretch", "Take the whole text",
                  "Takes the whole text: the model's table of positions is interpolated (stretched positions). It wasn't "
                  "trained for that.")) {
    frame.start_command("text.stretch");
  }
}

void draw_empty_panel(Frame& frame, bool is_computing) {
  const shell::Theme& theme = frame.ui.theme();
  const std::string& error = frame.result.error;
  const bool has_failed = !error.empty();
  const char* title = has_failed ? "Nothing to show yet" : is_computing ? "Preparing the device\u2026" : "";
  const float width = width_left();
  const float column = std::min(width - 48.0F, 480.0F);
  const float left = ImGui::GetCursorPosX() + std::round((width - column) * 0.5F);
  ImGui::SetCursorPos({left, std::round(ImGui::GetWindowHeight() * 0.4F)});
  ImGui::PushTextWrapPos(left + column);
  write_text(frame.ui.fonts().title, has_failed ? theme.text : theme.text_dim, title);
  if (has_failed) {
    ImGui::SetCursorPosX(left);
    write_text(frame.ui.fonts().body, theme.warning, error);
    frame.mark("empty.error", last_item_rect());
  }
  ImGui::PopTextWrapPos();
  ImGui::SetCursorPosX(left);
  if (has_failed && has_cure(frame)) draw_cure(frame);
}

}  // namespace headlight::app
