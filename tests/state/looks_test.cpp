// Looks: what Undo leaves as it is, and where Back and Forward lead.
#include <doctest/doctest.h>

#include "app/state/flow_settings.h"
#include "app/state/looks.h"
#include "app/state/undo.h"

namespace looks_test {

using namespace headlight;
using namespace headlight::app;

namespace {

bool is_anything(const State&) { return true; }

/// A state that looks at a head of a view.
State at(State state, const char* view, std::uint32_t head) {
  state.view.tab = view;
  state.selection.head = head;
  return state;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("looks are no steps, and undo changes none") {
    State state;
    Undo undo(state);
    selected_mask(state).rule.causal = true;
    undo.observe(state, 1.0, false);
    state = at(state, "flow", 3);
    state.view.theme = Theme::Light;
    state.set(kFlowView.threshold, 0.25F);
    CHECK(undo.observe(state, 5.0, false));
    CHECK_FALSE(undo.observe(state, 5.0, false));
    CHECK(undo.step_count() == 2);
    CHECK(undo.undo_label() == "Switch causal mask");

    state = undo.undo();
    CHECK_FALSE(selected_mask(state).rule.causal);
    CHECK(state.view.tab == "flow");
    CHECK(state.selection.head == 3);
    CHECK(state.view.theme == Theme::Light);
    CHECK(state[kFlowView.threshold] == 0.25F);
    CHECK_FALSE(undo.observe(state, 6.0, false));
    CHECK(undo.can_redo());
    state.view.tab = "lines";  // looking around doesn't drop what can be redone
    undo.observe(state, 7.0, false);
    REQUIRE(undo.can_redo());
    state = undo.redo();
    CHECK(selected_mask(state).rule.causal);
    CHECK(state.view.tab == "lines");
  }

  TEST_CASE("a change that came with other looks is undone with them, unless the user has looked elsewhere since") {
    const State first = at(State(), "head", 7);
    for (const bool looks_elsewhere : {false, true}) {
      CAPTURE(looks_elsewhere);
      State state = first;
      Undo undo(state);
      state.playground().settings.heads = 4;
      undo.observe(state, 1.0, false);
      state.selection.head = 3;  // the run has no more heads
      undo.adopt(state);
      if (looks_elsewhere) undo.observe(state = at(state, "steps", 2), 5.0, false);
      state = undo.undo();
      CHECK(state.playground().settings.heads == 8);
      CHECK(state.selection.head == (looks_elsewhere ? 2 : 7));
      CHECK(undo.redo().selection.head == (looks_elsewhere ? 2 : 3));
    }
  }

  TEST_CASE("a change is named by what it changes, also where looks change with it") {
    State state;
    Undo undo(state);
    state = at(state, "steps", 2);
    set_head_gain(state, state.selection.block, 2, 0.0F);
    undo.observe(state, 1.0, false);
    State knocked_out;
    knocked_out.gains = state.gains;
    CHECK(undo.undo_label() == describe_change(State(), knocked_out).label);
  }

  TEST_CASE("a named step is gone to with the looks that it had") {
    State state;
    Undo undo(state);
    state = at(state, "steps", 2);
    selected_mask(state).rule.window = 4;
    undo.observe(state, 1.0, false);
    const std::uint64_t named = undo.shown_id();
    undo.name_step(named, "window");
    undo.observe(at(state, "flow", 5), 5.0, false);
    CHECK(undo.go_to(named).view.tab == "steps");
    CHECK(undo.go_to(named).selection.head == 2);
  }

  TEST_CASE("Back and Forward lead through places and change nothing else") {
    State state;
    Places places;
    places.observe(state, 0.0);
    CHECK_FALSE(places.can_go_back());
    places.observe(state = at(state, "steps", 2), 10.0);
    places.observe(state = at(state, "flow", 2), 20.0);
    state.text() = "another text";
    state.view.theme = Theme::Light;
    places.observe(state, 30.0);

    places.go_back(state, is_anything);
    CHECK(state.view.tab == "steps");
    CHECK(state.selection.head == 2);
    CHECK(state.text() == "another text");
    CHECK(state.view.theme == Theme::Light);
    places.observe(state, 40.0);  // going back is no visit
    places.go_back(state, is_anything);
    CHECK(state.view.tab == kHeadView);
    CHECK(state.selection.head == 0);
    CHECK_FALSE(places.can_go_back());
    places.go_forward(state, is_anything);
    places.go_forward(state, is_anything);
    CHECK(state.view.tab == "flow");
    CHECK_FALSE(places.can_go_forward());
    places.go_back(state, is_anything);
    places.observe(state = at(state, "lines", 1), 50.0);
    CHECK_FALSE(places.can_go_forward());
  }

  TEST_CASE("quick movement is one place, and a place that is gone is skipped") {
    State state;
    Places places;
    places.observe(state, 0.0);
    double now_s = 10.0;
    for (std::uint32_t head = 1; head < 8; ++head) places.observe(state = at(state, "head", head), now_s += 0.1);
    places.observe(state = at(state, "steps", 7), 20.0);
    places.observe(state = at(state, "steps", 3), 30.0);
    places.go_back(state, [](const State& place) { return place.selection.head < 5; });
    CHECK(state.selection.head == 0);
    CHECK(state.view.tab == kHeadView);
    CHECK_FALSE(places.can_go_back());
    places.go_back(state, is_anything);
    CHECK(state.selection.head == 0);
  }

  TEST_CASE("there and back at once leaves no place") {
    State state;
    Places places;
    places.observe(state, 0.0);
    places.observe(at(state, "steps", 0), 10.0);
    places.observe(state, 10.2);
    CHECK_FALSE(places.can_go_back());
  }
}

}  // namespace looks_test
