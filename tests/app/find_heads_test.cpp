// Finding heads in the window: by the weight from one token to another, by patterns, by likeness and by their weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "app/analyses/head_circuits.h"
#include "app/analyses/head_ranking.h"
#include "app/analyses/head_similarity.h"
#include "app/ui_driver.h"
#include "app/window/png_file.h"

namespace find_heads_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

State heads_by(HeadsMode mode) {
  State state;
  state.text() = "the cat sat on the mat";
  state.view.tab = "heads";
  state.heads.mode = mode;
  return state;
}

template <typename Result>
const Result& found_by(const UiDriver& ui, const AnalysisQuery& query) {
  const Analysed* answer = ui.result().analysed(query);
  const Result* found = answer ? answer->as<Result>() : nullptr;
  if (!found) throw Error("nothing was found: {}", answer ? answer->error : "it wasn't asked");
  return *found;
}

HeadRef selected(const UiDriver& ui) { return {ui.state().selection.block, ui.state().selection.head}; }

/// The head with the most mass.
HeadRef best_of(const HeadRanking& ranking) {
  HeadRef best;
  double most = -1.0;
  for (const auto& entry : ranking.heads) {
    if (!entry.second || entry.second->mass <= most) continue;
    best = entry.first;
    most = entry.second->mass;
  }
  CHECK(most >= 0.0);
  return best;
}

/// Writes a PNG to look at into $HEADLIGHT_TEST_OUT, if that is set.
void keep(UiDriver& ui, const std::string& name) {
  const char* folder = std::getenv("HEADLIGHT_TEST_OUT");
  if (folder != nullptr) write_png(std::filesystem::path(folder) / (name + ".png"), ui.ui().read_pixels());
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("from this token to that: the command opens the list, chips and the map choose tokens, a click the head") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.click_cell(4, 2);
    REQUIRE(ui.state().view.pinned == attention::Cell{.query = 4, .key = 2});
    ui.press(Key::P, shell::kControl);
    ui.type("Which heads look from this");
    ui.press(Key::Enter);
    REQUIRE(ui.state().view.tab == "heads");
    CHECK(ui.state().heads.mode == HeadsMode::FromTo);
    const Selection selection = ui.state().selection;
    const CellRange cell{.first = {.query = 4, .key = 2}, .last = {.query = 4, .key = 2}};
    const HeadRef best = best_of(found_by<HeadRanking>(ui, from_to_query(selection, cell)));
    for (const char* name : {"heads.from.4", "heads.to.2", "heads.from_to.encoder.0.0", "heads.from_to.row.0"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    keep(ui, "from_to");
    check_tips(ui);
    ui.click("heads.from_to.row.0");
    CHECK(selected(ui) == best);
    ui.wait(5.0);
    ui.click("heads.from_to.row.0");
    ui.click("heads.from_to.row.0");
    CHECK(ui.state().view.tab == "head");
    CHECK(selected(ui) == best);
    ui.press(Key::Digit7);
    CHECK(ui.state().heads.mode == HeadsMode::FromTo);
    ui.click("heads.from.3");
    CHECK(ui.state().view.pinned == attention::Cell{.query = 3, .key = 2});
    ui.click("heads.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("kind,layer,head,weight\nencoder,"));
    CHECK(std::ranges::count(csv, '\n') == 13);
    ui.click("heads.to.5");  // the mask hides it
    CHECK(ui.sees("heads.from_to.about"));
    ui.press(Key::Down);
    ui.press(Key::Home);
    CHECK(ui.state().view.tab == "heads");
  }

  TEST_CASE("patterns are chosen or typed; what is no expression says why below, and the list stays") {
    UiDriver ui(heads_by(HeadsMode::Pattern));
    show_golden_model(ui, "gpt2");
    ui.press(Key::Digit7);
    const Selection selection = ui.state().selection;
    CHECK(found_by<HeadRanking>(ui, pattern_query(selection, HeadPattern::PreviousToken, "")).heads.size() == 12);
    REQUIRE(ui.sees("heads.match.row.0"));
    keep(ui, "pattern");
    ui.click("heads.chance");
    CHECK(ui.state().heads.subtracts_chance);
    CHECK(ui.sees("heads.match.row.0"));
    ui.click("heads.pattern");
    ui.click("heads.pattern.7");
    CHECK(ui.state().heads.pattern == HeadPattern::Typed);
    CHECK(ui.state().heads.typed_pattern == "k == q - 1");
    const HeadRanking typed = found_by<HeadRanking>(ui, pattern_query(selection, HeadPattern::Typed, "k == q - 1"));
    CHECK_FALSE(ui.sees("heads.typed.error"));
    check_tips(ui);
    ui.fill_in("heads.typed", "k == q -");
    CHECK(ui.sees("heads.typed.error"));
    CHECK(ui.sees("heads.match.row.0"));
    ui.fill_in("heads.typed", "k == q - 2");
    CHECK_FALSE(ui.sees("heads.typed.error"));
    const HeadRanking other = found_by<HeadRanking>(ui, pattern_query(selection, HeadPattern::Typed, "k == q - 2"));
    const auto mass = [&](const HeadRanking& ranking) {
      const auto match = ranking.match(selected(ui));
      return match ? match->mass : -1.0;
    };
    CHECK(mass(typed) >= 0.0);
    CHECK(mass(other) != mass(typed));
    ui.fill_in("heads.typed", "k > q");
    CHECK_FALSE(ui.sees("heads.match.row.0"));  // the mask hides all of it
    CHECK(ui.sees("heads.match.about"));
    for (const int pattern : {0, 1, 2, 3, 4, 5, 6}) {
      ui.click("heads.pattern");
      ui.click(fmt::format("heads.pattern.{}", pattern));
      CHECK(ui.state().heads.pattern == static_cast<HeadPattern>(pattern));
      CHECK(ui.sees("heads.match.about"));
    }
    ui.click("heads.copy");
    CHECK(std::string(ImGui::GetClipboardText()).starts_with("kind,layer,head,mass,chance,queries\n"));
  }

  TEST_CASE("similar heads: a map in two orders and the nearest heads of the selected one") {
    UiDriver ui(heads_by(HeadsMode::Similarity));
    show_golden_model(ui, "gpt2");
    ui.press(Key::Digit7);
    const HeadSimilarity found = found_by<HeadSimilarity>(ui, similarity_query(ui.state().selection));
    REQUIRE(found.heads.size() == 12);
    REQUIRE(ui.sees("heads.similar.map"));
    keep(ui, "similarity");
    ui.click("heads.similar.order.1");
    CHECK_FALSE(ui.state().heads.groups_similar);
    ui.click_within("heads.similar.map", 0.05F, 2.5F / 12.0F);
    CHECK(selected(ui) == found.heads[2]);
    std::size_t nearest = 0;
    for (std::size_t head = 0; head < 12; ++head) {
      if (head != 2 && found.between(2, head) < found.between(2, nearest)) nearest = head;
    }
    ui.move_to("heads.similar.map");
    check_tips(ui);
    ui.click("heads.similar.row.0");
    CHECK(selected(ui) == found.heads[nearest]);
    ui.click("heads.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("head,L0 H0,L0 H1,"));
    CHECK(std::ranges::count(csv, '\n') == 13);
  }

  TEST_CASE("composition: maps of what works with the selected head, by weights, and which heads copy") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.press(Key::P, shell::kControl);
    ui.type("Which heads work with this");
    ui.press(Key::Enter);
    CHECK(ui.state().heads.mode == HeadsMode::Composition);
    const Selection before = ui.state().selection;
    const HeadCompositions found = found_by<HeadCompositions>(ui, composition_query(before));
    CHECK(found.is_complete());
    REQUIRE(found.heads.size() == 6);  // of the other layer
    REQUIRE(ui.sees("heads.composed.encoder.0.0"));
    keep(ui, "composition");
    check_tips(ui);
    ui.click("heads.composed.row.0");
    const auto best =
        std::ranges::max_element(found.heads, {}, [](const auto& head) { return head.scores[0].value_or(0.0); });
    CHECK(selected(ui) == HeadRef{.block = best->block, .head = best->head});
    CHECK(found_by<HeadCompositions>(ui, composition_query(ui.state().selection)).heads.front().writes);
    for (const int score : {1, 2, 3}) {
      ui.click(fmt::format("heads.circuit.{}", score));
      CHECK(ui.sees("heads.composed.row.0"));
      check_tips(ui);
    }
    CHECK(found_by<OvCopying>(ui, {.analysis = &kOvCopying}).heads.size() == 12);
    keep(ui, "copying");
    ui.click("heads.copy");
    CHECK(std::string(ImGui::GetClipboardText()).starts_with("kind,layer,head,copying\nencoder,"));
  }

  TEST_CASE("where there are no such weights the view says why") {
    State state = heads_by(HeadsMode::Composition);
    select_preset(state, "notebook-000");
    state.view.tab = "heads";
    UiDriver ui(state);
    CHECK(ui.sees("heads.composed.none"));
    ui.click("heads.circuit.3");
    CHECK(ui.sees("heads.composed.none"));
  }

  TEST_CASE("modes are tabs of the view, and attention between two texts has its own patterns") {
    State state = heads_by(HeadsMode::Metrics);
    state.playground().cross = true;
    state.playground().key_text = "one two three";
    UiDriver ui(state);
    for (const int mode : {1, 2, 3, 4, 0}) {
      ui.click(fmt::format("heads.mode.{}", mode));
      CHECK(ui.state().heads.mode == static_cast<HeadsMode>(mode));
    }
    ui.click("heads.mode.2");
    CHECK(ui.sees("heads.match.about"));  // no previous token: says so
    ui.click("heads.pattern");
    CHECK_FALSE(ui.sees("heads.pattern.0"));
    ui.click("heads.pattern.6");
    CHECK(ui.sees("heads.match.row.0"));
  }
}

}  // namespace find_heads_test
