#include "app/window/typed_offer.h"

#include "app/widgets/controls.h"
#include "app/widgets/tooltips.h"

namespace headlight::app {
namespace {

/// The end of the text, where the user is typing.
std::string fit_end(ImFont* font, const std::string& text, float room) {
  if (text_width(font, text) <= room) return text;
  for (std::size_t from = 1; from < text.size(); ++from) {
    if ((static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) continue;
    std::string end = "\u2026" + text.substr(from);
    if (text_width(font, end) <= room) return end;
  }
  return "\u2026";
}

}  // namespace

TypedOfferChoice draw_typed_offer_panel(Frame& frame, const std::string& typed, bool has_text_box) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  const ImVec2 low = ImGui::GetWindowPos();
  const ImVec2 high(low.x + ImGui::GetWindowWidth(), low.y + ImGui::GetWindowHeight());
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 inner(low.x + 1.0F, low.y + 1.0F), outer(high.x - 1.0F, high.y - 1.0F);  // the window clips its edge
  list->AddRectFilled(inner, outer, theme.popup, 8.0F);
  list->AddRect(inner, outer, theme.accent, 8.0F);
  constexpr float kInset = 16.0F;
  const float room = ImGui::GetWindowWidth() - 2.0F * kInset;
  frame.ui.ensure_glyphs(typed);
  const std::string text = fit_end(fonts.strong, fmt::format("\u201C{}\u201D", typed), room);
  put_text(fonts.strong, {low.x + kInset, low.y + 10.0F}, theme.text, text);
  frame.mark("typed.text", {.origin = {low.x + kInset, low.y + 10.0F}, .size = {room, font_size(fonts.strong)}});
  put_text(fonts.small, {low.x + kInset, low.y + 34.0F}, theme.text_dim,
           has_text_box ? "typed outside the text box, so nothing has changed. Put this into the text?"
                        : "typed outside a text box; nothing has changed. A capture and a notebook have no text box.");
  ImGui::SetCursorScreenPos({low.x + kInset, high.y - 10.0F - ImGui::GetFrameHeight()});
  TypedOfferChoice choice = TypedOfferChoice::None;
  const auto button = [&](const char* name, const char* label, const char* explanation, TypedOfferChoice chosen) {
    if (draw_button(frame, name, label, explanation)) choice = chosen;
    ImGui::SameLine();
  };
  if (has_text_box) {
    button("typed.add", "Add to the text  (Enter)", "At the end of the text, where you can go on typing",
           TypedOfferChoice::Adds);
    button("typed.replace", "Replace the text  (Shift+Enter)", "In place of the text; undo brings it back",
           TypedOfferChoice::Replaces);
  }
  button("typed.leave", "No  (Esc)", "Forget what was typed", TypedOfferChoice::Leaves);
  return choice;
}

}  // namespace headlight::app
