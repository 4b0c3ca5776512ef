// Finding heads in the window: by the weight from one token to another, by patterns, by likeness and by their weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include "app/engine/analyses/head_circuits.h"
#include "app/engine/analyses/head_ranking.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/engine/analyses/vocabulary_tokens.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/ui_driver.h"
#include "app/views/heads/pattern_pad.h"
#include "app/window/offscreen_viewer.h"
#include "support/expressions.h"
#include "support/random.h"

namespace find_heads_test {

using namespace headlight;
using namespace headlight::app;
using shell::Key;

namespace {

State heads_by(HeadsMode mode) {
  State state = with_text("the cat sat on the mat", "heads");
  state.set(kHeadsView.mode, mode);
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

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("what is drawn becomes a formula of diagonals, columns and rows") {
    const auto formula = [](std::uint32_t size, const auto& is_drawn) {
      DrawnPattern pattern{.first_query = 0, .first_key = 0, .queries = size, .keys = size};
      for (std::uint32_t q = 0; q < size; ++q) {
        for (std::uint32_t k = 0; k < size; ++k) pattern.cells.push_back(is_drawn(q, k) ? 1 : 0);
      }
      return formula_of(pattern).value_or("too long");
    };
    using U = std::uint32_t;
    CHECK(formula(6, [](U, U) { return false; }).empty());
    CHECK(formula(6, [](U q, U k) { return k + 1 == q; }) == "q - k == 1");
    CHECK(formula(6, [](U q, U k) { return k == q + 2; }) == "k - q == 2");
    CHECK(formula(6, [](U, U k) { return k == 3; }) == "k == 3");
    CHECK(formula(6, [](U q, U k) { return k == 3 && q >= 3; }) == "k == 3 && q >= 3");
    CHECK(formula(6, [](U q, U k) { return q == 4 && k >= 1 && k <= 3; }) == "q == 4 && k >= 1 && k <= 3");
    CHECK(formula(6, [](U q, U k) { return q == 4 && k == 1; }) == "q == 4 && k == 1");
    CHECK(formula(6, [](U q, U k) { return k == 0 || q == k; }) == "q - k == 0 || k == 0");
    CHECK(formula(32, [](U q, U k) { return ((q * 2654435761U ^ k * 40503U) >> 7 & 1U) != 0; }) == "too long");
  }

  TEST_CASE("a drawing's formula is true in its cells and in no other") {
    test::Random random(61);
    int written = 0;
    for (int i = 0; i < 300; ++i) {
      DrawnPattern pattern{.first_query = random.below(3),
                           .first_key = random.below(3),
                           .queries = random.between(1, 12),
                           .keys = random.between(1, 12)};
      pattern.cells.assign(std::size_t{pattern.queries} * pattern.keys, 0);
      for (std::uint32_t stroke = random.between(1, 5); stroke > 0; --stroke) {
        std::uint32_t row = random.below(pattern.queries), column = random.below(pattern.keys);
        const std::uint32_t down = random.below(2), right = random.below(2);
        for (std::uint32_t step = random.between(1, 8); step > 0; --step) {
          if (row < pattern.queries && column < pattern.keys) pattern.at(row, column) = 1;
          row += down;
          column += right;
        }
      }
      const std::optional<std::string> formula = formula_of(pattern);
      REQUIRE(formula);
      CAPTURE(*formula);
      const attention::Expression expression = test::mask_expression(*formula);
      bool is_same = true;
      for (std::uint32_t row = 0; row < pattern.queries; ++row) {
        for (std::uint32_t column = 0; column < pattern.keys; ++column) {
          const bool shows =
              expression.shows({}, pattern.first_query + row, pattern.first_key + column, attention::SliderValues());
          is_same = is_same && shows == (pattern.at(row, column) != 0);
        }
      }
      CHECK(is_same);
      ++written;
    }
    CHECK(written == 300);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("tokens of the vocabulary: chips and rows choose one, positions at a distance, heads by keys, CSV") {
    UiDriver ui(heads_by(HeadsMode::Vocabulary));
    show_golden_model(ui, "gpt2");
    for (const char* list : {"promotes", "suppresses", "seeks", "sought"}) {
      CHECK(ui.sees(std::string("heads.vocabulary.") + list));
      CHECK(ui.sees(std::string("heads.vocabulary.") + list + ".0"));
    }
    check_tips(ui);
    const std::vector<std::uint32_t>& ids = ui.result().input->source.ids;
    ui.click("heads.vocabulary.token.2");
    CHECK(ui.state()[kHeadsView.read_token] == ids[2]);
    const auto asked = [&](attribution::TokenCircuit circuit, std::optional<attribution::CircuitPositions> positions) {
      const Selection& selection = ui.state().selection;
      const Analysed* answer = ui.result().analysed(VocabularyQuestion{.head = {selection.block, selection.head},
                                                                       .circuit = circuit,
                                                                       .token = *ui.state()[kHeadsView.read_token],
                                                                       .positions = positions});
      return answer ? answer->as<VocabularyTokens>() : nullptr;
    };
    const VocabularyTokens* written = asked(attribution::TokenCircuit::Written, {});
    REQUIRE(written);
    CHECK(written->is_complete());
    CHECK(asked(attribution::TokenCircuit::Keys, {}));
    ui.click("heads.has_distance");
    CHECK(ui.state()[kHeadsView.has_distance]);
    CHECK(asked(attribution::TokenCircuit::Keys, attribution::CircuitPositions{.query = 2, .key = 1}));
    CHECK(ui.sees("heads.vocabulary.distance"));
    ui.click("heads.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("list,token,id,value\npromotes,"));
    CHECK(csv.find("\nsought,") != std::string::npos);
    const std::uint32_t best = written->highest.front().id;
    ui.click("heads.vocabulary.promotes.0");
    CHECK(ui.state()[kHeadsView.read_token] == best);
    const Selection before = ui.state().selection;
    ui.move_to("heads.vocabulary.promotes");
    ui.press(Key::Down);
    CHECK(ui.state().selection != before);
    show_golden_model(ui, "bert");
    CHECK(ui.sees("heads.vocabulary.promotes"));  // with a sentence below
    CHECK_FALSE(ui.sees("heads.vocabulary.promotes.0"));
    CHECK(ui.sees("heads.vocabulary.seeks.0"));
  }

  TEST_CASE("retrieval scores: a head's grid by depth and length, seed, what is predicted alone, CSV, and why not") {
    UiDriver ui(heads_by(HeadsMode::Retrieval));
    show_golden_model(ui, "gpt2");
    CHECK(ui.sees("heads.retrieval.encoder.0.3"));
    check_tips(ui);
    for (const char* grid : {"0", "1", "2"}) CHECK(ui.sees(fmt::format("heads.retrieval.grid.{}.4.0", grid)));
    ui.click("heads.retrieval.encoder.1.2");
    CHECK(selected(ui) == HeadRef{encoder_block(1), 2});
    ui.click("heads.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("length,depth,layer,head,answers,predicted,attended,copied\n32,0,0,0,7,"));
    CHECK(std::ranges::count(csv, '\n') == 1 + 5 * 12);  // one length: the model has 32 positions
    ui.click("heads.needle_is_predicted");
    CHECK(ui.state()[kHeadsView.needle_is_predicted]);
    ui.click("heads.retrieval.seed");
    CHECK(ui.state()[kHeadsView.needle_seed] > 1);
    ui.settle();
    ui.click("heads.copy");
    CHECK(csv != ImGui::GetClipboardText());
    show_golden_model(ui, "bert");
    CHECK(ui.sees("heads.retrieval.about"));
    CHECK_FALSE(ui.sees("heads.retrieval.encoder.0.3"));
  }

  TEST_CASE("where retrieval hasn't room for all, it scrolls as a whole") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.model().text = "a man rides a horse";
    state.view.tab = "heads";
    state.set(kHeadsView.mode, HeadsMode::Retrieval);
    UiDriver ui(state, open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(900, 600), glm::uvec2(1400, 900), glm::uvec2(1600, 1000)}) {
      CAPTURE(size.x);
      ui.resize(size.x, size.y);
      ui.settle();
      REQUIRE(ui.sees("heads.retrieval.grid.0.0.0"));
      for (const ImGuiWindow* one : ImGui::GetCurrentContext()->Windows) {
        for (const ImGuiWindow* around = one->ParentWindow; one->WasActive && one->ScrollbarY && around != nullptr;
             around = around->ParentWindow)
          CHECK_MESSAGE(!around->ScrollbarY, std::string(one->Name) << " in " << std::string(around->Name) << " of "
                                                                    << around->ContentSize.y << " in " << around->Size.y);
      }
    }
  }

  TEST_CASE("compositions of all heads as arcs: a threshold, a head by its place, an arc's ends, CSV") {
    UiDriver ui(heads_by(HeadsMode::Composition));
    show_golden_model(ui, "gpt2");
    ui.click("heads.draws_arcs");
    CHECK(ui.state()[kHeadsView.draws_arcs]);
    CHECK(ui.sees("heads.arcs.count"));
    check_tips(ui);
    ui.click("heads.arcs.encoder.0.3");
    CHECK(ui.state().selection.head == 3);
    CHECK(ui.state().selection.block.layer.value == 0);
    const auto& graph = *ui.result().analysed(CompositionGraphQuestion())->as<CompositionGraph>();
    CHECK(graph.arcs.size() == 36);
    ui.click("heads.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("writer,reader,score\n"));
    CHECK(std::ranges::count(csv, '\n') == 37);
    const auto strongest = std::ranges::max_element(graph.arcs, {}, [](const auto& arc) { return arc.scores[0]; });
    ui.click("heads.arcs.arc.0");
    CHECK(ui.state().selection.block == strongest->reader.block);
    CHECK(ui.state().selection.head == strongest->reader.head);
    ui.click("heads.arcs.least");
    REQUIRE(ui.state()[kHeadsView.least_arc]);
    ui.click("heads.arcs.automatic");
    CHECK_FALSE(ui.state()[kHeadsView.least_arc]);
    ui.click("heads.circuit_score.3");
    CHECK_FALSE(ui.sees("heads.arcs.count"));  // copying is of single heads
  }

  TEST_CASE("a pattern is drawn: cells become a formula, and a typed formula shows its cells") {
    UiDriver ui(heads_by(HeadsMode::Pattern));
    show_golden_model(ui, "gpt2");
    ui.press(Key::Digit7);
    ui.click("heads.pattern");
    ui.click("heads.pattern.drawn");
    CHECK(ui.state()[kHeadsView.pattern] == HeadPattern::Typed);
    CHECK(ui.state()[kHeadsView.typed_pattern] == "k == q - 1");
    REQUIRE(ui.sees("heads.pad"));
    ui.settle();
    check_tips(ui);
    const auto tokens = static_cast<float>(ui.result().input->source.lengths[0]);
    const auto click = [&](int query, int key) {
      ui.click_within("heads.pad", (static_cast<float>(key) + 0.5F) / tokens, (static_cast<float>(query) + 0.5F) / tokens);
    };
    click(3, 0);  // drawn
    CHECK(ui.state()[kHeadsView.typed_pattern] == "q - k == 1 || q == 3 && k == 0");
    CHECK_FALSE(ui.sees("heads.typed.error"));
    CHECK(ui.sees("heads.match.row.0"));
    ui.wait(5.0);
    click(1, 0);  // taken away
    CHECK(ui.state()[kHeadsView.typed_pattern] == "q - k == 1 && q >= 2 || q == 3 && k == 0");
    ui.press(Key::Z, shell::kControl);
    CHECK(ui.state()[kHeadsView.typed_pattern] == "q - k == 1 || q == 3 && k == 0");
    ui.click("heads.draw");
    CHECK_FALSE(ui.sees("heads.pad"));
  }

  TEST_CASE("from this token to that: the command opens the list, chips and the map choose tokens, a click the head") {
    UiDriver ui;
    show_golden_model(ui, "gpt2");
    ui.click_cell(4, 2);
    REQUIRE(ui.state().view.pinned == attention::Cell{.query = 4, .key = 2});
    ui.press(Key::P, shell::kControl);
    ui.type("Which heads look from this");
    ui.press(Key::Enter);
    REQUIRE(ui.state().view.tab == "heads");
    CHECK(ui.state()[kHeadsView.mode] == HeadsMode::FromTo);
    const Selection selection = ui.state().selection;
    const CellRange cell{.first = {.query = 4, .key = 2}, .last = {.query = 4, .key = 2}};
    const HeadRef best = best_of(found_by<HeadRanking>(ui, from_to_query(selection, cell)));
    for (const char* name : {"heads.from.4", "heads.to.2", "heads.from_to.encoder.0.0", "heads.from_to.row.0"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    check_tips(ui);
    ui.click("heads.from_to.row.0");
    CHECK(selected(ui) == best);
    ui.wait(5.0);
    ui.click("heads.from_to.row.0");
    ui.click("heads.from_to.row.0");
    CHECK(ui.state().view.tab == "head");
    CHECK(selected(ui) == best);
    ui.press(Key::Digit7);
    CHECK(ui.state()[kHeadsView.mode] == HeadsMode::FromTo);
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
    ui.click("heads.subtracts_chance");
    CHECK(ui.state()[kHeadsView.subtracts_chance]);
    CHECK(ui.sees("heads.match.row.0"));
    ui.click("heads.pattern");
    ui.click("heads.pattern.7");
    CHECK(ui.state()[kHeadsView.pattern] == HeadPattern::Typed);
    CHECK(ui.state()[kHeadsView.typed_pattern] == "k == q - 1");
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
      CHECK(ui.state()[kHeadsView.pattern] == static_cast<HeadPattern>(pattern));
      CHECK(ui.sees("heads.match.about"));
    }
    ui.click("heads.copy");
    CHECK(std::string(ImGui::GetClipboardText()).starts_with("kind,layer,head,mass,chance,queries,score\n"));
  }

  TEST_CASE("similar heads: a map in two orders and the nearest heads of the selected one") {
    UiDriver ui(heads_by(HeadsMode::Similarity));
    show_golden_model(ui, "gpt2");
    ui.press(Key::Digit7);
    const HeadSimilarity found = found_by<HeadSimilarity>(ui, similarity_query(ui.state().selection));
    REQUIRE(found.heads.size() == 12);
    REQUIRE(ui.sees("heads.similar.map"));
    ui.click("heads.groups_similar.1");
    CHECK_FALSE(ui.state()[kHeadsView.groups_similar]);
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
    CHECK(ui.state()[kHeadsView.mode] == HeadsMode::Composition);
    const Selection before = ui.state().selection;
    const HeadCompositions found = found_by<HeadCompositions>(ui, composition_query(before));
    CHECK(found.is_complete());
    REQUIRE(found.heads.size() == 6);  // of the other layer
    REQUIRE(ui.sees("heads.composed.encoder.0.0"));
    check_tips(ui);
    ui.click("heads.composed.row.0");
    const auto best =
        std::ranges::max_element(found.heads, {}, [](const auto& head) { return head.scores[0].value_or(0.0); });
    CHECK(selected(ui) == HeadRef{.block = best->block, .head = best->head});
    CHECK(found_by<HeadCompositions>(ui, composition_query(ui.state().selection)).heads.front().writes);
    for (const int score : {1, 2, 3}) {
      ui.click(fmt::format("heads.circuit_score.{}", score));
      CHECK(ui.sees("heads.composed.row.0"));
      check_tips(ui);
    }
    CHECK(found_by<OvCopying>(ui, OvCopyingQuestion()).heads.size() == 12);
    ui.click("heads.copy");
    CHECK(std::string(ImGui::GetClipboardText()).starts_with("kind,layer,head,copying\nencoder,"));
  }

  TEST_CASE("where there are no such weights the view says why") {
    State state = heads_by(HeadsMode::Composition);
    select_preset(state, "notebook-003");
    state.view.tab = "heads";
    UiDriver ui(state);
    CHECK(ui.sees("heads.composed.none"));
    ui.click("heads.circuit_score.3");
    CHECK(ui.sees("heads.composed.none"));
  }

  TEST_CASE("modes are tabs of the view, and attention between two texts has its own patterns") {
    State state = heads_by(HeadsMode::Metrics);
    state.playground().cross = true;
    state.playground().key_text = "one two three";
    UiDriver ui(state);
    for (const int mode : {1, 2, 3, 4, 0}) {
      ui.click(fmt::format("heads.mode.{}", mode));
      CHECK(ui.state()[kHeadsView.mode] == static_cast<HeadsMode>(mode));
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
