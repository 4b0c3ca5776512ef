#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "app/state/map_settings.h"
#include "app/state/mask_painting.h"
#include "app/state/undo.h"
#include "support/expressions.h"

namespace undo_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("cpu") {
  TEST_CASE("quick typing is one step, a pause begins the next") {
    State state;
    state.text() = "";
    Undo undo(state);
    double now_s = 10.0;
    for (const char letter : std::string("two words")) {
      state.text() += letter;
      CHECK(undo.observe(state, now_s, false));
      CHECK_FALSE(undo.observe(state, now_s, false));
      now_s += 0.2;
    }
    now_s += 5.0;
    state.text() += "!";
    undo.observe(state, now_s, false);
    CHECK(undo.step_count() == 3);
    CHECK(undo.undo_label() == "Edit text");
    CHECK(undo.undo().text() == "two words");
    CHECK(undo.redo_label() == "Edit text");
    CHECK(undo.undo().text() == "");
    CHECK_FALSE(undo.can_undo());
    CHECK(undo.undo_label() == "");
    CHECK(undo.undo().text() == "");
    CHECK(undo.redo().text() == "two words");
    CHECK(undo.redo().text() == "two words!");
    CHECK_FALSE(undo.can_redo());
  }

  TEST_CASE("a slow drag of a slider is one step, whatever lies between") {
    State state;
    Undo undo(state);
    double now_s = 0.0;
    for (std::uint32_t window = 1; window < 6; ++window) {
      selected_mask(state).rule.window = window;
      undo.observe(state, now_s += 3.0, true);
      undo.observe(state, now_s += 0.1, true);
    }
    CHECK(undo.step_count() == 2);
    undo.observe(state, now_s += 0.1, false);  // the button is released …
    selected_mask(state).rule.window = 9;
    undo.observe(state, now_s + 3.0, true);  // … and another drag begins
    CHECK(undo.step_count() == 3);
  }

  TEST_CASE("painted cells of one drag are one step, single clicks are one each") {
    State state;
    Undo undo(state);
    for (std::uint32_t key = 0; key < 4; ++key) {
      paint(state, {.query = 0, .key = key}, false, {.keys = 10});
      undo.observe(state, 0.05 * key, true);
    }
    undo.observe(state, 0.25, false);
    CHECK(undo.step_count() == 2);
    for (std::uint32_t key = 4; key < 6; ++key) {
      paint(state, {.query = 0, .key = key}, false, {.keys = 10});
      undo.observe(state, 0.3 + 0.1 * key, false);
    }
    CHECK(undo.step_count() == 4);
    undo.undo();
    undo.undo();
    CHECK(undo.undo().masks == attention::MaskSet{});
  }

  TEST_CASE("switches are steps of their own however quickly they follow") {
    State state;
    Undo undo(state);
    for (int press = 0; press < 3; ++press) {
      selected_mask(state).rule.causal = !selected_mask(state).rule.causal;
      undo.observe(state, 0.01 * press, false);
    }
    CHECK(undo.step_count() == 4);
    CHECK(undo.undo_label() == "Switch causal mask");
  }

  TEST_CASE("what is typed and deleted at once leaves no step") {
    State state;
    Undo undo(state);
    const std::string text = state.text();
    state.text() = text + "x";
    undo.observe(state, 0.0, false);
    state.text() = text;
    undo.observe(state, 0.1, false);
    CHECK_FALSE(undo.can_undo());
    state.text() = text + "y";
    undo.observe(state, 0.2, false);
    CHECK(undo.step_count() == 2);
    CHECK(undo.undo().text() == text);
  }

  TEST_CASE("a change after undo drops what could be redone and never merges into the past") {
    State state;
    Undo undo(state);
    state.playground().settings.heads = 4;
    undo.observe(state, 0.0, false);
    state.playground().settings.seed = 5;
    undo.observe(state, 0.1, false);
    CHECK(undo.step_count() == 3);
    state = undo.undo();
    CHECK(undo.redo_label() == "Change seed");
    state.playground().settings.heads = 2;
    undo.observe(state, 0.2, false);
    CHECK_FALSE(undo.can_redo());
    CHECK(undo.undo().playground().settings.heads == 4);
    CHECK(undo.undo().playground().settings.heads == 8);
  }

  TEST_CASE("a clamped selection is adopted without a step") {
    State state;
    Undo undo(state);
    state.selection.head = 3;
    undo.adopt(state);
    CHECK_FALSE(undo.observe(state, 0.0, false));
    CHECK_FALSE(undo.can_undo());
  }

  TEST_CASE("every member that the user changes is a change with a label") {
    const auto label = [](void (*edit)(State&)) {
      State state;
      edit(state);
      return describe_change(State{}, state).label;
    };
    CHECK(label([](State&) {}) == "");
    CHECK(label([](State& s) { change_to_notebook(s, "notebook-000"); }) == "Show notebook-000");
    CHECK(label([](State& s) { s.playground().cross = true; }) == "Switch cross-attention");
    CHECK(label([](State& s) { s.playground().key_text = std::string("k"); }) == "Edit second text");
    CHECK(label([](State& s) { s.playground().settings.d_model = 8; }) == "Change d_model");
    CHECK(label([](State& s) { s.playground().settings.merge = model::MergeOrder::WithoutTranspose; }) ==
          "Change merge order");
    CHECK(label([](State& s) { s.selection.head = 1; }) == "Select head");
    CHECK(label([](State& s) { s.view.theme = Theme::Light; }) == "Switch theme");
    CHECK(label([](State& s) { s.view.ui_scale = 2.0f; }) == "Change UI scale");
    CHECK(label([](State& s) { s.view.pinned = attention::Cell{}; }) == "Pin cell");
    CHECK(label([](State& s) { s.view.locked = LockedToken{}; }) == "Lock token");
    CHECK(label([](State& s) { s.view.lines.hidden_heads = {0}; }) == "Choose heads of the lines");
    CHECK(label([](State& s) { s.view.lines.threshold = 0.5F; }) == "Change threshold of the lines");
    CHECK(label([](State& s) { s.set(kTextView.side, MapSide::Key); }) == "Choose what shades the text");
    CHECK(label([](State& s) { selected_mask(s).rule.key_padding = false; }) == "Switch padding mask");
    CHECK(label([](State& s) { selected_mask(s).fill = attention::MaskFill::MinusOneBillion; }) == "Choose fill");
    CHECK(label([](State& s) { s.masks[model::BlockKind::Cross].rule.prefix = 2; }) == "Change prefix");
    CHECK(label([](State& s) { selected_mask(s).mask_expression = test::mask_expression("k <= q"); }) ==
          "Change mask expression");
    CHECK(label([](State& s) { selected_mask(s).score_expression = test::score_expression("score"); }) ==
          "Change score expression");
    CHECK(label([](State& s) { selected_mask(s).sliders["a"] = 1.0F; }) == "Move slider");
    State painted;
    paint(painted, {.query = 0, .key = 1}, false, {.keys = 4});
    CHECK(describe_change(painted, State{}).label == "Reset masks");
  }

  TEST_CASE("memory is bounded by steps and by bytes, and the shown step stays") {
    State state;
    Undo few(state, {.steps = 3, .bytes = std::size_t{1} << 30, .merge_seconds = 0.0});
    Undo small(state, {.steps = 1000, .bytes = 300'000, .merge_seconds = 0.0});
    for (int step = 1; step <= 20; ++step) {
      state.text() = std::string(100'000, static_cast<char>('a' + step));
      few.observe(state, step, false);
      small.observe(state, step, false);
    }
    CHECK(few.step_count() == 3);
    CHECK(small.bytes() <= 300'000);
    CHECK(small.step_count() == 2);
    CHECK(small.undo().text().front() == 'a' + 19);
    state.text() = std::string(1'000'000, 'x');
    small.observe(state, 100.0, false);
    CHECK(small.step_count() == 1);
    CHECK_FALSE(small.can_undo());
  }

  TEST_CASE("the budget counts cells that steps share once, also when the step that had them first is dropped") {
    constexpr std::size_t kCells = 1'000'000;
    State state;
    selected_mask(state).matrix =
        attention::BooleanMask{.queries = 1'000, .keys = 1'000, .keep = std::vector<std::uint8_t>(kCells, 1)};
    Undo undo(state, {.steps = 4, .bytes = std::size_t{1} << 30, .merge_seconds = 0.0});
    for (int step = 1; step <= 10; ++step) {
      selected_mask(state).rule.causal = step % 2 == 1;
      undo.observe(state, step, false);
      CHECK(undo.bytes() > kCells);
      CHECK(undo.bytes() < 2 * kCells);
    }
    CHECK(undo.step_count() == 4);
    selected_mask(state).matrix =
        attention::BooleanMask{.queries = 1'000, .keys = 1'000, .keep = std::vector<std::uint8_t>(kCells, 0)};
    undo.observe(state, 11.0, false);
    CHECK(undo.bytes() > 2 * kCells);
    undo.undo();
    state = undo.undo();
    state.text() = "something else";
    undo.observe(state, 12.0, false);
    CHECK(undo.bytes() < 2 * kCells);
  }

  TEST_CASE("a change after Undo takes the place of what was undone, but for named steps, which can be gone to") {
    State state;
    Undo undo(state);
    double now_s = 0.0;
    const auto change = [&](const std::string& text) {
      state.text() = text;
      undo.observe(state, now_s += 10.0, false);
    };
    const auto id_of = [&](const std::string& text) {
      for (const HistoryStep& step : undo.history()) {
        if (step.state->text() == text) return step.id;
      }
      return std::uint64_t{0};
    };
    const auto texts = [&] {
      std::string all;
      for (const HistoryStep& step : undo.history()) {
        all += fmt::format("{}{} ", step.state->text(), step.is_shown ? "*" : step.is_undone ? "?" : "");
      }
      return all;
    };
    const std::string begin = State{}.text();
    for (const char* text : {"a", "b", "c"}) change(text);
    undo.name_step(id_of("b"), "the b");
    undo.undo();
    state = undo.undo();
    CHECK(texts() == begin + " a* b? c? ");
    change("d");
    change("e");
    CHECK(texts() == begin + " a d e* b? ");
    CHECK_FALSE(undo.can_redo());
    CHECK(undo.step_count() == 4);

    state = undo.undo();
    state = undo.go_to(id_of("b"));  // follows the shown step
    CHECK(state.text() == "b");
    CHECK(undo.shown_name() == "the b");
    CHECK(texts() == begin + " a d b* ");
    CHECK(undo.undo().text() == "d");
    CHECK(undo.redo_label() == "Edit text");
    CHECK(undo.redo().text() == "b");
    CHECK(undo.go_to(123'456).text() == "b");
    undo.name_step(id_of("b"), "");
    state = undo.go_to(id_of(begin));
    CHECK(state.text() == begin);
    CHECK(undo.history().size() == 4);
    // The bytes of what is dropped are given back.
    const Undo fresh(state);
    change("f");
    CHECK(texts() == begin + " f* ");
    CHECK(undo.bytes() < 3 * fresh.bytes());
  }

  TEST_CASE("named steps outlive the limits, also when they were undone, and no change becomes one with them") {
    State state;
    Undo undo(state, {.steps = 6});
    double now_s = 0.0;
    const auto write = [&](const std::string& text) {
      state.text() = text;
      undo.observe(state, now_s += 0.1, false);
    };
    const auto names = [&] {
      std::vector<std::string> found;
      for (const HistoryStep& step : undo.history()) {
        if (!step.name->empty()) found.push_back(*step.name + ": " + step.state->text());
      }
      return found;
    };
    write("baseline");
    undo.name_step(undo.shown_id(), "before");
    write("baseline!");  // quick typing, but a step of its own
    CHECK(undo.shown_name().empty());
    CHECK(names() == std::vector<std::string>{"before: baseline"});
    undo.name_step(undo.shown_id(), "louder");
    const std::uint64_t louder = undo.shown_id();
    state = undo.undo();
    for (int i = 0; i < 30; ++i) {
      now_s += 10.0;
      write(fmt::format("other {}", i));
    }
    CHECK(names() == std::vector<std::string>{"before: baseline", "louder: baseline!"});
    CHECK(undo.history().size() <= 6);
    CHECK(undo.go_to(louder).text() == "baseline!");
    undo.name_step(louder, "");
    CHECK(names() == std::vector<std::string>{"before: baseline"});
  }
}

}  // namespace undo_test
