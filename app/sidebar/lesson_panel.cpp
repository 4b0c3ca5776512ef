#include "app/sidebar/lesson_panel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

using What = LessonChoice::What;

/// Larger tables of printed numbers are only compared.
constexpr std::uint32_t kMostShown = 8;
constexpr const char* kDone = "\u2713";

void draw_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  const Ink ink(font, color);
  ImGui::PushTextWrapPos(0.0F);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
}

void draw_note(Frame& frame, const std::string& text) {
  draw_text(frame, text, frame.ui.fonts().small, frame.ui.theme().text_dim);
}

/// Where the lesson was left, or that it is completed.
std::string progress_text(const Lesson& lesson, const LessonProgress& progress) {
  const auto left = progress.cards.find(lesson.id);
  if (left != progress.cards.end() && left->second < lesson.cards.size()) {
    return fmt::format("card {} of {}", left->second + 1, lesson.cards.size());
  }
  return progress.completed.contains(lesson.id) ? fmt::format("{} done", kDone) : fmt::format("{} min", lesson.minutes);
}

void draw_list(Frame& frame, const LessonPlayer& player, const LessonProgress& progress, LessonChoice& choice) {
  const shell::Theme& theme = frame.ui.theme();
  draw_text(frame, "Lessons", frame.ui.fonts().strong, theme.text);
  draw_note(frame, "Each lesson is played beside the live views and completed by doing.");
  const shell::ControlGroup group(frame.ui.keyboard(), "lessons");
  for (std::size_t i = 0; i < player.list().lessons.size(); ++i) {
    const Lesson& lesson = player.list().lessons[i];
    const std::string state = progress_text(lesson, progress);
    ImGui::PushID(static_cast<int>(i));
    const float right = ImGui::GetContentRegionAvail().x;
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const float height = ImGui::GetTextLineHeight() + font_size(frame.ui.fonts().small) + 8.0F;
    if (ImGui::Selectable("##lesson", false, 0, {right, height})) choice = {.what = What::Start, .lesson = i};
    mark_last_item(frame, "lesson.start." + lesson.id, lesson.summary.c_str());
    ImGui::PopID();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImFont* small = frame.ui.fonts().small;
    const ImVec2 end = {from.x + right, from.y + height};
    list->PushClipRect(from, end, true);
    list->AddText({from.x, from.y + 2.0F}, theme.text, lesson.title.c_str());
    const float below = from.y + 4.0F + ImGui::GetTextLineHeight();
    list->AddText(small, font_size(small), {from.x, below}, theme.text_dim, state.c_str());
    list->PopClipRect();
  }
  for (const std::string& problem : player.list().problems) {
    draw_text(frame, problem, frame.ui.fonts().small, theme.warning);
  }
  if (player.list().lessons.empty()) draw_note(frame, "This installation has no lessons.");
}

/// The room of a digit where all have the same: the widest digit's.
float digit_width() {
  float width = 0.0F;
  for (char digit = '0'; digit <= '9'; ++digit) width = std::max(width, ImGui::CalcTextSize(&digit, &digit + 1).x);
  return width;
}

/// Writes a number whose last digit ends at `right`, with digits of one width, so that those of a column stand below each
/// other.
void draw_digits(const std::string& number, ImVec2 right_top, float digit) {
  const ImU32 color = ImGui::GetColorU32(ImGuiCol_Text);
  float right = right_top.x;
  for (std::size_t i = number.size(); i-- > 0;) {
    const char* character = &number[i];
    const float width = ImGui::CalcTextSize(character, character + 1).x;
    const float room = *character >= '0' && *character <= '9' ? digit : width;
    ImGui::GetWindowDrawList()->AddText({std::round(right - (room + width) * 0.5F), right_top.y}, color, character,
                                        character + 1);
    right -= room;
  }
}

/// The width of what draw_digits draws.
float digits_width(const std::string& number, float digit) {
  float width = 0.0F;
  for (const char& character : number) {
    width += character >= '0' && character <= '9' ? digit : ImGui::CalcTextSize(&character, &character + 1).x;
  }
  return width;
}

/// Rows of numbers in columns of one width, with as many decimals as fit; nothing where not even two do.
void draw_table(Frame& frame, const std::string& title, const PrintedNumbers& numbers, std::span<const float> values) {
  constexpr float kGap = 8.0F;
  constexpr int kFewestDecimals = 2;
  const std::uint32_t columns = numbers.query.columns;
  const float room = ImGui::GetContentRegionAvail().x + kGap;
  std::vector<std::string> texts;
  float step = room;
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text);
  const float digit = digit_width();
  for (int decimals = numbers.decimals; static_cast<float>(columns) * step >= room && decimals >= kFewestDecimals;
       --decimals) {
    texts.clear();
    step = 0.0F;
    for (const float value : values) {
      texts.push_back(fmt::format("{:.{}f}", value, decimals));
      step = std::max(step, std::ceil(digits_width(texts.back(), digit) + kGap));
    }
  }
  if (static_cast<float>(columns) * step > room) return;
  draw_note(frame, title);
  for (std::size_t first = 0; first < texts.size(); first += columns) {
    const ImVec2 line = ImGui::GetCursorScreenPos();
    for (std::uint32_t column = 0; column < columns; ++column) {
      draw_digits(texts[first + column], {line.x + static_cast<float>(column + 1) * step - kGap, line.y}, digit);
    }
    ImGui::Dummy({static_cast<float>(columns) * step - kGap, ImGui::GetTextLineHeight()});
  }
}

void draw_numbers(Frame& frame, const PrintedNumbers& numbers) {
  if (const inference::NotebookEdits& edits = notebook_edits(frame.state.source); !edits.is_empty()) {
    draw_note(frame, fmt::format("The printed numbers are not compared: the notebook was changed ({}).",
                                 fmt::join(inference::words_of(edits), " \u00B7 ")));
    frame.mark("lesson.numbers.changed", last_item_rect());
    return;
  }
  const shell::Theme& theme = frame.ui.theme();
  ImGui::Spacing();
  const Quantity& shown = quantity(numbers.query.quantity);
  const auto shape = frame.result.shapes.find(numbers.query.block);
  const auto extent = shape == frame.result.shapes.end() ? std::nullopt : shown.shape(shape->second);
  const bool is_inside = extent && numbers.query.batch < shape->second.batch && numbers.query.head < shape->second.heads &&
                         numbers.query.row + numbers.query.rows <= extent->rows &&
                         numbers.query.column + numbers.query.columns <= extent->columns;
  const EngineTile* tile = is_inside ? frame.ask(numbers.query) : nullptr;
  const bool is_small = numbers.query.columns <= kMostShown && numbers.query.rows <= kMostShown;
  const auto draw_printed = [&] {
    if (is_small) draw_table(frame, fmt::format("Printed by {}", numbers.source), numbers, numbers.values);
  };
  if (!tile || tile->tile->values.size() != numbers.values.size()) {
    draw_note(frame,
              is_inside ? "Headlight computes them\u2026" : "What is on screen has no such numbers: see the card again.");
    return draw_printed();
  }
  const std::vector<float>& ours = tile->tile->values;
  double largest = 0.0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(double{ours[i]} - double{numbers.values[i]});
    largest = std::isnan(difference) ? difference : std::max(largest, difference);
  }
  const bool agrees = largest <= numbers.tolerance();  // NaN never does
  draw_text(frame,
            agrees
                ? fmt::format("{} The printed numbers and Headlight's agree: the largest difference is {:.1e}, printed were "
                              "{} decimals.",
                              kDone, largest, numbers.decimals)
                : fmt::format("The printed numbers and Headlight's differ by {:.3g}: the model, its mask or its text isn't "
                              "the card's any more.",
                              largest),
            frame.ui.fonts().small, agrees ? theme.accent : theme.warning);
  frame.mark(agrees ? "lesson.numbers.agree" : "lesson.numbers.differ", last_item_rect());
  // Behind the verdict, which a low panel shows without scrolling.
  draw_printed();
  if (is_small) draw_table(frame, "Computed here", numbers, ours);
}

void draw_card(Frame& frame, const LessonPlayer& player) {
  const shell::Theme& theme = frame.ui.theme();
  const Lesson& lesson = player.played();
  const LessonCard& card = player.card();
  draw_note(frame, fmt::format("{} \u00B7 {} of {}", lesson.title, player.card_index() + 1, lesson.cards.size()));
  draw_text(frame, card.title, frame.ui.fonts().strong, theme.text);
  for (const std::string& paragraph : card.paragraphs) {
    draw_text(frame, paragraph, ImGui::GetFont(), theme.text);
    ImGui::Dummy({1.0F, 2.0F});
  }
  if (card.numbers) draw_numbers(frame, *card.numbers);
}

/// A button of this part of the row's width.
bool draw_button(Frame& frame, const char* label, const char* name, float width, const char* explanation = nullptr) {
  const bool was_clicked = ImGui::Button(label, {width, 0.0F});
  mark_last_item(frame, name, explanation);
  return was_clicked;
}

void draw_card_footer(Frame& frame, const LessonPlayer& player, LessonChoice& choice) {
  const shell::Theme& theme = frame.ui.theme();
  const Lesson& lesson = player.played();
  const LessonCard& card = player.card();
  const bool is_done = player.is_card_done();
  if (!card.task.empty()) {
    draw_text(frame, fmt::format("{} {}", is_done ? kDone : "\u2192", card.task), frame.ui.fonts().strong,
              is_done ? theme.accent : theme.text);
    frame.mark(is_done ? "lesson.task.done" : "lesson.task", last_item_rect());
    ImGui::Dummy({1.0F, 2.0F});
  }
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float width = std::floor((ImGui::GetContentRegionAvail().x - 2.0F * gap) / 3.0F);
  if (draw_button(frame, "Back", "lesson.back", width, "The card before.")) choice = {.what = What::GoBack};
  ImGui::SameLine();
  if (draw_button(frame, "Again", "lesson.again", width, "Sets up this card's state again."))
    choice = {.what = What::Reopen};
  ImGui::SameLine();
  const bool is_last = player.card_index() + 1 == lesson.cards.size();
  if (is_done) ImGui::PushStyleColor(ImGuiCol_Button, theme.active);
  if (draw_button(frame, !is_done ? "Skip" : is_last ? "Finish" : "Next", "lesson.next", width)) {
    choice = {.what = What::GoOn};
  }
  if (is_done) ImGui::PopStyleColor();
  if (draw_button(frame, "Lessons", "lesson.list", width, "All lessons. This one goes on where it is."))
    choice = {.what = What::ShowList};
  ImGui::SameLine();
  if (draw_button(frame, "Restart", "lesson.restart", width, "Begins this lesson again, from its first card.")) {
    const auto index = static_cast<std::size_t>(&lesson - player.list().lessons.data());
    choice = {.what = What::Restart, .lesson = index};
  }
  ImGui::SameLine();
  if (draw_button(frame, "Close", "lesson.close", width)) choice = {.what = What::Close};
}

}  // namespace

LessonChoice draw_lesson_panel(Frame& frame, const LessonPlayer& player, const LessonProgress& progress,
                               LessonPanelMemory& memory) {
  LessonChoice choice;
  const float top = ImGui::GetCursorPosY();
  const float room = std::max(ImGui::GetContentRegionAvail().y - memory.footer, 40.0F);
  float content = 0.0F;
  // As wide as beside a scroll bar, also where there is none: a table that only fits without it would come and go with it.
  ImGui::SetNextWindowContentSize(
      {std::max(ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize, 1.0F), 0.0F});
  if (ImGui::BeginChild("lesson content", {0.0F, room}, false, ImGuiWindowFlags_NoBackground)) {
    if (player.lesson()) {
      draw_card(frame, player);
    } else {
      draw_list(frame, player, progress, choice);
    }
    content = ImGui::GetCursorPosY();
  }
  ImGui::EndChild();
  const float footer = ImGui::GetCursorPosY();
  if (player.lesson()) {
    draw_card_footer(frame, player, choice);
  } else if (draw_button(frame, "Close", "lesson.close", 96.0F)) {
    choice = {.what = What::Close};
  }
  memory.footer = ImGui::GetCursorPosY() - footer + ImGui::GetStyle().ItemSpacing.y;
  if (content > 0.0F) memory.wanted = std::ceil(2.0F * top + content + memory.footer);
  // A line below, as between the sidebar's sections.
  const ImVec2 origin = ImGui::GetWindowPos();
  const float bottom = origin.y + ImGui::GetWindowHeight() - 0.5F;
  ImGui::GetWindowDrawList()->AddLine({origin.x, bottom}, {origin.x + ImGui::GetWindowWidth(), bottom},
                                      frame.ui.theme().border);
  return choice;
}

}  // namespace headlight::app
