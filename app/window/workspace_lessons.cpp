#include <utility>

#include "app/window/workspace.h"

namespace headlight::app {

void Workspace::read_lessons() {
  if (has_read_lessons_) return;
  has_read_lessons_ = true;
  lessons_ = LessonPlayer(app::read_lessons(lesson_folders()));
}

void Workspace::toggle_lessons() {
  read_lessons();
  if (lessons_.is_open()) return lessons_.close();
  lessons_.open_list();
  show_lessons();
}

void Workspace::show_lessons() {
  settings_.shows_welcome = false;
  is_presenting_ = false;
  if (!layout_.has_sidebar()) toggle_sidebar();
  ui_.request_redraw(2);
}

void Workspace::start_lesson(const std::string& id) {
  read_lessons();
  const std::vector<Lesson>& lessons = lessons_.list().lessons;
  const auto found = std::ranges::find(lessons, id, &Lesson::id);
  if (found == lessons.end()) return;
  change_by_lesson([&](State& state) {
    return lessons_.start(static_cast<std::size_t>(found - lessons.begin()), false, state, settings_.lessons);
  });
  show_lessons();
}

void Workspace::go_on_in_lesson() {
  if (!plays_lesson()) return;
  change_by_lesson([&](State& state) { return lessons_.go_on(state, settings_.lessons); });
}

void Workspace::go_back_in_lesson() {
  if (!plays_lesson()) return;
  change_by_lesson([&](State& state) { return lessons_.go_back(state, settings_.lessons); });
}

template <typename Change>
void Workspace::change_by_lesson(Change&& change) {
  stop_generating();  // and what was done before is a step of its own
  const std::string trouble = change(state_);
  if (!trouble.empty()) notice_ = {.text = trouble, .is_warning = true};
  transient_.pan = {};
  transient_.zoom = 1.0F;
  for (const std::string* text :
       {&state_.text(), &state_.playground().key_text, &state_.model().pair_text, &state_.model().target_text}) {
    ui_.ensure_glyphs(*text);
  }
  ui_.request_redraw(2);
}

void Workspace::take_lesson_choice() {
  using What = LessonChoice::What;
  const LessonChoice choice = std::exchange(lesson_choice_, LessonChoice());
  const auto start = [&](bool restarts) {
    change_by_lesson([&](State& state) { return lessons_.start(choice.lesson, restarts, state, settings_.lessons); });
  };
  switch (choice.what) {
    case What::None:
      return;
    case What::Start:
      return start(false);
    case What::Restart:
      return start(true);
    case What::GoOn:
      return go_on_in_lesson();
    case What::GoBack:
      return go_back_in_lesson();
    case What::Reopen:
      return change_by_lesson([&](State& state) { return lessons_.reopen(state); });
    case What::ShowList:
      lessons_.open_list();
      break;
    case What::Close:
      lessons_.close();
      break;
  }
  ui_.request_redraw(2);
}

}  // namespace headlight::app
