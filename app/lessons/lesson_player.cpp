#include "app/lessons/lesson_player.h"

#include <numeric>
#include <random>
#include <set>
#include <system_error>

#include <fmt/ranges.h>

#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/state/map_settings.h"
#include "app/state/state_json.h"
#include "core/error.h"

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

/// Sets the settings that a card opens.
void open_settings(json patch, State& state) {
  if (patch.empty()) return;
  State opened = state;
  begin_source(opened, patch);
  const bool opens_model = names_model(patch);
  patch.erase("preset");
  if (const auto model = patch.find("model"); model != patch.end() && model->is_object()) model->erase("path");
  json merged = to_json(opened);
  merged.merge_patch(patch);
  // The masks of the card that opens a model are those of its training.
  if (opens_model && !patch.contains("model_masks")) merged["model_masks"] = merged["masks"];
  const Result<State> read = state_from_json(merged);
  if (!read) throw Error("{}", read.error());
  State next = *read;
  // A file doesn't have the texts of sources that aren't shown, so those stay.
  if (!std::holds_alternative<Playground>(next.source)) next.kept.playground = opened.kept.playground;
  if (!is_model(next.source)) next.kept.model = opened.kept.model;
  state = std::move(next);
}

}  // namespace

void open_card(const LessonCard& card, State& state, std::size_t attempt) {
  open_settings(card.opens_at(attempt), state);
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
  return has_answered && observed.is_known && !observed.is_met;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint32_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

void LessonPlayer::open_list() {
  is_open_ = true;
  lesson_ = list_.lessons.size();
}

std::string LessonPlayer::start(std::size_t index, bool restarts, State& state, LessonProgress& progress) {
  is_open_ = true;
  lesson_ = index;
  attempts_.clear();
  missed_.clear();
  returns_to_.reset();
  const Lesson& lesson = list_.lessons[index];
  const auto left = progress.cards.find(lesson.id);
  const bool begins = restarts || left == progress.cards.end() || left->second >= lesson.cards.size();
  if (const auto marks = progress.marks.find(lesson.id); marks != progress.marks.end() && !restarts) {
    for (const auto& [card, mark] : marks->second) {
      if (mark.is_due && card < lesson.cards.size()) missed_.push_back({.card = card, .left = 0});
    }
  }
  State opened = state;
  if (begins) opened.compare = {};  // the baseline before isn't the lesson's
  std::string error = come_to(begins ? 0 : left->second, opened, progress);
  if (error.empty()) state = std::move(opened);
  return error;
}

std::string LessonPlayer::come_to(std::size_t card, State& state, LessonProgress& progress) {
  std::erase_if(missed_, [&](const Missed& missed) { return missed.card == card; });  // it is asked now
  const auto due = std::ranges::find(missed_, 0U, &Missed::left);
  returns_to_.reset();
  has_missed_ = false;
  streak_ = 0;
  const std::string& id = played().id;
  if (due != missed_.end()) {
    returns_to_ = card;
    const std::size_t asked = due->card;
    missed_.erase(due);
    return show_card(asked, state, progress);
  }
  if (card < played().cards.size()) {
    progress.cards[id] = static_cast<std::uint32_t>(card);
    return show_card(card, state, progress);
  }
  const bool has_check = std::ranges::any_of(played().cards, &LessonCard::is_check);
  if (!has_check) progress.completed.insert(id);
  progress.cards.erase(id);
  open_list();
  return {};
}

std::string LessonPlayer::go_on(State& state, LessonProgress& progress) {
  if (returns_to_) return come_to(*returns_to_, state, progress);
  for (Missed& missed : missed_) missed.left -= std::min(missed.left, 1U);
  return come_to(card_ + 1, state, progress);
}

std::string LessonPlayer::go_back(State& state, LessonProgress& progress) {
  const std::size_t card = returns_to_.value_or(card_);
  if (card == 0) {
    open_list();
    return {};
  }
  for (Missed& missed : missed_) missed.left = std::max(missed.left, 1U);  // what is due comes going on
  return come_to(card - 1, state, progress);
}

std::string LessonPlayer::reopen(State& state, const LessonProgress& progress) {
  State again = opened_;  // also where the card doesn't name what was changed since
  again.set(kMapView.color_map, state[kMapView.color_map]);
  again.view.theme = state.view.theme;
  again.view.ui_scale = state.view.ui_scale;
  state = std::move(again);
  return show_card(card_, state, progress);
}

std::string LessonPlayer::show_card(std::size_t card, State& state, const LessonProgress& progress) {
  card_ = card;
  const auto marks = progress.marks.find(played().id);
  const bool has_mark = marks != progress.marks.end() && marks->second.contains(static_cast<std::uint32_t>(card));
  const CardMark mark = has_mark ? marks->second.at(static_cast<std::uint32_t>(card)) : CardMark{};
  attempts_[card] = mark.wrong + mark.right;
  return open_shown(state);
}

std::string LessonPlayer::open_shown(State& state) {
  std::string trouble;
  try {
    // A card that opens little builds on those before it.
    State opened = state;
    const std::vector<LessonCard>& cards = played().cards;
    const bool is_compared_by_card =
        std::ranges::any_of(cards, [](const LessonCard& any) { return any.second_text.has_value(); });
    if (is_compared_by_card) stop_comparing(opened);  // going back, the later card's text isn't compared
    for (std::size_t i = 0; i <= card_; ++i) open_card(cards[i], opened, attempts_[i]);
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
  wants_try_ = false;
  standings_.assign(card().done.size(), {});
  is_card_done_ = card().done.empty();
}

std::uint32_t LessonPlayer::seed() const {
  std::uint32_t seed = 2'166'136'261U;  // FNV-1a
  const auto mix = [&](std::uint32_t value) { seed = (seed ^ value) * 16'777'619U; };
  for (const char letter : played().id) mix(static_cast<unsigned char>(letter));
  const auto attempt = attempts_.find(card_);
  mix(static_cast<std::uint32_t>(card_));
  mix(attempt == attempts_.end() ? 0U : attempt->second);
  return seed;
}

void LessonPlayer::choose_language(const std::string& language) {
  language_ = language;
  for (std::size_t i = 0; i < list_.lessons.size(); ++i) {
    if (i == lesson_) continue;
    try {
      list_.lessons[i] = read_lesson(list_.lessons[i].path, language);
    } catch (const std::exception&) {  // a file that has gone keeps the texts that it had
    }
  }
  list_.parts = read_lessons(lesson_folders(), language).parts;
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
          .conceals = card().conceals && !is_card_done_,
          .conceals_from = card().conceals_from,
          .is_nameless = card().is_nameless && !is_card_done_};
}

std::string LessonPlayer::departure(const State& state, const LessonWords& words) const {
  const RunInputs now = run_inputs(state), &opened = opened_inputs_;
  std::vector<std::string> reasons;
  for (const SettingGroup* group : setting_groups()) {
    if (!group->add) continue;
    const std::string shown = group->words(now.settings), card = group->words(opened.settings);
    const char* const what = shown.empty() ? words["is_off"] : card.empty() ? words["is_on"] : words["draws_others"];
    if (shown != card) reasons.push_back(fmt::format(fmt::runtime(what), group->name));
  }
  const std::pair<bool, const char*> parts[] = {
      {!(now.source == opened.source), words["other_source"]},
      {!(now.masks == opened.masks), words["other_mask"]},
      {now.gains != opened.gains || now.patterns != opened.patterns || now.changes != opened.changes, words["other_heads"]}};
  for (const auto& [applies, reason] : parts) {
    if (applies) reasons.emplace_back(reason);
  }
  return fmt::format("{}", fmt::join(reasons, words["and_also"]));
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
    std::erase_if(missed_, [&](const Missed& missed) { return missed.card >= played().cards.size(); });
    // The user's own changes stay as long as the card opens what it did.
    State opened = opened_;
    card_ = card;
    for (std::size_t i = 0; i <= card; ++i) open_card(played().cards[i], opened, attempts_[i]);
    if (opened != opened_) {
      trouble = open_shown(state);
    } else {
      begin_card();
    }
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  return true;
}

void LessonPlayer::count_answer(std::size_t condition, const json& given, bool is_right, CardMark& mark) {
  answers_.push_back({.lesson = played().id,
                      .card = static_cast<std::uint32_t>(card_ + 1),
                      .condition = static_cast<std::uint32_t>(condition),
                      .attempt = attempts_[card_],
                      .seed = seed(),
                      .is_right = is_right,
                      .answer = given});
  if (is_right) return;
  constexpr std::uint32_t kAfter = 4;  // three further cards, and the next one
  ++mark.wrong;
  mark.is_due = has_missed_ = true;
  streak_ = 0;
  if (std::ranges::find(missed_, card_, &Missed::card) == missed_.end()) missed_.push_back({.card = card_, .left = kAfter});
}

bool LessonPlayer::observe(const State& state, const EngineResult& result, std::vector<Query>& queries,
                           LessonProgress& progress) {
  if (!is_open_ || !lesson() || is_card_done_ || wants_try_) return false;
  const json settings = to_json(state);
  bool has_news = false, is_done = true;
  for (std::size_t i = 0; i < standings_.size(); ++i) {
    ConditionStanding& standing = standings_[i];
    const bool was_wrong = standing.is_answered_wrong();
    const Observation& observation = *card().done[i].subject.observation;
    standing.observed = app::observe(
        card().done[i],
        {.state = state, .settings = settings, .result = result, .queries = queries, .answer = standing.answer});
    // A number isn't known before the engine has answered; a setting, or that nothing is answered, is at once.
    const json given = standing.answer.is_null() ? standing.observed.value : standing.answer;
    const bool is_first = !standing.when_opened;
    const bool is_known = observation.is_answer || observation.members.empty() || !standing.observed.value.is_null();
    if (is_first && is_known) standing.when_opened = standing.observed.value;
    if (is_first) standing.counted = given;
    if (observation.is_answer && standing.observed.is_known && given != standing.counted) {
      standing.counted = given;
      has_news = true;
      count_answer(i, given, standing.observed.is_met, progress.marks[played().id][static_cast<std::uint32_t>(card_)]);
    }
    has_news = has_news || was_wrong != standing.is_answered_wrong();
    is_done = is_done && standing.observed.is_met;
  }
  if (!is_done) return has_news;
  std::map<std::uint32_t, CardMark>& marks = progress.marks[played().id];
  CardMark& mark = marks[static_cast<std::uint32_t>(card_)];
  for (std::size_t i = 0; i < standings_.size(); ++i) {
    if (!card().done[i].subject.observation->is_answer) count_answer(i, standings_[i].observed.value, true, mark);
  }
  ++mark.right;
  wants_try_ = ++streak_ < card().tries.times;
  if (wants_try_) return true;
  is_card_done_ = true;
  if (!has_missed_) mark.is_due = false;
  bool is_passed = card().is_check;
  for (std::uint32_t i = 0; i < played().cards.size(); ++i) {
    is_passed = is_passed && (!played().cards[i].is_check || marks[i].right > 0);
  }
  if (is_passed) progress.completed.insert(played().id);
  return true;
}

}  // namespace headlight::app
