#pragma once

#include <deque>
#include <functional>

#include "app/state/state.h"

namespace headlight::app {

/// Gives a state what another one looks at: view, selection, stage, colours, what is unfolded, and the settings that are
/// looks (AnySetting::is_look). Source, masks, interventions and what is asked stay: no number of a run changes.
void take_looks(State& state, const State& from);
/// Do the states differ in looks, and in nothing else?
bool differ_in_looks_alone(const State& a, const State& b);

/// The places that the user has looked at, one after the other, without theme and scale, which belong to no place. A place
/// that was left within a second is none.
class Places {
 public:
  /// Is there something at the place of a state?
  using IsThere = std::function<bool(const State&)>;

  /// Notes the state's place, once a frame; `now_s` is any steady clock.
  void observe(const State& state, double now_s);
  /// Takes a change of the place that the user didn't make: the place stays the same one.
  void adopt(const State& state);
  bool can_go_back() const { return !back_.empty(); }
  bool can_go_forward() const { return !forward_.empty(); }
  /// Take the state to the place before, or to the one that was left by going back. Places where nothing is any more are
  /// skipped and forgotten; where there is no other one, the state stays.
  void go_back(State& state, const IsThere& is_there) { go(back_, forward_, state, is_there); }
  void go_forward(State& state, const IsThere& is_there) { go(forward_, back_, state, is_there); }

 private:
  using List = std::deque<State>;  ///< new states with the looks of places
  void go(List& from, List& to, State& state, const IsThere& is_there);

  List back_, forward_;  ///< the nearest one last
  State shown_;
  bool is_known_ = false;  ///< shown_
  double changed_s_ = 0.0;
};

}  // namespace headlight::app
