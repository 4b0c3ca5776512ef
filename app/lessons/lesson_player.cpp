#include "app/lessons/lesson_player.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "app/models/bundled_models.h"
#include "app/state/state_json.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using nlohmann::json;

/// The value of a setting in the state as JSON; null where it isn't there.
const json* find_field(const json& state, const std::string& field) {
  const json* value = &state;
  std::size_t begin = 0;
  while (begin <= field.size()) {
    const std::size_t end = std::min(field.find('.', begin), field.size());
    if (!value->is_object()) return nullptr;
    const auto found = value->find(field.substr(begin, end - begin));
    if (found == value->end()) return nullptr;
    value = &*found;
    begin = end + 1;
  }
  return value;
}

/// Has the value (at least) everything that is wanted?
bool covers(const json& value, const json& wanted) {
  if (!wanted.is_object() || !value.is_object()) return value == wanted;
  for (const auto& [key, part] : wanted.items()) {
    const auto found = value.find(key);
    if (found == value.end() || !covers(*found, part)) return false;
  }
  return true;
}

bool is_met(const LessonCondition& condition, const json& state) {
  const json* value = find_field(state, condition.field);
  if (!value) return false;
  switch (condition.test) {
    case LessonCondition::Test::Equals:
      return *value == condition.value;
    case LessonCondition::Test::Differs:
      return *value != condition.value;
    case LessonCondition::Test::AtLeast:
      return value->is_number() && value->get<double>() >= condition.value.get<double>();
    case LessonCondition::Test::AtMost:
      return value->is_number() && value->get<double>() <= condition.value.get<double>();
    case LessonCondition::Test::Contains:
      break;
  }
  if (value->is_string() && condition.value.is_string()) {
    return value->get_ref<const std::string&>().find(condition.value.get_ref<const std::string&>()) != std::string::npos;
  }
  return value->is_array() &&
         std::ranges::any_of(*value, [&](const json& element) { return covers(element, condition.value); });
}

/// Does a card open a model?
bool names_model(const json& opens) {
  const auto model = opens.find("model");
  return model != opens.end() && model->is_object() && model->contains("path");
}

/// A source begins with its own masks and with nothing changed; how the window looks stays.
void begin_source(State& state, const json& opens) {
  const bool opens_model = names_model(opens);
  const auto preset = opens.find("preset");
  const bool opens_preset = preset != opens.end() && preset->is_string();
  if (!opens_model && !opens_preset) return;
  ViewChoices view;
  view.color_map = state.view.color_map;
  view.theme = state.view.theme;
  view.ui_scale = state.view.ui_scale;
  state.view = view;
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

}  // namespace

void open_card(const LessonCard& card, State& state) {
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
  // What a file doesn't have: texts of sources that aren't shown.
  if (!std::holds_alternative<Playground>(next.source)) next.kept.playground = opened.kept.playground;
  if (!is_model(next.source)) next.kept.model = opened.kept.model;
  state = std::move(next);
}

bool is_done(const LessonCard& card, const State& state) {
  if (card.done.empty()) return true;
  const json value = to_json(state);
  return std::ranges::all_of(card.done, [&](const LessonCondition& condition) { return is_met(condition, value); });
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

std::string LessonPlayer::reopen(State& state) { return show_card(card_, state); }

std::string LessonPlayer::show_card(std::size_t card, State& state) {
  card_ = card;
  is_card_done_ = this->card().done.empty();
  has_observed_ = false;
  try {
    // A card that opens little builds on those before it.
    State opened = state;
    const std::vector<LessonCard>& cards = played().cards;
    for (std::size_t i = 0; i <= card; ++i) open_card(cards[i], opened);
    state = std::move(opened);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

bool LessonPlayer::observe(const State& state) {
  if (!is_open_ || !lesson() || is_card_done_) return false;
  if (has_observed_ && observed_ == state) return false;
  observed_ = state;
  has_observed_ = true;
  is_card_done_ = is_done(card(), state);
  return is_card_done_;
}

}  // namespace headlight::app
