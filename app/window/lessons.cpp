#include "app/window/lessons.h"

#include "app/widgets/controls.h"
#include "core/file.h"

namespace headlight::app {

void Lessons::read() {
  if (has_read_lessons_) return;
  has_read_lessons_ = true;
  player_ = LessonPlayer(app::read_lessons(lesson_folders(), preferred_language()));
}

void Lessons::toggle() {
  read();
  if (player_.is_open()) return player_.close();
  player_.open_list();
  show_panel();
}

void Lessons::show_panel() {
  desk_.settings.shows_welcome = false;
  is_card_folded_ = false;
  if (!desk_.is_presenting && !desk_.layout.has_left()) toggle_left(desk_.settings.panes, desk_.layout);
  desk_.ui.request_redraw(2);
}

void Lessons::start(const std::string& id) {
  read();
  const std::vector<Lesson>& lessons = player_.list().lessons;
  const auto found = std::ranges::find(lessons, id, &Lesson::id);
  if (found == lessons.end()) return;
  play(static_cast<std::size_t>(found - lessons.begin()), false);
}

void Lessons::play(std::size_t index, bool restarts) {
  change([&](State& state) { return player_.start(index, restarts, state, desk_.settings.lessons); });
  show_panel();
}

void Lessons::show(const std::filesystem::path& path, std::size_t card) {
  read();
  play(player_.add(path), true);
  for (std::size_t i = 0; i < card && is_playing(); ++i) go_on();
}

void Lessons::go_on() {
  if (!is_playing()) return;
  change([&](State& state) { return player_.go_on(state, desk_.settings.lessons); });
}

void Lessons::go_back() {
  if (!is_playing()) return;
  change([&](State& state) { return player_.go_back(state, desk_.settings.lessons); });
}

template <typename Change>
void Lessons::change(Change&& change) {
  desk_.stop_generating();  // and what was done before is a step of its own
  const std::uint64_t opening = player_.openings();
  const std::string trouble = change(desk_.state);
  follow_card(trouble, opening);
}

void Lessons::follow_card(const std::string& trouble, std::uint64_t opening) {
  if (!trouble.empty()) desk_.warn(trouble);
  if (is_playing() && player_.openings() != opening) begin_card();
  point();
  desk_.transient.pan = {};
  desk_.transient.zoom = 1.0F;
  desk_.ensure_glyphs();
  desk_.ui.request_redraw(2);
}

void Lessons::point() {
  desk_.transient.aim = player_.aim();
  desk_.transient.aim.scrolls = aim_frames_ > 0;
}

void Lessons::begin_card() {
  const LessonCard& card = player_.card();
  aim_frames_ = kAimFrames;
  if (tell_notes_ && !card.notes.empty()) {
    tell_notes_(fmt::format("{} \u00B7 {} of {}: {}\n  {}\n", player_.played().title, player_.card_index() + 1,
                            player_.played().cards.size(), card.title, card.notes));
  }
}

void Lessons::record(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) results_ = read_results(path);
  memory_.results = utf8(path);
  memory_.name = results_.name;
}

void Lessons::write_answers() {
  const std::vector<LessonResults::Answer> answers = player_.take_answers();
  if (answers.empty() || memory_.results.empty()) return;
  results_.name = memory_.name;
  for (const LessonResults::Answer& answer : answers) {
    results_.answers.push_back(answer);
    results_.answers.back().time = time_of_answer();
  }
  desk_.attempt([&] { write_file_atomically(memory_.results, results_text(results_)); });
}

void Lessons::paint_by_keys() {
  constexpr std::array kDigits = {shell::Key::Digit0, shell::Key::Digit1, shell::Key::Digit2, shell::Key::Digit3,
                                  shell::Key::Digit4};
  for (auto& [condition, draft] : memory_.drafts) {
    if (!draft.focused || *draft.focused >= draft.levels.size()) continue;
    for (std::size_t digit = 0; digit < kDigits.size(); ++digit) {
      if (!desk_.ui.take_key(kDigits.at(digit))) continue;
      draft.levels[*draft.focused] = static_cast<std::uint8_t>(digit);
      desk_.ui.request_redraw(2);
    }
  }
}

void Lessons::observe(std::vector<Query>& queries) {
  const bool has_news = player_.observe(desk_.state, desk_.result, queries, desk_.settings.lessons);
  write_answers();
  if (!has_news) return;
  if (player_.wants_try()) desk_.post([this] { reopen(); });
  desk_.ui.request_redraw(2);
}

void Lessons::reopen() {
  change([&](State& state) { return player_.reopen(state, desk_.settings.lessons); });
}

void Lessons::begin_frame() {
  point();
  if (is_playing()) paint_by_keys();
  if (!is_playing() || desk_.now_s < next_look_s_) return;
  next_look_s_ = desk_.now_s + kLook_s;
  const std::uint64_t opening = player_.openings();
  std::string trouble;
  if (player_.reload(desk_.state, trouble)) follow_card(trouble, opening);
}

void Lessons::draw_aim(std::optional<chart::Rect> control, bool is_there) {
  const std::string& name = desk_.transient.aim.control;
  if (aim_frames_ > 0 && desk_.is_current()) {
    const bool is_missing = --aim_frames_ == 0 && !name.empty() && !is_there;
    if (is_missing) desk_.warn(fmt::format("The card points at '{}', which isn't on screen.", name));
    desk_.ui.request_redraw(2);
  }
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId)) return;
  if (!control || desk_.layout.left.contains(control->center())) return;  // scrolled away, below the card
  constexpr float kAway = 3.0F, kArrow = 18.0F;
  const shell::Color color = desk_.ui.theme().accent;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const glm::vec2 low = control->origin - kAway, high = control->end() + kAway;
  list->AddRect(low, high, color, 4.0F, 0, 2.0F);
  // The arrow comes from where it covers little: from below, where the control is in a row above the panes, with a short
  // shaft that ends above the card's first line; else from the control's side on which there is more room.
  const glm::vec2 center = control->center();
  const bool is_above = center.y < desk_.layout.center.origin.y;
  const bool is_left = center.x > 0.5F * desk_.ui.size().x;
  const glm::vec2 along = is_above ? glm::vec2(0.0F, 1.0F) : glm::vec2(is_left ? -1.0F : 1.0F, 0.0F);
  const glm::vec2 across(along.y, along.x);
  const glm::vec2 edge = is_above ? glm::vec2(center.x, high.y) : glm::vec2(is_left ? low.x : high.x, center.y);
  const glm::vec2 tip = glm::round(edge) + along * 2.0F, base = tip + along * kArrow * 0.6F;
  list->AddLine(tip + along * kArrow * 0.5F, tip + along * kArrow * (is_above ? 0.8F : 1.5F), color, 3.0F);
  list->AddTriangleFilled(tip, base - across * kArrow * 0.4F, base + across * kArrow * 0.4F, color);
}

double Lessons::redraw_after_s() const {
  constexpr double kLeast_s = 0.05;
  return is_playing() ? std::max(next_look_s_ - desk_.now_s, kLeast_s) : Feature::redraw_after_s();
}

void Lessons::draw(Frame& frame) {
  const LessonChoice choice = draw_lesson_panel(frame, player_, desk_.settings.lessons, memory_);
  if (choice.what != LessonChoice::What::None) desk_.post([this, choice] { take(choice); });
}

void Lessons::take(const LessonChoice& choice) {
  using What = LessonChoice::What;
  switch (choice.what) {
    case What::None:
      return;
    case What::Start:
      return play(choice.lesson, false);
    case What::Restart:
      return play(choice.lesson, true);
    case What::GoOn:
      return go_on();
    case What::GoBack:
      return go_back();
    case What::Reopen:
      return reopen();
    case What::Answer:
      player_.answer(choice.condition, choice.answer);
      break;
    case What::ChooseLanguage:
      player_.choose_language(choice.language);
      next_look_s_ = 0.0;
      break;
    case What::ShowList:
      player_.open_list();
      break;
    case What::Close:
      player_.close();
      break;
  }
  desk_.ui.request_redraw(2);
}

}  // namespace headlight::app
