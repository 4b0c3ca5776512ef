#include "app/window/sidebar/panels.h"

#include <charconv>
#include <system_error>

#include <fmt/ranges.h>

#include "app/lessons/printed_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"

namespace headlight::app {
namespace {

using What = LessonChoice::What;

/// Larger tables of printed numbers are only compared.
constexpr std::uint32_t kMaxShown = 12;
constexpr float kColumnGap = 10.0F;

void draw_line(Frame& frame, const std::string& text, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  write_wrapped(frame.ui.fonts().small, color, text);
}

/// Returns the tile of the run; null: not known yet, or the run has no such numbers.
const attention::Tile* tile_of(Frame& frame, const PrintedNumbers& numbers, bool& is_there) {
  is_there = is_inside(numbers.query, frame.result.shapes);
  const EngineTile* tile = is_there ? frame.ask(numbers.query) : nullptr;
  return tile && tile->tile->values.size() == numbers.values.size() ? tile->tile.get() : nullptr;
}

/// Returns the first digit in which two texts of numbers differ.
std::size_t first_difference(const std::string& printed, const std::string& computed) {
  if (printed.size() != computed.size()) return 0;
  return static_cast<std::size_t>(std::ranges::mismatch(printed, computed).in1 - printed.begin());
}

/// Draws rows of both, in a strip that scrolls sideways where it is wider than the panel. `computed`: empty while unknown.
void draw_both(Frame& frame, const PrintedNumbers& numbers, std::span<const float> computed) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().mono_small;
  const auto text_of = [&](double value) { return fmt::format("{:.{}f}", value, numbers.decimals); };
  float step = 0.0F;
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    step = std::max(step, text_width(font, text_of(numbers.values[i])));
    if (!computed.empty()) step = std::max(step, text_width(font, text_of(computed[i])));
  }
  step += kColumnGap;
  const std::uint32_t columns = numbers.query.columns, rows = numbers.query.rows;
  const float line = font_size(font) + 1.0F, row_height = (computed.empty() ? 1.0F : 2.0F) * line + 5.0F;
  const float names = text_width(font, std::to_string(numbers.query.row + rows - 1)) + kColumnGap;
  const float width = names + static_cast<float>(columns) * step;
  const float height = static_cast<float>(rows) * row_height + line + 2.0F;
  const bool scrolls = width > ImGui::GetContentRegionAvail().x;
  ImGui::BeginChild(
      "numbers", {0.0F, height + (scrolls ? ImGui::GetStyle().ScrollbarSize : 0.0F)}, false,
      ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollWithMouse);
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
  const auto put = [&](const std::string& text, float right, float y, shell::Color color) {
    const glm::vec2 at = glm::round(glm::vec2(origin.x + right - text_width(font, text), origin.y + y));
    put_text(font, at, color, text);
  };
  for (std::uint32_t column = 0; column < columns; ++column) {
    put(std::to_string(numbers.query.column + column), names + static_cast<float>(column + 1) * step - kColumnGap, 0.0F,
        theme.text_dim);
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    const float y = line + 2.0F + static_cast<float>(row) * row_height;
    put(std::to_string(numbers.query.row + row), names - kColumnGap, y, theme.text_dim);
    for (std::uint32_t column = 0; column < columns; ++column) {
      const std::size_t i = std::size_t{row} * columns + column;
      const float right = names + static_cast<float>(column + 1) * step - kColumnGap;
      const std::string printed = text_of(numbers.values[i]);
      put(printed, right, y, theme.text);
      if (computed.empty()) continue;
      const std::string ours = text_of(computed[i]);
      const bool agrees = std::abs(double{computed[i]} - numbers.values[i]) <= numbers.tolerance();
      put(ours, right, y + line, theme.text_dim);
      const std::string differing = ours.substr(first_difference(printed, ours));
      if (!differing.empty()) put(differing, right, y + line, agrees ? theme.accent : theme.warning);
    }
  }
  ImGui::Dummy({width, height});
  ImGui::EndChild();
}

constexpr const char* kDone = "\u2713";

void draw_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  write_wrapped(font, color, text);
}

void draw_note(Frame& frame, const std::string& text) {
  draw_text(frame, text, frame.ui.fonts().small, frame.ui.theme().text_dim);
}

/// Describes where the lesson was left, or that it is completed.
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
    frame.ui.ensure_glyphs(lesson.title);
    const std::vector<std::string> lines = break_lines(ImGui::GetFont(), lesson.title, right);
    const float title = static_cast<float>(lines.size()) * ImGui::GetTextLineHeight();
    const float height = title + font_size(frame.ui.fonts().small) + 8.0F;
    if (ImGui::Selectable("##lesson", false, 0, {right, height})) choice = {.what = What::Start, .lesson = i};
    mark_last_item(frame, "lesson.start." + lesson.id, lesson.summary.c_str());
    ImGui::PopID();
    ImDrawList* list = ImGui::GetWindowDrawList();
    ImFont* small = frame.ui.fonts().small;
    const ImVec2 end = {from.x + right, from.y + height};
    list->PushClipRect(from, end, true);
    float y = from.y + 2.0F;
    for (const std::string& line : lines) {
      list->AddText({from.x, y}, theme.text, line.c_str());
      y += ImGui::GetTextLineHeight();
    }
    put_text(small, {from.x, y + 2.0F}, theme.text_dim, state);
    list->PopClipRect();
  }
  for (const std::string& problem : player.list().problems) {
    draw_text(frame, problem, frame.ui.fonts().small, theme.warning);
  }
  if (player.list().lessons.empty()) draw_note(frame, "This installation has no lessons.");
}

void draw_paragraph(Frame& frame, const std::string& text) {
  draw_rich_text(frame, text, ImGui::GetFont(), frame.ui.theme().text);
  ImGui::Dummy({1.0F, 2.0F});
}

void draw_image(Frame& frame, const exporting::Pixels& image, std::uint64_t revision) {
  const float room = ImGui::GetContentRegionAvail().x;
  const glm::vec2 pixels(image.width, image.height);
  const glm::vec2 size = glm::round(pixels * std::min(room / pixels.x, 1.0F));
  draw_picture(frame, &image, PicturePlace::Lesson, revision, {.origin = to_glm(ImGui::GetCursorScreenPos()), .size = size});
  ImGui::Dummy(size + glm::vec2(0.0F, 4.0F));
  frame.mark("lesson.image", last_item_rect());
}

void draw_choices(Frame& frame, const LessonSubject& subject, const ConditionStanding& standing, std::size_t condition,
                  LessonChoice& choice) {
  const shell::Theme& theme = frame.ui.theme();
  for (std::size_t i = 0; i < subject.choices.size(); ++i) {
    const bool is_chosen = standing.answer == i;
    ImGui::PushID(static_cast<int>(i));
    const glm::vec2 from = to_glm(ImGui::GetCursorScreenPos());
    const float width = ImGui::GetContentRegionAvail().x;
    // The height of the choice is that of its text, which is laid out first and drawn above the ground.
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->ChannelsSplit(2);
    list->ChannelsSetCurrent(1);
    ImGui::SetCursorScreenPos(from + glm::vec2(26.0F, 3.0F));
    draw_rich_text(frame, subject.choices[i], ImGui::GetFont(), theme.text);
    const float height = ImGui::GetCursorScreenPos().y - from.y;
    list->AddCircle({from.x + 12.0F, from.y + 12.0F}, 6.0F, theme.text_dim, 0, 1.5F);
    if (is_chosen) list->AddCircleFilled({from.x + 12.0F, from.y + 12.0F}, 3.5F, theme.accent);
    list->ChannelsSetCurrent(0);
    ImGui::SetCursorScreenPos(from);
    if (ImGui::Selectable("##choice", is_chosen, 0, {width, height})) {
      choice = {.what = What::Answer, .condition = condition, .answer = i};
    }
    mark_last_item(frame, fmt::format("lesson.choice.{}.{}", condition, i));
    list->ChannelsMerge();
    ImGui::PopID();
  }
}

/// Reads "0.56" or "0,56"; nullopt: it is no number.
std::optional<double> typed_number(std::string text) {
  std::ranges::replace(text, ',', '.');
  std::ranges::replace(text, '\n', ' ');
  const auto first = text.find_first_not_of(" +"), last = text.find_last_not_of(' ');
  if (first == std::string::npos) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + last + 1, value);
  const bool is_number = error == std::errc() && end == text.data() + last + 1 && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

void draw_number_field(Frame& frame, const LessonSubject& subject, std::size_t condition, LessonPanelMemory& memory,
                       LessonChoice& choice) {
  constexpr float kFieldWidth = 96.0F;
  std::string& typed = memory.typed[condition];
  draw_note(frame, subject.label);
  const bool is_confirmed = frame.ui.text_field(fmt::format("##number{}", condition).c_str(), typed,
                                                {.width = kFieldWidth, .hint = "0.00", .enter_confirms = true, .limit = 32});
  mark_last_item(frame, fmt::format("lesson.number.{}", condition));
  ImGui::SameLine();
  const bool is_checked =
      draw_button(frame, fmt::format("lesson.check.{}", condition), fmt::format("Check##{}", condition).c_str());
  if (!is_confirmed && !is_checked) return;
  if (const std::optional<double> value = typed_number(typed)) {
    choice = {.what = What::Answer, .condition = condition, .answer = *value};
  }
}

void draw_question(Frame& frame, const LessonPlayer& player, std::size_t condition, LessonPanelMemory& memory,
                   LessonChoice& choice) {
  const LessonCondition& asked = player.card().done[condition];
  const ConditionStanding& standing = player.standings()[condition];
  if (!player.is_card_done()) {
    if (!asked.subject.choices.empty()) draw_choices(frame, asked.subject, standing, condition, choice);
    if (asked.subject.observation->name == "number") draw_number_field(frame, asked.subject, condition, memory, choice);
    if (standing.is_answered_wrong() && !asked.hint.empty()) {
      draw_rich_text(frame, asked.hint, ImGui::GetFont(), frame.ui.theme().warning);
      frame.mark("lesson.hint", last_item_rect());
    }
  } else if (asked.subject.observation->is_answer) {
    const nlohmann::json& right = standing.observed.wanted;
    const bool is_choice = !asked.subject.choices.empty() && right.is_number_unsigned();
    const std::string value = is_choice          ? asked.subject.choices[right.get<std::size_t>()]
                              : right.is_array() ? fmt::format("row {}, column {}", right.at(0).dump(), right.at(1).dump())
                                                 : fmt::format("{:.4g}", right.is_number() ? right.get<double>() : 0.0);
    draw_rich_text(frame, fmt::format("{} {}", kDone, value), frame.ui.fonts().strong, frame.ui.theme().accent);
  }
}

void draw_card(Frame& frame, const LessonPlayer& player, LessonPanelMemory& memory, LessonChoice& choice) {
  const shell::Theme& theme = frame.ui.theme();
  const Lesson& lesson = player.played();
  const LessonCard& card = player.card();
  draw_note(frame, fmt::format("{} \u00B7 {} of {}", lesson.title, player.card_index() + 1, lesson.cards.size()));
  draw_rich_text(frame, card.title, frame.ui.fonts().strong, theme.text);
  for (const std::string& paragraph : card.paragraphs) draw_paragraph(frame, paragraph);
  if (player.explains_indices()) draw_note(frame, "Rows and columns are counted from 0, as their numbers on the axes say.");
  if (card.image) draw_image(frame, *card.image, player.openings());
  const bool is_done = player.is_card_done();
  if (!card.task.empty()) {
    draw_rich_text(frame, fmt::format("{} {}", is_done ? kDone : "\u2192", card.task), frame.ui.fonts().strong,
                   is_done ? theme.accent : theme.text);
    frame.mark(is_done ? "lesson.task.done" : "lesson.task", last_item_rect());
  }
  for (std::size_t i = 0; i < card.done.size(); ++i) draw_question(frame, player, i, memory, choice);
  frame.mark("lesson.asked", last_item_rect());
  if (is_done) {
    for (const std::string& paragraph : card.reveal) draw_paragraph(frame, paragraph);
  }
  // The printed numbers would answer the card's questions.
  if (card.numbers && (is_done || !card.conceals)) {
    draw_lesson_numbers(frame, *card.numbers, player.departure(frame.state));
  }
}

void draw_card_footer(Frame& frame, const LessonPlayer& player, LessonChoice& choice) {
  const shell::Theme& theme = frame.ui.theme();
  const Lesson& lesson = player.played();
  const bool is_done = player.is_card_done();
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float width = std::floor((ImGui::GetContentRegionAvail().x - 2.0F * gap) / 3.0F);
  if (draw_button(frame, "lesson.back", "Back", "The card before.", width)) choice = {.what = What::GoBack};
  ImGui::SameLine();
  if (draw_button(frame, "lesson.again", "Again", "Sets up this card's state again.", width))
    choice = {.what = What::Reopen};
  ImGui::SameLine();
  const bool is_last = player.card_index() + 1 == lesson.cards.size();
  if (is_done) ImGui::PushStyleColor(ImGuiCol_Button, theme.active);
  if (draw_button(frame, "lesson.next", !is_done ? "Skip" : is_last ? "Finish" : "Next", nullptr, width)) {
    choice = {.what = What::GoOn};
  }
  if (is_done) ImGui::PopStyleColor();
  const auto places = static_cast<float>(3 + lesson.languages.size());
  const float narrow = std::floor((ImGui::GetContentRegionAvail().x - (places - 1.0F) * gap) / places);
  if (draw_button(frame, "lesson.list", "Lessons", "All lessons. This one goes on where it is.", narrow))
    choice = {.what = What::ShowList};
  ImGui::SameLine();
  if (draw_button(frame, "lesson.restart", "Restart", "Begins this lesson again, from its first card.", narrow)) {
    const auto index = static_cast<std::size_t>(&lesson - player.list().lessons.data());
    choice = {.what = What::Restart, .lesson = index};
  }
  ImGui::SameLine();
  if (draw_button(frame, "lesson.close", "Close", nullptr, narrow)) choice = {.what = What::Close};
  // The lesson's own language is the one without a name.
  for (const std::string& language : lesson.languages) {
    const bool is_shown = player.language() == language;
    const std::string label = is_shown ? std::string("en") : language;
    ImGui::SameLine();
    if (draw_button(frame, "lesson.language." + label, label.c_str(), "Shows this lesson in that language.", narrow)) {
      choice = {.what = What::ChooseLanguage, .language = is_shown ? std::string() : language};
    }
  }
}

}  // namespace

LessonChoice draw_lesson_panel(Frame& frame, const LessonPlayer& player, const LessonProgress& progress,
                               LessonPanelMemory& memory) {
  LessonChoice choice;
  const float room = std::max(ImGui::GetContentRegionAvail().y - memory.footer, 40.0F);
  // The content is as wide as beside a scroll bar, also where there is none: a table that only fits without it would come
  // and go with it.
  ImGui::SetNextWindowContentSize(
      {std::max(ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize, 1.0F), 0.0F});
  const bool is_opened = std::exchange(memory.opening, player.openings()) != player.openings();
  if (is_opened) memory.typed.clear();
  if (ImGui::BeginChild("lesson content", {0.0F, room}, false, ImGuiWindowFlags_NoBackground)) {
    if (is_opened) ImGui::SetScrollY(0.0F);
    if (player.lesson()) {
      draw_card(frame, player, memory, choice);
    } else {
      draw_list(frame, player, progress, choice);
    }
  }
  ImGui::EndChild();
  const float footer = ImGui::GetCursorPosY();
  if (player.lesson()) {
    draw_card_footer(frame, player, choice);
  } else if (draw_button(frame, "lesson.close", "Close", nullptr, 96.0F)) {
    choice = {.what = What::Close};
  }
  const float height = ImGui::GetCursorPosY() - footer + ImGui::GetStyle().ItemSpacing.y;
  if (height != std::exchange(memory.footer, height)) frame.ui.request_redraw(2);
  return choice;
}

void draw_lesson_numbers(Frame& frame, const PrintedNumbers& numbers, std::string_view departure) {
  if (const inference::NotebookEdits& edits = notebook_edits(frame.state.source); !edits.is_empty()) {
    draw_line(frame,
              fmt::format("The printed numbers are not compared: the notebook was changed ({}).",
                          fmt::join(inference::words_of(edits), " \u00B7 ")),
              frame.ui.theme().text_dim);
    frame.mark("lesson.numbers.changed", last_item_rect());
    return;
  }
  const shell::Theme& theme = frame.ui.theme();
  ImGui::Spacing();
  bool is_there = false;
  const attention::Tile* tile = tile_of(frame, numbers, is_there);
  std::span<const float> computed;
  if (tile) computed = tile->values;
  if (tile) {
    const bool agrees = agree(numbers, computed);
    draw_line(frame, verdict_of(numbers, computed, departure), agrees ? theme.accent : theme.warning);
    frame.mark(agrees ? "lesson.numbers.agree" : "lesson.numbers.differ", last_item_rect());
  } else {
    draw_line(frame,
              is_there ? "Headlight computes them\u2026" : "What is on screen has no such numbers: see the card again.",
              theme.text_dim);
  }
  // The numbers come after the verdict, which a low panel shows without scrolling.
  if (numbers.query.columns > kMaxShown || numbers.query.rows > kMaxShown) return;
  draw_line(frame, fmt::format("Printed by {}{}", numbers.source, tile ? ", and below it computed here" : ""),
            theme.text_dim);
  draw_both(frame, numbers, computed);
}

}  // namespace headlight::app
