#include <set>

#include "app/widgets/patch_picture.h"
#include "app/window/sidebar/lesson_questions.h"

namespace headlight::app {
namespace {

using What = LessonChoice::What;

constexpr const char* kDone = "\u2713";
constexpr float kStateGap = 2.0F;

/// What the panel draws with, in one frame.
struct LessonDrawing {
  Frame& frame;
  const LessonPlayer& player;
  const LessonProgress& progress;
  LessonPanelMemory& memory;
  LessonChoice& choice;
  LessonWords words;
};

void draw_text(Frame& frame, const std::string& text, ImFont* font, shell::Color color) {
  frame.ui.ensure_glyphs(text);
  write_wrapped(font, color, text);
}

void draw_note(Frame& frame, const std::string& text) {
  draw_text(frame, text, frame.ui.fonts().small, frame.ui.theme().text_dim);
}

/// Draws the field for a name in the results, where these are written.
void draw_name(const LessonDrawing& drawing) {
  Frame& frame = drawing.frame;
  if (drawing.memory.results.empty()) return;
  draw_note(frame, fmt::format(fmt::runtime(drawing.words["results"]), drawing.memory.results));
  frame.ui.text_field("##name", drawing.memory.name, {.hint = drawing.words["name"], .limit = 80});
  mark_last_item(frame, "lesson.name", drawing.words["name"]);
}

/// Describes how far a lesson is: "passed · 7 of 9 questions right at the first try".
std::string state_of(const LessonDrawing& drawing, const Lesson& lesson) {
  const LessonWords& words = drawing.words;
  const LessonProgress& progress = drawing.progress;
  const auto left = progress.cards.find(lesson.id);
  const bool is_passed = progress.completed.contains(lesson.id);
  std::vector<std::string> parts;
  if (is_passed) parts.push_back(fmt::format("{} {}", kDone, words["passed"]));
  if (left != progress.cards.end() && left->second > 0 && left->second < lesson.cards.size()) {
    parts.push_back(fmt::format(fmt::runtime(words["at_card"]), left->second + 1, lesson.cards.size()));
  }
  const Lesson* before = drawing.player.list().before(lesson.id);
  if (parts.empty()) parts.push_back(fmt::format(fmt::runtime(words["minutes"]), lesson.minutes));
  if (!is_passed && before && !progress.completed.contains(before->id)) {
    parts.push_back(fmt::format(fmt::runtime(words["after"]), before->title));
  }
  if (const auto marks = progress.marks.find(lesson.id); is_passed && marks != progress.marks.end()) {
    std::size_t first = 0, all = 0;
    for (const auto& [card, mark] : marks->second) {
      if (card >= lesson.cards.size() || !lesson.cards[card].has_question() || mark.right == 0) continue;
      ++all;
      first += mark.wrong == 0 ? 1U : 0U;
    }
    if (all > 0) parts.push_back(fmt::format(fmt::runtime(words["first_tries"]), first, all));
  }
  return fmt::format("{}", fmt::join(parts, " \u00B7 "));
}

/// Draws a lesson of the list as an item; `is_next`: it is outlined.
void draw_entry(const LessonDrawing& drawing, const Lesson& lesson, bool is_next) {
  Frame& frame = drawing.frame;
  const shell::Theme& theme = frame.ui.theme();
  constexpr float kIndent = 8.0F;
  ImFont* small = frame.ui.fonts().small;
  const std::string state = state_of(drawing, lesson);
  frame.ui.ensure_glyphs(lesson.title + state);
  const glm::vec2 from = cursor_position();
  const float room = width_left() - 2.0F * kIndent;
  const std::vector<std::string> title = break_lines(ImGui::GetFont(), lesson.title, room);
  const std::vector<std::string> below = break_lines(small, state, room);
  const float line = ImGui::GetTextLineHeight(), low = font_size(small) + 1.0F;
  const float height = static_cast<float>(title.size()) * line + static_cast<float>(below.size()) * low + 10.0F;
  const auto index = static_cast<std::size_t>(&lesson - drawing.player.list().lessons.data());
  ImGui::PushID(lesson.id.c_str());
  if (ImGui::Selectable("##lesson", false, 0, {width_left(), height})) {
    drawing.choice = {.what = What::Start, .lesson = index};
  }
  mark_last_item(frame, "lesson.start." + lesson.id,
                 lesson.summary.empty() ? drawing.words["start_tip"] : lesson.summary.c_str());
  ImGui::PopID();
  if (is_next) {
    outline_rect(from, from + glm::vec2(room + 2.0F * kIndent, height), theme.accent, 4.0F, 1.5F);
    frame.mark("lesson.next_one", {.origin = from, .size = {room, height}});
  }
  const bool is_passed = drawing.progress.completed.contains(lesson.id);
  glm::vec2 at = from + glm::vec2(kIndent, 4.0F);
  for (const std::string& text : title) {
    put_text(ImGui::GetFont(), at, theme.text, text);
    at.y += line;
  }
  at.y += kStateGap;
  for (const std::string& text : below) {
    put_text(small, at, is_passed ? theme.accent : theme.text_dim, text);
    at.y += low;
  }
}

void draw_list(const LessonDrawing& drawing) {
  Frame& frame = drawing.frame;
  const LessonWords& words = drawing.words;
  const shell::Theme& theme = frame.ui.theme();
  const LessonList& list = drawing.player.list();
  draw_text(frame, words["lessons"], frame.ui.fonts().strong, theme.text);
  draw_note(frame, words["about"]);
  const std::vector<std::string> course = lessons_of(list.parts);
  const auto is_passed = [&](const std::string& id) { return drawing.progress.completed.contains(id); };
  const auto passed = std::ranges::count_if(course, is_passed);
  const Lesson* next = list.next(drawing.progress);
  if (!course.empty()) {
    const bool is_finished = static_cast<std::size_t>(passed) == course.size();
    draw_text(frame,
              fmt::format(fmt::runtime(is_finished ? words["all_passed"] : words["passed_of"]), passed, course.size()),
              frame.ui.fonts().strong, is_finished ? theme.accent : theme.text);
    frame.mark(is_finished ? "lesson.finished" : "lesson.passed", last_item_rect());
  }
  draw_name(drawing);
  const shell::ControlGroup group(frame.ui.keyboard(), "lessons");
  const auto draw_title = [&](const std::string& title) {
    ImGui::Spacing();
    draw_text(frame, title, frame.ui.fonts().strong, theme.text_dim);
  };
  for (const CoursePart& part : list.parts) {
    draw_title(part.title);
    for (const std::string& id : part.lessons) {
      if (const Lesson* lesson = list.find(id)) draw_entry(drawing, *lesson, lesson == next);
    }
  }
  const std::set<std::string> known(course.begin(), course.end());
  bool has_own = false;
  for (const Lesson& lesson : list.lessons) {
    if (known.contains(lesson.id)) continue;
    if (!std::exchange(has_own, true)) draw_title(words["own"]);
    draw_entry(drawing, lesson, false);
  }
  for (const std::string& problem : list.problems) {
    draw_text(frame, problem, frame.ui.fonts().small, theme.warning);
  }
  if (list.lessons.empty()) draw_note(frame, words["no_lessons"]);
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

void draw_card(const LessonDrawing& drawing) {
  Frame& frame = drawing.frame;
  const LessonPlayer& player = drawing.player;
  const LessonWords& words = drawing.words;
  const shell::Theme& theme = frame.ui.theme();
  const Lesson& lesson = player.played();
  const LessonCard& card = player.card();
  draw_note(frame, fmt::format("{} \u00B7 {} / {}", lesson.title, player.card_index() + 1, lesson.cards.size()));
  if (player.is_repeat()) {
    draw_text(frame, words["repeat"], frame.ui.fonts().small, theme.warning);
    frame.mark("lesson.repeat", last_item_rect());
  }
  draw_rich_text(frame, card.title, frame.ui.fonts().strong, theme.text);
  for (const std::string& paragraph : card.paragraphs) draw_paragraph(frame, paragraph);
  if (player.explains_indices()) draw_note(frame, words["place"]);
  if (card.image) draw_image(frame, *card.image, player.openings());
  if (player.card_index() == 0) draw_name(drawing);
  const bool is_done = player.is_card_done();
  if (!card.task.empty()) {
    draw_rich_text(frame, fmt::format("{} {}", is_done ? kDone : "\u2192", card.task), frame.ui.fonts().strong,
                   is_done ? theme.accent : theme.text);
    frame.mark(is_done ? "lesson.task.done" : "lesson.task", last_item_rect());
  }
  if (card.tries.times > 1) {
    draw_note(frame, fmt::format(fmt::runtime(words["streak"]), player.streak(), card.tries.times));
    frame.mark("lesson.streak", last_item_rect());
  }
  for (std::size_t i = 0; i < card.done.size(); ++i) {
    draw_question({.frame = frame,
                   .player = player,
                   .words = words,
                   .number = i,
                   .draft = drawing.memory.drafts[i],
                   .choice = drawing.choice});
  }
  frame.mark("lesson.asked", last_item_rect());
  if (is_done && card.has_question()) {
    draw_note(frame, player.has_missed() ? words["later"] : words["first_try"]);
    frame.mark(player.has_missed() ? "lesson.later" : "lesson.first_try", last_item_rect());
  }
  if (is_done) {
    for (const std::string& paragraph : card.reveal) draw_paragraph(frame, paragraph);
  }
  // The printed numbers would answer the card's questions.
  if (card.numbers && (is_done || !card.conceals)) {
    draw_lesson_numbers(frame, *card.numbers, player.departure(frame.state, words), words);
  }
}

/// Draws a button for each language that isn't shown. The file's own language, English, is the one without a name.
void draw_languages(const LessonDrawing& drawing, const std::set<std::string>& languages, float width) {
  for (const std::string& language : languages) {
    const bool is_shown = drawing.player.language() == language;
    const std::string label = is_shown ? std::string("en") : language;
    ImGui::SameLine();
    if (draw_button(drawing.frame, "lesson.language." + label, label.c_str(), drawing.words["language_tip"], width)) {
      drawing.choice = {.what = What::ChooseLanguage, .language = is_shown ? std::string() : language};
    }
  }
}

void draw_card_footer(const LessonDrawing& drawing) {
  Frame& frame = drawing.frame;
  const LessonPlayer& player = drawing.player;
  const LessonWords& words = drawing.words;
  const Lesson& lesson = player.played();
  const bool is_done = player.is_card_done();
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float width = std::floor((width_left() - 2.0F * gap) / 3.0F);
  if (draw_button(frame, "lesson.back", words["back"], words["back_tip"], width)) drawing.choice = {.what = What::GoBack};
  ImGui::SameLine();
  if (draw_button(frame, "lesson.again", words["again"], words["again_tip"], width)) drawing.choice = {.what = What::Reopen};
  ImGui::SameLine();
  const bool is_last = player.card_index() + 1 == lesson.cards.size() && !player.is_repeat();
  if (is_done) ImGui::PushStyleColor(ImGuiCol_Button, frame.ui.theme().active);
  if (draw_button(frame, "lesson.next",
                  !is_done  ? words["skip"]
                  : is_last ? words["finish"]
                            : words["next"],
                  words["next_tip"], width)) {
    drawing.choice = {.what = What::GoOn};
  }
  if (is_done) ImGui::PopStyleColor();
  const auto places = static_cast<float>(3 + lesson.languages.size());
  const float narrow = std::floor((width_left() - (places - 1.0F) * gap) / places);
  if (draw_button(frame, "lesson.list", fmt::format("{}##list", words["list"]).c_str(), words["list_tip"], narrow)) {
    drawing.choice = {.what = What::ShowList};
  }
  ImGui::SameLine();
  if (draw_button(frame, "lesson.restart", words["restart"], words["restart_tip"], narrow)) {
    const auto index = static_cast<std::size_t>(&lesson - player.list().lessons.data());
    drawing.choice = {.what = What::Restart, .lesson = index};
  }
  ImGui::SameLine();
  if (draw_button(frame, "lesson.close", words["close"], words["close_tip"], narrow)) drawing.choice = {.what = What::Close};
  draw_languages(drawing, lesson.languages, narrow);
}

void draw_list_footer(const LessonDrawing& drawing) {
  std::set<std::string> languages;
  for (const Lesson& lesson : drawing.player.list().lessons)
    languages.insert(lesson.languages.begin(), lesson.languages.end());
  if (draw_button(drawing.frame, "lesson.close", drawing.words["close"], drawing.words["close_tip"], 96.0F)) {
    drawing.choice = {.what = What::Close};
  }
  draw_languages(drawing, languages, 0.0F);
}

}  // namespace

LessonChoice draw_lesson_panel(Frame& frame, const LessonPlayer& player, const LessonProgress& progress,
                               LessonPanelMemory& memory) {
  LessonChoice choice;
  const Lesson* lesson = player.lesson();
  const bool has_language = !lesson || lesson->languages.contains(player.language());
  const LessonDrawing drawing{.frame = frame,
                              .player = player,
                              .progress = progress,
                              .memory = memory,
                              .choice = choice,
                              .words = {has_language ? player.language() : std::string()}};
  const float room = std::max(height_left() - memory.footer, 40.0F);
  // The content is as wide as beside a scroll bar, also where there is none: a table that only fits without it would come
  // and go with it.
  ImGui::SetNextWindowContentSize({std::max(width_left() - ImGui::GetStyle().ScrollbarSize, 1.0F), 0.0F});
  const bool is_opened = std::exchange(memory.opening, player.openings()) != player.openings();
  if (is_opened) memory.drafts.clear();
  if (ImGui::BeginChild("lesson content", {0.0F, room}, false, ImGuiWindowFlags_NoBackground)) {
    if (is_opened) ImGui::SetScrollY(0.0F);
    lesson ? draw_card(drawing) : draw_list(drawing);
  }
  ImGui::EndChild();
  const float footer = ImGui::GetCursorPosY();
  lesson ? draw_card_footer(drawing) : draw_list_footer(drawing);
  const float height = ImGui::GetCursorPosY() - footer + ImGui::GetStyle().ItemSpacing.y;
  if (height != std::exchange(memory.footer, height)) frame.ui.request_redraw(2);
  return choice;
}

}  // namespace headlight::app
