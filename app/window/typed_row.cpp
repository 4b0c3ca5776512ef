#include "app/window/typed_row.h"

#include <algorithm>
#include <limits>

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// Returns the end of the text, where the user is typing.
std::string fit_end(ImFont* font, const std::string& text, float room) {
  if (text_width(font, text) <= room) return text;
  for (std::size_t from = 1; from < text.size(); ++from) {
    if ((static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) continue;
    std::string end = "\u2026" + text.substr(from);
    if (text_width(font, end) <= room) return end;
  }
  return "\u2026";
}

/// Returns the bytes of the UTF-8 character at `at`.
std::string_view character_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return text.substr(at, end - at);
}

}  // namespace

bool TypedRow::has_ended(double now_s) const { return !is_text_ && now_s - last_s_ > kRow_s; }

void TypedRow::add(std::string_view typed, std::size_t shortcuts, double now_s) {
  const double gap_s = now_s - last_s_;
  const bool continues = count_ > 0;
  const std::size_t different_before = different_.size();
  std::size_t added = 0;
  for (std::size_t at = 0; at < typed.size();) {
    const std::string_view character = character_at(typed, at);
    at += character.size();
    const bool is_space = character == " ";
    if (is_space && text_.empty()) continue;
    has_other_ = has_other_ || (!is_space && text_.ends_with(' '));  // another word
    text_ += character;
    if (is_space) continue;
    ++added;
    different_.emplace(character);
    const bool is_step = character == "," || character == ".";
    shortcuts += is_step ? 1U : 0U;
    has_letter_ = has_letter_ || (!is_step && (character < "0" || character > "9" || character.size() > 1));
  }
  if (!text_.empty()) last_s_ = now_s;
  if (added == 0) return;
  count_ += added;
  letter_s_ = now_s;
  has_other_ = has_other_ || added > shortcuts;
  is_quick_ = is_quick_ && (!continues || gap_s < kQuickRow_s);
  const bool follows_at_once = different_.size() > different_before && (!continues || gap_s < kSecondLetter_s);
  is_text_ = is_text_ || (has_letter_ && different_.size() > 1 &&
                          (follows_at_once || has_other_ || (different_.size() > 2 && is_quick_)));
}

void TypedRow::erase_last() {
  while (!text_.empty() && (static_cast<unsigned char>(text_.back()) & 0xC0U) == 0x80U) text_.pop_back();
  if (!text_.empty()) text_.pop_back();
}

bool TypedRow::may_run(double now_s) const {
  const bool is_repeated = count_ > 1 && different_.size() == 1;
  return !is_text_ && (is_repeated || !has_letter_ || now_s - letter_s_ >= kSecondLetter_s);
}

double TypedRow::wait_s(double now_s) const {
  if (is_empty() || is_text_) return std::numeric_limits<double>::infinity();
  return std::max(letter_s_ + kSecondLetter_s - now_s, 0.0);
}

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
