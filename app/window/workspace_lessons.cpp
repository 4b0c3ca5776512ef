
#include "app/shell/imgui_vectors.h"
#include "app/window/workspace.h"
#include "core/error.h"

namespace headlight::app {

void Workspace::read_lessons() {
  if (has_read_lessons_) return;
  has_read_lessons_ = true;
  lessons_ = LessonPlayer(app::read_lessons(lesson_folders(), preferred_language()));
}

void Workspace::toggle_lessons() {
  read_lessons();
  if (lessons_.is_open()) return lessons_.close();
  lessons_.open_list();
  show_lessons();
}

void Workspace::show_lessons() {
  settings_.shows_welcome = false;
  is_card_folded_ = false;
  if (!is_presenting_ && !layout_.has_sidebar()) toggle_sidebar();
  ui_.request_redraw(2);
}

void Workspace::start_lesson(const std::string& id) {
  read_lessons();
  const std::vector<Lesson>& lessons = lessons_.list().lessons;
  const auto found = std::ranges::find(lessons, id, &Lesson::id);
  if (found == lessons.end()) return;
  play_lesson(static_cast<std::size_t>(found - lessons.begin()), false);
}

void Workspace::play_lesson(std::size_t index, bool restarts) {
  change_by_lesson([&](State& state) { return lessons_.start(index, restarts, state, settings_.lessons); });
  show_lessons();
}

void Workspace::show_lesson(const std::filesystem::path& path, std::size_t card) {
  read_lessons();
  play_lesson(lessons_.add(path), true);
  for (std::size_t i = 0; i < card && plays_lesson(); ++i) go_on_in_lesson();
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
  const std::uint64_t opening = lessons_.openings();
  const std::string trouble = change(state_);
  follow_card(trouble, opening);
}

void Workspace::follow_card(const std::string& trouble, std::uint64_t opening) {
  if (!trouble.empty()) notice_ = {.text = trouble, .is_warning = true};
  if (plays_lesson() && lessons_.openings() != opening) begin_card();
  transient_.pan = {};
  transient_.zoom = 1.0F;
  for (const std::string* text :
       {&state_.text(), &state_.playground().key_text, &state_.model().pair_text, &state_.model().target_text}) {
    ui_.ensure_glyphs(*text);
  }
  ui_.request_redraw(2);
}

void Workspace::begin_card() {
  const LessonCard& card = lessons_.card();
  aim_frames_ = kAimFrames;
  // The section that has the control, named by what is before its first point.
  Panes& panes = settings_.panes;
  const std::string section = card.control.substr(0, card.control.find('.'));
  const std::pair<const char*, bool*> sections[] = {{"text", &panes.is_text_open},
                                                    {"compare", &panes.is_compare_open},
                                                    {"model", &panes.is_model_open},
                                                    {"mask", &panes.is_mask_open}};
  for (const auto& [name, is_open] : sections) *is_open = *is_open || section == name;
  if (tell_notes_ && !card.notes.empty()) {
    tell_notes_(fmt::format("{} \u00B7 {} of {}: {}\n  {}\n", lessons_.played().title, lessons_.card_index() + 1,
                            lessons_.played().cards.size(), card.title, card.notes));
  }
}

void Workspace::follow_lesson(double now_s) {
  transient_.aim = lessons_.aim();
  transient_.aim.scrolls = aim_frames_ > 0;
  if (!plays_lesson() || now_s < next_lesson_look_s_) return;
  next_lesson_look_s_ = now_s + kLessonLook_s;
  const std::uint64_t opening = lessons_.openings();
  std::string trouble;
  if (lessons_.reload(state_, trouble)) follow_card(trouble, opening);
}

void Workspace::draw_aim() {
  const std::string& name = transient_.aim.control;
  if (aim_frames_ > 0 && is_current()) {
    const bool is_missing = --aim_frames_ == 0 && !name.empty() && !item_rect(name);
    if (is_missing)
      notice_ = {.text = fmt::format("The card points at '{}', which isn't on screen.", name), .is_warning = true};
    ui_.request_redraw(2);
  }
  const std::optional<view::Rect> control =
      name.empty() || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId) ? std::nullopt : item_rect(name);
  if (!control || layout_.lesson.contains(control->center())) return;  // scrolled away, below the card
  constexpr float kAway = 3.0F, kArrow = 18.0F;
  const shell::Color color = ui_.theme().accent;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const glm::vec2 low = control->origin - kAway, high = control->end() + kAway;
  list->AddRect(low, high, color, 4.0F, 0, 2.0F);
  // From where there is nothing to cover: beside the sidebar, or from the control's side on which there is more room.
  const float y = std::round(control->center().y);
  const bool is_in_sidebar = layout_.sidebar.contains(control->center());
  const bool is_left = !is_in_sidebar && control->center().x > 0.5F * ui_.size().x;
  const float edge = is_in_sidebar ? layout_.sidebar.end().x : is_left ? low.x : high.x;
  const float away = is_left ? -1.0F : 1.0F, tip = edge + away * 2.0F;
  list->AddLine({tip + away * kArrow * 0.5F, y}, {tip + away * kArrow * 1.5F, y}, color, 3.0F);
  list->AddTriangleFilled({tip, y}, {tip + away * kArrow * 0.6F, y - kArrow * 0.4F},
                          {tip + away * kArrow * 0.6F, y + kArrow * 0.4F}, color);
}

void Workspace::take_lesson_choice() {
  using What = LessonChoice::What;
  const LessonChoice choice = std::exchange(lesson_choice_, LessonChoice());
  switch (choice.what) {
    case What::None:
      return;
    case What::Start:
      return play_lesson(choice.lesson, false);
    case What::Restart:
      return play_lesson(choice.lesson, true);
    case What::GoOn:
      return go_on_in_lesson();
    case What::GoBack:
      return go_back_in_lesson();
    case What::Reopen:
      return change_by_lesson([&](State& state) { return lessons_.reopen(state); });
    case What::Answer:
      lessons_.answer(choice.condition, choice.answer);
      break;
    case What::ChooseLanguage:
      lessons_.choose_language(choice.language);
      next_lesson_look_s_ = 0.0;
      break;
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
