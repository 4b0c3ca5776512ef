#include "app/window/dialogs/welcome_panel.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kEdge = 16.0F;
constexpr float kTop = 10.0F;
constexpr float kHeading = 24.0F;  // with the gap below it
constexpr float kBottom = 10.0F;
constexpr float kCardHeight = 62.0F;
constexpr float kSummaryLine = 15.0F;
constexpr std::size_t kMaxSummaryLines = 2;
constexpr float kWelcomeGap = 6.0F;
constexpr float kNarrowest = 172.0F;    // card
constexpr float kWelcomeInset = 12.0F;  // of a card's text

struct Grid {
  std::size_t columns = 1, rows = 1;
  float card_width = 0.0F;
};

/// Lays the cards out in as few rows as the narrowest card allows, spread evenly over them.
Grid lay_out(std::size_t cards, float width) {
  const float room = std::max(width - 2.0F * kEdge, kNarrowest);
  const auto most = std::max<std::size_t>(static_cast<std::size_t>((room + kWelcomeGap) / (kNarrowest + kWelcomeGap)), 1);
  Grid grid;
  grid.rows = (std::max<std::size_t>(cards, 1) + most - 1) / most;
  grid.columns = (std::max<std::size_t>(cards, 1) + grid.rows - 1) / grid.rows;
  grid.card_width =
      std::floor((room - kWelcomeGap * static_cast<float>(grid.columns - 1)) / static_cast<float>(grid.columns));
  return grid;
}

shell::Color role_of(WelcomeCard::Kind kind, const shell::Theme& theme) {
  switch (kind) {
    case WelcomeCard::Kind::Captions:
      return theme.query;
    case WelcomeCard::Kind::Translator:
      return theme.output;
    case WelcomeCard::Kind::Lessons:
      return theme.value;
    case WelcomeCard::Kind::Notebooks:
    case WelcomeCard::Kind::Preset:
      return theme.key;
    case WelcomeCard::Kind::Browse:
      break;
  }
  return theme.accent;
}

/// Returns whether the card was clicked.
bool draw_card(Frame& frame, const WelcomeCard& card, std::size_t index, const chart::Rect& box, bool has_focus) {
  const shell::Theme& theme = frame.ui.theme();
  const shell::FontSet& fonts = frame.ui.fonts();
  ImGui::SetCursorScreenPos(box.origin);
  ImGui::PushID(static_cast<int>(index));
  const bool was_clicked = click_area("card", box.size);
  ImGui::PopID();
  frame.mark(fmt::format("welcome.{}", index), box);
  frame.ui.keyboard().offer_last_item();
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  const float room = box.size.x - 2.0F * kWelcomeInset;
  std::vector<std::string> summary = break_lines(fonts.small, card.summary, room);
  if (summary.size() > kMaxSummaryLines) {
    explain_last_item(frame, card.summary.c_str());
    summary.resize(kMaxSummaryLines);
    summary.back() = fit_text(fonts.small, summary.back() + " \u2026", room);
  }

  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 low = box.origin, high = box.end();
  list->AddRectFilled(low, high, is_hovered ? theme.hover : card.is_shown ? theme.active : theme.field, 6.0F);
  list->AddRect(low, high, has_focus ? theme.accent : theme.border, 6.0F, 0, has_focus ? 2.0F : 1.0F);
  list->AddRectFilled({low.x, low.y + 10.0F}, {low.x + 3.0F, high.y - 10.0F}, role_of(card.kind, theme), 1.5F);
  const std::string title = fit_text(fonts.strong, card.title, room);
  put_text(fonts.strong, {low.x + kWelcomeInset, low.y + 6.0F}, theme.text, title);
  float y = low.y + 27.0F;
  for (const std::string& line : summary) {
    put_text(fonts.small, {low.x + kWelcomeInset, y}, theme.text_dim, line);
    y += kSummaryLine;
  }
  if (!card.list.empty()) {  // it opens
    const ImVec2 tip(high.x - 14.0F, low.y + 18.0F);
    list->AddTriangleFilled({tip.x - 5.0F, tip.y - 5.0F}, {tip.x + 5.0F, tip.y - 5.0F}, tip, theme.text_dim);
  }
  return was_clicked;
}

/// Returns the user's choice from the list of the last item's card, once the card was clicked.
std::optional<WelcomeCard> choose_from(Frame& frame, const WelcomeCard& card, std::size_t index, bool is_opened) {
  const std::string popup = fmt::format("welcome list {}", index);
  if (is_opened) ImGui::OpenPopup(popup.c_str());
  open_below_last_item(frame);
  if (!ImGui::BeginPopup(popup.c_str())) return std::nullopt;
  std::optional<WelcomeCard> chosen;
  for (const WelcomeCard& entry : card.list) {
    const std::string label = fmt::format("{}: {}", entry.title, entry.summary);
    if (draw_entry(frame, "welcome." + entry.preset, label.c_str(), entry.is_shown)) chosen = entry;
  }
  ImGui::EndPopup();
  return chosen;
}

/// Is the marked card chosen by a key, before Tab has gone anywhere?
bool is_chosen_by_key(const Frame& frame) {
  return frame.ui.is_pressed(shell::Key::Enter) || frame.ui.is_pressed(shell::Key::Space);
}

}  // namespace

float welcome_height(std::size_t cards, float width) {
  const auto rows = static_cast<float>(lay_out(cards, width).rows);
  return kTop + kHeading + rows * kCardHeight + (rows - 1.0F) * kWelcomeGap + kBottom;
}

WelcomeChoice draw_welcome_panel(Frame& frame, std::span<const WelcomeCard> cards, WelcomeMemory& memory) {
  const shell::Theme& theme = frame.ui.theme();
  const ImVec2 origin = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  WelcomeChoice choice;
  if (std::exchange(memory.takes_focus, false)) ImGui::SetWindowFocus();
  memory.card = std::min(memory.card, cards.size() - 1);
  const bool has_focus = ImGui::IsWindowFocused() && !frame.ui.is_typing() && !frame.ui.keyboard().is_active();
  const bool is_chosen = has_focus && is_chosen_by_key(frame);

  ImGui::SetCursorPos({kEdge, kTop});
  write_text(frame.ui.fonts().small, theme.text_dim,
             "Type a sentence and watch every head attend to it, or begin with one of these");
  const float button = ImGui::GetFrameHeight();
  ImGui::SetCursorPos({width - kEdge - button, kTop - 6.0F});
  choice.is_closed = click_area("close", {button, button});
  mark_last_item(frame, "welcome.close");
  explain_last_item(frame, "Close (Esc); Help › Welcome brings it back");
  const glm::vec2 middle = last_item_rect().center();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const shell::Color ink = ImGui::IsItemHovered() ? theme.text : theme.text_dim;
  constexpr float kArm = 4.5F;
  list->AddLine(middle - kArm, middle + kArm, ink, 1.5F);
  list->AddLine({middle.x - kArm, middle.y + kArm}, {middle.x + kArm, middle.y - kArm}, ink, 1.5F);

  const Grid grid = lay_out(cards.size(), width);
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const std::size_t before = i / grid.columns;  // rows of cards
    const auto column = static_cast<float>(i % grid.columns);
    const auto row = static_cast<float>(before);
    const chart::Rect box{.origin = {origin.x + kEdge + column * (grid.card_width + kWelcomeGap),
                                     origin.y + kTop + kHeading + row * (kCardHeight + kWelcomeGap)},
                          .size = {grid.card_width, kCardHeight}};
    const bool was_clicked = draw_card(frame, cards[i], i, box, has_focus && i == memory.card);
    if (was_clicked) memory.card = i;
    const bool is_begun = was_clicked || (is_chosen && i == memory.card);
    if (!cards[i].list.empty()) {
      if (std::optional<WelcomeCard> entry = choose_from(frame, cards[i], i, is_begun)) choice.card = std::move(entry);
    } else if (is_begun) {
      choice.card = cards[i];
    }
  }
  const float bottom = origin.y + ImGui::GetWindowHeight() - 0.5F;
  list->AddLine({origin.x, bottom}, {origin.x + width, bottom}, theme.border);
  return choice;
}

}  // namespace headlight::app
