#include "app/lessons/lesson_player.h"

#include <cstdlib>
#include <set>
#include <system_error>

#include <fmt/ranges.h>

#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/state/state_json.h"
#include "core/error.h"
#include "platform/process.h"

namespace headlight::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Does a card open a model?
bool names_model(const json& opens) {
  const auto model = opens.find("model");
  return model != opens.end() && model->is_object() && model->contains("path");
}

/// Begins a source with its own masks and with nothing changed; the look of the window stays.
void begin_source(State& state, const json& opens) {
  const bool opens_model = names_model(opens);
  const auto preset = opens.find("preset");
  const bool opens_preset = preset != opens.end() && preset->is_string();
  if (!opens_model && !opens_preset) return;
  ViewChoices view;
  view.theme = state.view.theme;
  view.ui_scale = state.view.ui_scale;
  state.view = view;
  for (const SettingGroup* group : setting_groups()) {
    const bool is_of_view = group->name == kMapView.name;
    for (const AnySetting* look : group->settings) {
      if (is_of_view && look != &kMapView.color_map) state.put(*look, look->usual);
    }
  }
  state.selection = {};
  state.generation = {};
  if (opens_model) {
    const json& path = opens.at("model").at("path");
    select_model(state, named_model(path.is_string() ? path.get<std::string>() : ""), {});
    state.model().ids.clear();
    state.model().target_ids.clear();
    state.model().target_text.clear();
    state.model().pair_text.clear();
  } else {
    select_preset(state, preset->get<std::string>());
    if (preset->get_ref<const std::string&>().empty()) state.playground() = Playground();
  }
  restore_training(state);
}

/// Orders files by the number with which their names begin, then by name: 2-… before 10-….
bool comes_before(const fs::path& a, const fs::path& b) {
  const auto number = [](const fs::path& path) { return std::strtoul(utf8(path.filename()).c_str(), nullptr, 10); };
  return std::pair(number(a), a) < std::pair(number(b), b);
}

/// Sets the card's settings.
void open_settings(const LessonCard& card, State& state) {
  if (card.opens.empty()) return;
  State opened = state;
  begin_source(opened, card.opens);
  json patch = card.opens;
  patch.erase("preset");
  if (const auto model = patch.find("model"); model != patch.end() && model->is_object()) model->erase("path");
  json merged = to_json(opened);
  merged.merge_patch(patch);
  // The masks of the card that opens a model are those of its training.
  if (names_model(card.opens) && !card.opens.contains("model_masks")) merged["model_masks"] = merged["masks"];
  const Result<State> read = state_from_json(merged);
  if (!read) throw Error("{}", read.error());
  State next = *read;
  // A file doesn't have the texts of sources that aren't shown, so those stay.
  if (!std::holds_alternative<Playground>(next.source)) next.kept.playground = opened.kept.playground;
  if (!is_model(next.source)) next.kept.model = opened.kept.model;
  state = std::move(next);
}

}  // namespace

std::string preferred_language() {
  const std::string language = platform::user_language().substr(0, 2);
  return is_language(language) ? language : std::string();
}

LessonList read_lessons(const std::vector<fs::path>& folders, const std::string& language) {
  LessonList list;
  std::set<std::string> known;
  for (const fs::path& folder : folders) {
    std::error_code failure;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files, comes_before);
    for (const fs::path& file : files) {
      if (!known.insert(utf8(file.stem())).second) continue;
      try {
        list.lessons.push_back(read_lesson(file, language));
      } catch (const std::exception& error) {
        list.problems.emplace_back(error.what());
      }
    }
  }
  return list;
}

std::vector<fs::path> lesson_folders() {
  std::vector<fs::path> folders{shared_folder() / "lessons"};
  try {
    folders.push_back(config_directory() / "lessons");
  } catch (const Error&) {  // no home folder: only what comes along
  }
  return folders;
}

void open_card(const LessonCard& card, State& state) {
  open_settings(card, state);
  if (!card.second_text) {
    follow_second_text(state);
  } else if (card.second_text->empty()) {
    stop_comparing(state);
  } else {
    compare_with_text(state, *card.second_text);
  }
}

bool ConditionStanding::is_answered_wrong() const {
  const bool has_answered = when_opened && !observed.value.is_null() && observed.value != *when_opened;
  return has_answered && !observed.is_met;
}

void LessonPlayer::open_list() {
  is_open_ = true;
  lesson_ = list_.lessons.size();
}

std::string LessonPlayer::start(std::size_t index, bool restarts, State& state, LessonProgress& progress) {
  is_open_ = true;
  lesson_ = index;
  const Lesson& lesson = list_.lessons[index];
  const auto left = progress.cards.find(lesson.id);
  const bool begins = restarts || left == progress.cards.end() || left->second >= lesson.cards.size();
  if (!begins) return show_card(left->second, state);
  State opened = state;
  opened.compare = {};  // the baseline before isn't the lesson's
  std::string error = show_card(0, opened);
  if (error.empty()) state = std::move(opened);
  return error;
}

std::string LessonPlayer::go_on(State& state, LessonProgress& progress) {
  const Lesson& lesson = played();
  if (card_ + 1 == lesson.cards.size()) {
    progress.completed.insert(lesson.id);
    progress.cards.erase(lesson.id);
    open_list();
    return {};
  }
  progress.cards[lesson.id] = static_cast<std::uint32_t>(card_ + 1);
  return show_card(card_ + 1, state);
}

std::string LessonPlayer::go_back(State& state, LessonProgress& progress) {
  if (card_ == 0) {
    open_list();
    return {};
  }
  progress.cards[played().id] = static_cast<std::uint32_t>(card_ - 1);
  return show_card(card_ - 1, state);
}

std::string LessonPlayer::reopen(State& state) {
  State again = opened_;  // also where the card doesn't name what was changed since
  again.set(kMapView.color_map, state[kMapView.color_map]);
  again.view.theme = state.view.theme;
  again.view.ui_scale = state.view.ui_scale;
  state = std::move(again);
  return show_card(card_, state);
}

std::string LessonPlayer::show_card(std::size_t card, State& state) {
  card_ = card;
  std::string trouble;
  try {
    // A card that opens little builds on those before it.
    State opened = state;
    const std::vector<LessonCard>& cards = played().cards;
    const bool is_compared_by_card =
        std::ranges::any_of(cards, [](const LessonCard& any) { return any.second_text.has_value(); });
    if (is_compared_by_card) stop_comparing(opened);  // going back, the later card's text isn't compared
    for (std::size_t i = 0; i <= card; ++i) open_card(cards[i], opened);
    state = std::move(opened);
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  opened_ = state;
  opened_inputs_ = run_inputs(state);
  begin_card();
  return trouble;
}

void LessonPlayer::begin_card() {
  ++openings_;
  standings_.assign(card().done.size(), {});
  is_card_done_ = card().done.empty();
}

void LessonPlayer::answer(std::size_t condition, json value) {
  if (condition < standings_.size()) standings_[condition].answer = std::move(value);
}

Aim LessonPlayer::aim() const {
  if (!is_open_ || !lesson()) return {};
  const bool has_been_used = is_card_done_ && !card().done.empty();  // a card to read points at it as long as it is open
  return {.control = has_been_used ? std::string() : card().control,
          .matrix = card().matrix,
          .shows_indices = card().shows_indices,
          .conceals = card().conceals && !is_card_done_};
}

std::string LessonPlayer::departure(const State& state) const {
  const RunInputs now = run_inputs(state), &opened = opened_inputs_;
  std::vector<std::string> reasons;
  for (const SettingGroup* group : setting_groups()) {
    if (!group->add) continue;
    const std::string words = group->words(now.settings), card = group->words(opened.settings);
    const char* const what = words.empty() ? "is off" : card.empty() ? "is on" : "draws other numbers than the card's";
    if (words != card) reasons.push_back(fmt::format("{} {}", group->name, what));
  }
  const std::pair<bool, const char*> parts[] = {
      {!(now.source == opened.source), "the model or its text isn't the card's any more"},
      {!(now.masks == opened.masks), "the mask isn't the card's any more"},
      {now.gains != opened.gains || now.patterns != opened.patterns || now.changes != opened.changes,
       "heads or activations were changed"}};
  for (const auto& [applies, reason] : parts) {
    if (applies) reasons.emplace_back(reason);
  }
  return fmt::format("{}", fmt::join(reasons, ", and "));
}

bool LessonPlayer::explains_indices() const {
  const std::vector<LessonCard>& cards = played().cards;
  return card().shows_indices &&
         std::ranges::find_if(cards, &LessonCard::shows_indices) - cards.begin() == static_cast<std::ptrdiff_t>(card_);
}

std::size_t LessonPlayer::add(const std::filesystem::path& path) {
  Lesson lesson = read_lesson(path, language_);
  const auto known = std::ranges::find(list_.lessons, lesson.id, &Lesson::id);
  if (known == list_.lessons.end()) {
    list_.lessons.push_back(std::move(lesson));
    return list_.lessons.size() - 1;
  }
  *known = std::move(lesson);
  return static_cast<std::size_t>(known - list_.lessons.begin());
}

bool LessonPlayer::reload(State& state, std::string& trouble) {
  if (!is_open_ || !lesson()) return false;
  std::error_code failure;
  const auto written = std::filesystem::last_write_time(played().path, failure);
  if (failure || (written == played().written && played().language == language_)) return false;
  list_.lessons[lesson_].written = written;  // also of a file that can't be read now
  list_.lessons[lesson_].language = language_;
  try {
    Lesson lesson = read_lesson(played().path, language_);
    const std::size_t card = std::min(card_, lesson.cards.size() - 1);
    list_.lessons[lesson_] = std::move(lesson);
    // The user's own changes stay as long as the card opens what it did.
    State opened = opened_;
    card_ = card;
    for (std::size_t i = 0; i <= card; ++i) open_card(played().cards[i], opened);
    if (opened != opened_) {
      trouble = show_card(card, state);
    } else {
      begin_card();
    }
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  return true;
}

bool LessonPlayer::observe(const State& state, const EngineResult& result, std::vector<Query>& queries) {
  if (!is_open_ || !lesson() || is_card_done_) return false;
  const json settings = to_json(state);
  bool has_news = false, is_done = true;
  for (std::size_t i = 0; i < standings_.size(); ++i) {
    ConditionStanding& standing = standings_[i];
    const bool was_wrong = standing.is_answered_wrong();
    standing.observed = app::observe(
        card().done[i],
        {.state = state, .settings = settings, .result = result, .queries = queries, .answer = standing.answer});
    // A number isn't known before the engine has answered; a setting, or that nothing is answered, is at once.
    const bool is_known = card().done[i].subject.observation->members.empty() || !standing.observed.value.is_null();
    if (!standing.when_opened && is_known) standing.when_opened = standing.observed.value;
    has_news = has_news || was_wrong != standing.is_answered_wrong();
    is_done = is_done && standing.observed.is_met;
  }
  if (!is_done) return has_news;
  is_card_done_ = true;
  return true;
}

}  // namespace headlight::app
