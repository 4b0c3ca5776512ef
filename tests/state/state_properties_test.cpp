// Properties of states that hold for any sequence of edits: rapidcheck draws the sequences and shortens one that fails.
// RC_PARAMS="seed=… max_success=…" draws others.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/state/map_settings.h"
#include "app/state/mask_painting.h"
#include "app/state/state.h"
#include "app/state/state_json.h"
#include "app/state/undo.h"

namespace state_properties_test {

using namespace headlight;
using namespace headlight::app;

namespace {

enum class Action : std::uint8_t { Type, Delete, Theme, Scale, Tab, Pin, Select, Reach, Paint, Rule, Gain, Preset, Reset };
constexpr std::size_t kActions = 13;

/// One thing that a user does. What the numbers choose depends on the action.
struct Edit {
  Action action = Action::Type;
  std::uint32_t first = 0, second = 0;
  bool is_on = false;
  bool follows_quickly = false;  ///< at once, or after a pause
};

std::ostream& operator<<(std::ostream& out, const Edit& edit) {
  return out << "{action " << static_cast<int>(edit.action) << ", " << edit.first << ", " << edit.second << ", "
             << (edit.is_on ? "on" : "off") << (edit.follows_quickly ? ", quickly}" : "}");
}

rc::Gen<Edit> any_edit() {
  const auto action = rc::gen::map(rc::gen::inRange<int>(0, static_cast<int>(kActions)),
                                   [](int number) { return static_cast<Action>(number); });
  const auto number = rc::gen::inRange<std::uint32_t>(0, 6);
  return rc::gen::build<Edit>(rc::gen::set(&Edit::action, action), rc::gen::set(&Edit::first, number),
                              rc::gen::set(&Edit::second, number), rc::gen::set(&Edit::is_on),
                              rc::gen::set(&Edit::follows_quickly));
}

attention::KeyRange keys() { return {6}; }
PaintedMap painted_map() { return {.keys = keys(), .rows = 6, .columns = 6, .layers = 3}; }
model::BlockRef block(std::uint32_t number) {
  return {.kind = static_cast<model::BlockKind>(number % model::kBlockKinds), .layer = {number / 2}};
}

void apply(const Edit& edit, State& state) {
  static constexpr std::array kTexts = {"the cat", "\u4e2d\u6587", "a\nb c", "", "\U0001f600", "\t\"\\"};
  static constexpr std::array kPresets = {"", "notebook-000", "notebook-001", "notebook-004", "", "notebook-003"};
  static constexpr std::array kTabs = {"head", "grid", "steps", "predictions", "head", "another"};
  const attention::Cell cell{.query = edit.first, .key = edit.second};
  switch (edit.action) {
    case Action::Type:
      state.text() += kTexts[edit.first];
      break;
    case Action::Delete:
      state.text().clear();
      break;
    case Action::Theme:
      state.view.theme = edit.is_on ? Theme::Light : Theme::Dark;
      break;
    case Action::Scale:
      state.view.ui_scale = 0.5f + 0.1f * static_cast<float>(edit.first);
      break;
    case Action::Tab:
      state.view.tab = kTabs[edit.first];
      break;
    case Action::Pin:
      state.view.pinned = edit.is_on ? std::optional(cell) : std::nullopt;
      break;
    case Action::Select:
      select_head(state.selection, {block(edit.first), edit.second});
      state.selection.batch = edit.is_on ? 1 : 0;
      break;
    case Action::Reach:
      state.set(kBrush.reach, static_cast<PaintReach>(edit.first % 4));
      break;
    case Action::Paint:
      paint(state, cell, edit.is_on, painted_map());
      break;
    case Action::Rule:
      selected_mask(state).rule = {.causal = edit.is_on, .window = edit.first, .prefix = edit.second};
      break;
    case Action::Gain:
      set_head_gain(state, block(edit.first), edit.second, edit.is_on ? 1.0f : 0.1f * static_cast<float>(edit.first));
      break;
    case Action::Preset:
      select_preset(state, kPresets[edit.first]);
      break;
    case Action::Reset:
      restore_training(state);
      break;
  }
}

State random_state() {
  State state;
  for (const Edit& edit : *rc::gen::container<std::vector<Edit>>(any_edit())) apply(edit, state);
  return state;
}

/// Fails with the shortest counterexample that rapidcheck found. The sequences are the same in every run.
template <typename Property>
void check_property(const Property& property) {
  setenv("RC_PARAMS", "seed=20240607 max_success=300 max_size=60", 0);
  const rc::detail::TestResult result = rc::detail::checkTestable(property);
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  CHECK_MESSAGE(result.template is<rc::detail::SuccessResult>(), report.str());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("undo and redo go through every state that there was, in order") {
    check_property([] {
      State state = random_state();
      Undo undo(state);
      std::vector<State> shown = {state};
      double now_s = 0.0;
      for (const Edit& edit : *rc::gen::container<std::vector<Edit>>(any_edit())) {
        apply(edit, state);
        undo.seal();
        undo.observe(state, now_s += 0.01, false);
        if (!(state == shown.back())) shown.push_back(state);
      }
      RC_ASSERT(undo.step_count() == shown.size());
      for (std::size_t i = shown.size() - 1; i > 0; --i) {
        RC_ASSERT(undo.undo_label() == describe_change(shown[i - 1], shown[i]).label);
        RC_ASSERT(!undo.undo_label().empty());
        RC_ASSERT(undo.undo() == shown[i - 1]);
      }
      RC_ASSERT(!undo.can_undo());
      for (std::size_t i = 1; i < shown.size(); ++i) RC_ASSERT(undo.redo() == shown[i]);
      RC_ASSERT(!undo.can_redo());
      // A change after some undoing drops what could be redone.
      const std::size_t kept = *rc::gen::inRange<std::size_t>(0, shown.size());
      for (std::size_t i = shown.size() - 1; i > kept; --i) undo.undo();
      state = shown[kept];
      state.text() += "!";
      undo.observe(state, now_s, false);
      RC_ASSERT(!undo.can_redo());
      RC_ASSERT(undo.step_count() == kept + 2);
      RC_ASSERT(undo.undo() == shown[kept]);
    });
  }

  TEST_CASE("however edits merge into steps, undoing them all restores the first state and redoing them the last") {
    check_property([] {
      State state = random_state();
      const State first = state;
      Undo undo(state);
      double now_s = 0.0;
      for (const Edit& edit : *rc::gen::container<std::vector<Edit>>(any_edit())) {
        apply(edit, state);
        undo.observe(state, now_s += edit.follows_quickly ? 0.1 : 5.0, edit.is_on && edit.follows_quickly);
      }
      while (undo.can_undo()) undo.undo();
      RC_ASSERT(undo.undo() == first);
      State last = undo.redo();
      while (undo.can_redo()) last = undo.redo();
      RC_ASSERT(last == state);
    });
  }

  TEST_CASE("a state read from its JSON is the state") {
    check_property([] {
      const State state = random_state();
      const Result<State> read = state_from_json(nlohmann::json::parse(to_json(state).dump()));
      RC_ASSERT(bool(read));
      RC_ASSERT(*read == state);
    });
  }

  TEST_CASE("a painted cell is as painted, no other cell of the map changes, and painting it back leaves no paint") {
    check_property([] {
      State state = random_state();
      for (attention::MaskSpec& mask : state.masks.by_kind) mask.painted.clear();
      for (attention::MaskSpec& mask : state.masks.by_kind) mask.matrix.reset();
      const State unpainted = state;
      const auto is_visible = [](const State& in, attention::Cell cell) {
        const Selection& map = in.selection;
        return selected_mask(in).is_visible(map.block.layer.value, map.batch, map.head, cell.query, cell.key, keys());
      };
      std::set<attention::Cell> cells;
      for (const Edit& edit : *rc::gen::container<std::vector<Edit>>(any_edit())) {
        const attention::Cell cell{.query = edit.first, .key = edit.second};
        const State before = state;
        state.set(kBrush.reach, static_cast<PaintReach>(edit.first % 4));
        paint(state, cell, edit.is_on, painted_map());
        cells.insert(cell);
        for (std::uint32_t query = 0; query < 6; ++query) {
          for (std::uint32_t key = 0; key < 6; ++key) {
            const attention::Cell other{.query = query, .key = key};
            RC_ASSERT(is_visible(state, other) == (other == cell ? edit.is_on : is_visible(before, other)));
          }
        }
        state.selection.head = edit.second;
      }
      state.selection = unpainted.selection;
      state.set(kBrush.reach, PaintReach::AllLayers);
      for (const attention::Cell cell : cells) paint(state, cell, is_visible(unpainted, cell), painted_map());
      RC_ASSERT(state.masks == unpainted.masks);
    });
  }
}

}  // namespace state_properties_test
