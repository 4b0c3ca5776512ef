// Comparing runs, and what heads matter, in the whole window.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "app/engine/analyses/changes.h"
#include "app/engine/analyses/head_knockouts.h"
#include "app/state/comparison.h"
#include "app/state/side_by_side_settings.h"
#include "app/ui_driver.h"
#include "app/widgets/prediction_bars.h"
#include "app/window/offscreen_viewer.h"

namespace viewer_compare_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

/// The selected head's difference, of the newest run; null: it isn't among the tiles.
const attention::Tile* difference(const UiDriver& ui) {
  const Selection& selection = ui.state().selection;
  for (const auto& [query, known] : ui.result().tiles) {
    const bool is_it = query.quantity == difference_of(attention::Stage::Weights) && query.block == selection.block &&
                       query.head == selection.head && query.pool == 1 && query.row == 0 && query.column == 0;
    if (is_it && ui.result().is_current(query)) return known.tile.get();
  }
  return nullptr;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a second text of another length: Ctrl+T, typed, compared token by token, exchanged, closed") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.press(Key::T, kControl);
    REQUIRE(has_second_text(ui.state()));
    CHECK(second_text(ui.state()) == ui.state().text());
    REQUIRE(difference(ui));
    for (const float value : difference(ui)->values) CHECK(value == 0.0F);
    const std::string first = ui.state().text();
    const auto tokens = ui.result().input->source.length;
    ui.fill_in("text.second", first + " x");
    CHECK(second_text(ui.state()) == first + " x");
    CHECK(ui.result().baseline_error == "");
    REQUIRE(ui.result().pairs);
    CHECK(ui.result().baseline_tokens->source.length > tokens);
    CHECK(ui.window().undo().undo_label() == "Edit second text");
    REQUIRE(difference(ui));
    CHECK(difference(ui)->request.rows == tokens);
    // A causal model: what comes later changes nothing before it. All of the shorter text has counterparts.
    for (const float value : difference(ui)->values) CHECK(std::abs(value) <= 1e-6F);
    ui.click("text.second.exchange");
    CHECK(ui.state().text() == first + " x");
    CHECK(second_text(ui.state()) == first);
    REQUIRE(difference(ui));
    CHECK(difference(ui)->is_masked(difference(ui)->request.rows - 1, 0));  // it has no counterpart
    for (const Key key : {Key::A, Key::L, Key::F, Key::W, Key::J, Key::Digit2, Key::Digit3, Key::Digit7, Key::Digit9}) {
      ui.press(key);
      ui.wait(1.0);
      CAPTURE(ui.state().view.tab);
      CHECK(ui.result().error == "");
    }
    ui.click("text.second.close");
    CHECK_FALSE(ui.state().compare.baseline.has_value());
    CHECK(ui.sees("text.second.open"));
  }

  TEST_CASE("a baseline: maps show what a mask changes, a list leads to the heads, the chip ends it") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    CHECK_FALSE(ui.sees("chip.compare.off"));
    CHECK(difference(ui) == nullptr);
    const attention::Tile before = weights(ui);
    ui.press(Key::D, kControl);
    REQUIRE(ui.state().compare.baseline);
    CHECK(ui.window().undo().undo_label() == "Keep a baseline");
    CHECK(ui.sees("chip.compare.off"));
    REQUIRE(difference(ui));
    for (const float value : difference(ui)->values) CHECK(value == 0.0F);
    CHECK_FALSE(ui.sees("compare.head.0"));  // nothing changed yet

    ui.wait(5.0);
    ui.paint_cell(2, 1);
    REQUIRE(difference(ui));
    CHECK(difference(ui)->at(2, 1) == -before.at(2, 1));
    REQUIRE(ui.sees("compare.head.0"));
    check_tips(ui);
    ui.move_to("compare.head.0");
    ui.wait(5.0);
    ui.click("compare.head.1");
    CHECK(ui.state().view.pinned);
    ui.wait(5.0);
    REQUIRE(ui.sees("compare.cell.0"));
    ui.click("compare.cell.1");
    REQUIRE(ui.state().view.pinned);
    check_tips(ui);

    // D shows the run itself, and the differences again.
    ui.press(Key::D);
    CHECK_FALSE(ui.state().compare.shows_difference);
    CHECK(weights(ui).at(2, 1) == 0.0F);
    ui.press(Key::D);
    CHECK(difference(ui) != nullptr);
    ui.wait(5.0);
    ui.click("compare.return");
    CHECK(ui.state().masks == ui.state().compare.baseline->inputs.masks);
    CHECK_FALSE(ui.sees("compare.head.0"));
    ui.wait(5.0);
    ui.press(Key::Z, kControl);
    CHECK(ui.sees("compare.head.0"));
    ui.wait(5.0);
    ui.click("chip.compare.off");
    CHECK_FALSE(ui.state().compare.baseline);
    CHECK_FALSE(ui.sees("chip.compare.off"));
    CHECK(ui.window().undo().undo_label() == "Stop comparing");
    ui.press(Key::Z, kControl);
    CHECK(ui.sees("chip.compare.off"));
    ui.wait(5.0);
    ui.press(Key::D, kControlShift);
    CHECK_FALSE(ui.state().compare.baseline);
  }

  TEST_CASE("lines and running text show what changed since the baseline") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.paint_cell(2, 1);
    const Selection selection = ui.state().selection;
    const auto asks = [&](QuantityId id, std::uint32_t rows) {
      return std::ranges::any_of(ui.result().tiles, [&](const auto& known) {
        const TileQuery& query = known.first;
        return query.quantity == id && query.block == selection.block && query.head == selection.head &&
               query.rows == rows && ui.result().is_current(query);
      });
    };
    const std::uint32_t tokens = ui.result().shapes.at(selection.block).queries;
    for (const char* tab : {"lines", "text"}) {
      CAPTURE(tab);
      const bool is_text = std::string_view(tab) == "text";
      ui.click(std::string("tab.") + tab);
      REQUIRE(ui.state().view.tab == tab);
      CHECK(asks(difference_of(attention::Stage::Weights), is_text ? 1 : tokens));
      check_tips(ui);
      ui.move_to(is_text ? "text.token.2" : "lines.query.2");
      ui.press(Key::D);
      CHECK(asks(attention::Stage::Weights, is_text ? 1 : tokens));
      ui.press(Key::D);
    }
  }

  TEST_CASE("texts of other numbers of lines can't be compared: the map stays, and the chip says why") {
    UiDriver ui(with_text("one two three"));
    ui.press(Key::D, kControl);
    REQUIRE(ui.state().compare.baseline);
    ui.fill_in("text.edit", "one two three\none two three four");
    CHECK(ui.result().baseline_error.find("3 queries") != std::string::npos);
    CHECK(ui.sees("chip.compare.off"));
    CHECK(difference(ui) == nullptr);
    ui.fill_in("text.edit", "one two tree");
    CHECK(ui.result().baseline_error == "");
    CHECK(difference(ui) != nullptr);
  }

  TEST_CASE("every matrix of the steps shows its difference, and predictions show both runs") {
    UiDriver ui(with_text("the cat sat on the mat", "predictions"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.click("mask.causal");
    CHECK(ui.sees("prediction.change"));
    ui.click("prediction.previous");
    CHECK(ui.sees("prediction.change"));  // unlike before a change, there is a baseline at every position
    ui.press(Key::Digit2);
    REQUIRE(ui.state().view.tab == "steps");
    const auto has_difference = [&](attention::Stage stage) {
      return std::ranges::any_of(ui.result().tiles, [&](const auto& known) {
        return known.first.quantity == difference_of(stage) && ui.result().is_current(known.first);
      });
    };
    CHECK(has_difference(attention::Stage::Scores));
    CHECK(has_difference(attention::Stage::Heads));
  }

  TEST_CASE("side by side: two heads with one zoom, one pointer and one scale; swapped, stepped, and the baseline") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::J);
    REQUIRE(ui.state().view.tab == "side_by_side");
    REQUIRE(ui.sees("side_by_side.left"));
    REQUIRE(ui.sees("side_by_side.other"));
    CHECK(plain_text(ui.window().sentence()).find("Rows after the first have ") != std::string::npos);
    check_tips(ui);
    const std::uint32_t tokens = ui.result().shapes.begin()->second.queries;
    const auto weights_of_head = [&](QuantityId id, std::uint32_t layer, std::uint32_t head) -> const attention::Tile* {
      for (const auto& [query, known] : ui.result().tiles) {
        const bool is_whole = query.pool == 1 && query.row == 0 && query.column == 0 && query.rows == tokens;
        if (is_whole && query.quantity == id && query.block.layer.value == layer && query.head == head)
          return known.tile.get();
      }
      return nullptr;
    };
    CHECK(weights_of_head(attention::Stage::Weights, 0, 0));
    CHECK(weights_of_head(attention::Stage::Weights, 0, 1));

    // A click on the right one pins the cell for all views; the wheel zooms both.
    ui.click_within("side_by_side.other", 0.25F, 0.6F);
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->query == static_cast<std::uint32_t>(0.6F * static_cast<float>(tokens)));
    CHECK(ui.state().view.pinned->key == static_cast<std::uint32_t>(0.25F * static_cast<float>(tokens)));
    const chart::Rect before = ui.rect("side_by_side.left");
    ui.move_to("side_by_side.other");
    ui.feed({shell::MouseMove{ui.rect("side_by_side.other").center()}, shell::MouseWheel{.steps = {0.0F, 3.0F}}});
    const chart::Rect zoomed = ui.rect("side_by_side.left");
    CHECK(zoomed.size.x * zoomed.size.y > before.size.x * before.size.y);

    ui.click("side_by_side.next");
    CHECK(ui.state()[kSideBySideView.head] == 2);
    CHECK(weights_of_head(attention::Stage::Weights, 0, 2));
    ui.click("side_by_side.previous");
    ui.click("side_by_side.swap");
    CHECK(ui.state().selection.head == 1);
    CHECK(ui.state()[kSideBySideView.head] == 0);
    ui.click("side_by_side.previous");  // from the first head to the last one
    CHECK(ui.state()[kSideBySideView.layer] == ui.result().shapes.size() - 1);
    ui.click("side_by_side.keep");
    CHECK(ui.state()[kSideBySideView.layer] == 0);
    CHECK(ui.state()[kSideBySideView.head] == 1);

    ui.click("side_by_side.right.1");
    CHECK(ui.sees("side_by_side.no_baseline"));
    CHECK_FALSE(ui.sees("side_by_side.left"));
    ui.click("side_by_side.keep_baseline");
    REQUIRE(ui.state().compare.baseline);
    CHECK(ui.sees("side_by_side.left"));
    ui.click("mask.causal");
    const attention::Tile* baseline = weights_of_head(baseline_of(attention::Stage::Weights), 0, 1);
    const attention::Tile* present = weights_of_head(attention::Stage::Weights, 0, 1);
    REQUIRE(baseline);
    REQUIRE(present);
    CHECK(baseline->values != present->values);
    CHECK(baseline->is_masked(0, 5) != present->is_masked(0, 5));
    ui.fill_in("text.edit", "the cat sat on the red mat");
    CHECK(ui.sees("side_by_side.other"));  // of the tokens that both texts have
    ui.fill_in("text.edit", "the cat sat\non the mat");
    ui.click("text.make_batch");
    CHECK(ui.sees("side_by_side.refused"));
  }

  TEST_CASE("side by side: a second text is beside the first, unless another head was chosen") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    const auto right = [&] { return ui.state()[kSideBySideView.right]; };
    ui.press(Key::T, kControl);
    CHECK(right() == SideMap::Baseline);
    ui.click("text.second.close");
    CHECK(right() == SideMap::OtherHead);
    ui.press(Key::J);
    ui.click("side_by_side.next");
    ui.press(Key::T, kControl);
    CHECK(right() == SideMap::OtherHead);
  }

  TEST_CASE("what if: below the map are the next tokens now and without the head, which are those of a run without it") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::W);
    const auto found = [&]() -> const HeadKnockouts& {
      for (const auto& [query, answer] : ui.result().analyses) {
        const auto* of = answer.as<HeadKnockouts>();
        if (of && answer.run == ui.result().run) return *of;
      }
      throw Error("no head was knocked out");
    };
    const HeadRef head{.block = {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, .head = 2};
    ui.click("what_if.head.1.2");
    const std::vector<inference::Candidate> now = found().present.likeliest, without = found().without.at(head).likeliest;
    REQUIRE(now.size() >= 3);
    CHECK(now.front().probability == doctest::Approx(found().present.probability).epsilon(1e-9));
    for (const auto& of : {now, without}) CHECK(ui.sees("what_if.next.row." + candidate_label(ui.result(), of.front().id)));
    ui.click("what_if.knock_out");
    const std::vector<inference::Candidate> after = found().present.likeliest;
    REQUIRE(after.size() == without.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      CHECK(after[i].id == without[i].id);
      CHECK(after[i].probability == doctest::Approx(without[i].probability).epsilon(1e-5));
    }
  }

  TEST_CASE("what if: the map and the list of heads, by every measure; a click selects, a button knocks out") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::W);
    REQUIRE(ui.state().view.tab == "what_if");
    for (const char* name : {"what_if.summary", "what_if.head.0.0", "what_if.head.1.3", "what_if.row.0", "what_if.copy"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    ui.wait(5.0);
    ui.click("what_if.head.1.2");
    CHECK(ui.state().selection.block.layer.value == 1);
    CHECK(ui.state().selection.head == 2);
    ui.wait(5.0);
    ui.click("what_if.knock_out");
    CHECK(head_gain(ui.state(), {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, 2) == 0.0F);
    ui.wait(5.0);
    ui.click("what_if.average");
    REQUIRE(ui.state().changes.size() == 1);
    CHECK(std::holds_alternative<inference::Average>(ui.state().changes[0].intervention->operation));
    CHECK(ui.window().undo().undo_label() == "Keep mean output of L1 H2");
    check_tips(ui);
    ui.wait(5.0);
    ui.click("what_if.average");
    CHECK(ui.state().changes.empty());
    ui.wait(5.0);
    check_tips(ui);
    for (const char* choice : {"what_if.measure.1", "what_if.ablation.1", "what_if.measure.2", "what_if.is_sorted.1"}) {
      ui.click(choice);
      CHECK(ui.sees("what_if.head.0.0"));
    }
    CHECK(ui.state()[kWhatIfView.ablation] == Ablation::Mean);
    CHECK(ui.state()[kWhatIfView.measure] == KnockoutMeasure::Loss);
    CHECK_FALSE(ui.state()[kWhatIfView.is_sorted]);
    CHECK_FALSE(ui.sees("what_if.token"));  // a loss is of the whole text
    show_golden_model(ui, "bert");
    CHECK_FALSE(ui.sees("what_if.head.0.0"));
    ui.click("what_if.measure.0");
    CHECK(ui.sees("what_if.head.0.0"));
  }
}

}  // namespace viewer_compare_test
