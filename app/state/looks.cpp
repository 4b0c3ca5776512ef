#include "app/state/looks.h"

namespace headlight::app {
namespace {

constexpr double kShortest_s = 1.0;  // of a stay that makes a place
constexpr std::size_t kMostPlaces = 200;

/// Returns every setting that is a look.
const std::vector<const AnySetting*>& looks() {
  static const std::vector<const AnySetting*> kLooks = [] {
    std::vector<const AnySetting*> list;
    for (const SettingGroup* group : setting_groups()) {
      for (const AnySetting* setting : group->settings) {
        if (setting->is_look) list.push_back(setting);
      }
    }
    return list;
  }();
  return kLooks;
}

/// Is it the state's place? The place gets the state's theme and scale. Nothing is copied: this is asked in every frame.
bool is_at(State& place, const State& state) {
  place.view.theme = state.view.theme;
  place.view.ui_scale = state.view.ui_scale;
  return place.selection == state.selection && place.view == state.view && place.opened_matrix == state.opened_matrix &&
         place.survey_head == state.survey_head &&
         std::ranges::all_of(looks(), [&](const AnySetting* look) { return place.value(*look) == state.value(*look); });
}

State place_of(const State& state) {
  State place;
  take_looks(place, state);
  return place;
}

}  // namespace

void take_looks(State& state, const State& from) {
  state.selection = from.selection;
  state.view = from.view;
  state.opened_matrix = from.opened_matrix;
  state.survey_head = from.survey_head;
  for (const AnySetting* look : looks()) state.put(*look, from.value(*look));
}

bool differ_in_looks_alone(const State& a, const State& b) {
  if (a == b) return false;
  State like_b = a;
  take_looks(like_b, b);
  return like_b == b;
}

void Places::observe(const State& state, double now_s) {
  if (is_known_ && is_at(shown_, state)) return;
  const bool stayed = is_known_ && now_s - changed_s_ > kShortest_s;
  if (stayed) {
    back_.push_back(std::move(shown_));
    if (back_.size() > kMostPlaces) back_.pop_front();
    forward_.clear();
  } else if (!back_.empty() && is_at(back_.back(), state)) {  // there and back again
    back_.pop_back();
  }
  shown_ = place_of(state);
  is_known_ = true;
  changed_s_ = now_s;
}

void Places::adopt(const State& state) {
  shown_ = place_of(state);
  is_known_ = true;
}

void Places::go(List& from, List& to, State& state, const IsThere& is_there) {
  while (!from.empty()) {
    State place = std::move(from.back());
    from.pop_back();
    State there = state;
    take_looks(there, place);
    there.view.theme = state.view.theme;
    there.view.ui_scale = state.view.ui_scale;
    if (there == state || !is_there(there)) continue;
    to.push_back(std::move(shown_));
    shown_ = std::move(place);
    state = std::move(there);
    return;
  }
}

}  // namespace headlight::app
