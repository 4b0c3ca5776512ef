// The view Patching, in the whole window.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "app/engine/analyses/patching.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/ui_driver.h"
#include "app/views/patching/patching_parts.h"
#include "core/file.h"
#include "support/svg_words.h"
#include "support/temporary_directory.h"

namespace viewer_patching_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

bool is_chosen(const State& state) { return state.patching.receiver.layer != kLastLayer; }

/// Returns the effects that the view shows; null: none yet.
template <typename Question = PatchingQuestion>
const PatchEffects* effects(const UiDriver& ui) {
  for (const auto& [query, answer] : ui.result().analyses) {
    if (query.template as<Question>() && answer.is_done) return answer.template as<PatchEffects>();
  }
  return nullptr;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("patching: each step says what to do next, until there are two texts") {
    UiDriver ui(with_text("the cat sat on the mat"));
    ui.press(Key::A);
    REQUIRE(ui.state().view.tab == "patching");
    CHECK(ui.sees("view.unavailable"));  // the playground predicts nothing
    show_golden_model(ui, "gpt2");
    ui.press(Key::A);
    REQUIRE(ui.sees("patching.no_baseline"));
    check_tips(ui);
    ui.click("patching.keep_baseline");
    CHECK(ui.state().compare.baseline);
    CHECK(ui.sees("patching.edit_first"));
    check_tips(ui);
    ui.wait(5.0);
    ui.fill_in("text.edit", "a cat sat on the mat");  // of any length
    CHECK(ui.sees("patching.cell.0.0"));
    ui.press(Key::D, kControlShift);
    CHECK(ui.sees("patching.no_baseline"));
    ui.wait(5.0);
    ui.click("patching.second_text");
    CHECK(ui.sees("patching.edit_second"));
    check_tips(ui);
    ui.fill_in("text.second", "the cat sat on the mat");
    CHECK(ui.sees("patching.cell.0.0"));
  }

  TEST_CASE("patching: one button shows two texts that work and their map, and Undo brings the old text back") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "A dog runs";
    state.view.tab = "patching";
    UiDriver ui(state, open_gpu_runner);
    REQUIRE(ui.sees("patching.example"));
    check_tips(ui);
    ui.click("patching.example");
    ui.settle();
    CHECK(ui.state().text().ends_with("rides a"));
    REQUIRE(has_second_text(ui.state()));
    CHECK(second_text(ui.state()) != ui.state().text());
    REQUIRE(effects(ui));
    CHECK(effects(ui)->is_complete());
    CHECK(effects(ui)->target.logit > 1.0);   // the first text says "horse" …
    CHECK(effects(ui)->source.logit < -1.0);  // … and the second "bike"
    // The map has half of the view in a small window, whole rows of controls above it.
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000)}) {
      CAPTURE(size.x);
      ui.resize(size.x, size.y);
      ui.settle();
      const float top = ui.rect("view.title").origin.y, end = ui.rect("status.time").origin.y;
      CHECK(end - ui.rect("patching.summary").end().y >= 0.5F * (end - top));
      CHECK(ui.rect("patching.measure.2").origin.y == ui.rect("patching.map.0").origin.y);
      CHECK(ui.rect("patching.token").origin.y == ui.rect("patching.into.0").origin.y);
      CHECK(ui.rect("patching.keep").origin.y < ui.rect("patching.summary").end().y);
    }
    ui.press(Key::Z, kControl);
    ui.settle();
    CHECK(ui.state().text() == "A dog runs");
    CHECK(ui.sees("patching.example"));
  }

  TEST_CASE("a kept change that the text has no place for is named, until it has one") {
    State state = with_text("one two");
    const model::BlockRef block{};
    const std::vector<float> row(state.playground().settings.d_model, 0.5F);
    state.changes.push_back(
        {.name = "a patch",
         .intervention = inference::Intervention{.site = model::Site::AttentionOutput,
                                                 .scope = inference::scope_of(block, 0),
                                                 .operation = inference::Replace{.first = 3, .rows = row}}});
    UiDriver ui(state);
    CHECK(ui.window().notice().text ==
          "In this run the kept change \u201Ca patch\u201D isn't applied: it is of token 3, and the line has 2");
    CHECK(ui.window().notice().is_warning);
    ui.fill_in("text.edit", "one two three four");
    ui.wait(1.0);
    ui.fill_in("text.edit", "one");
    CHECK(ui.window().notice().text.ends_with("the line has 1"));
  }

  TEST_CASE("patching: that two runs hardly differ in what is measured is said") {
    CHECK(scale_note(0.3).empty());
    CHECK(scale_note(2.0).empty());
    CHECK(scale_note(8.05).starts_with(" The runs hardly differ in it"));
  }

  TEST_CASE("patching: maps of tokens and of heads, both directions, every measure; clicks select") {
    UiDriver ui(with_text("the cat sat on the mat"), open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.fill_in("text.edit", "the mat sat on the cat");  // as many tokens
    ui.press(Key::A);
    REQUIRE(ui.state().view.tab == "patching");
    for (const char* name :
         {"patching.summary", "patching.cell.0.0", "patching.cell.1.3", "patching.row.0", "patching.copy"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    REQUIRE(effects(ui));
    CHECK(effects(ui)->is_complete());
    const auto has_effect = [](const std::optional<PatchedNumbers>& numbers) { return numbers->logit != 0.0; };
    CHECK(std::ranges::all_of(effects(ui)->patched, has_effect));
    CHECK(effects(ui)->can_recover(PatchMeasure::Logit));
    check_tips(ui);
    ui.wait(5.0);
    ui.click("patching.cell.1.3");
    CHECK(ui.state().selection.block.layer.value == 1);
    CHECK(ui.state().patching.token == 3U);
    ui.wait(5.0);
    const double before = effects(ui)->target.logit;
    ui.click("patching.keep");
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 1);
    CHECK(ui.sees("patching.kept.0"));
    CHECK(std::holds_alternative<inference::Replace>(ui.state().changes[0].intervention->operation));
    CHECK(effects(ui)->target.logit != before);
    check_tips(ui);
    ui.click("patching.steer");
    ui.click("patching.steer.mean");
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 2);
    CHECK(ui.sees("patching.kept.1.strength"));
    CHECK(ui.window().undo().undo_label().starts_with("Keep steering towards the baseline from L1"));
    check_tips(ui);
    ui.click("patching.kept.1.drop");
    ui.press(Key::Z, kControl);
    CHECK(ui.state().changes.size() == 2);
    ui.press(Key::Z, kControl);
    ui.press(Key::Z, kControl);
    ui.wait(5.0);
    CHECK(ui.state().changes.empty());
    CHECK(effects(ui)->target.logit == before);
    ui.drag("patching.cell.0.1", "patching.cell.1.3");  // the activations of one place go to another
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 1);
    CHECK(*ui.state().changes[0].intervention->scope.layer == 1);
    CHECK(std::get<inference::Replace>(ui.state().changes[0].intervention->operation).first == 3);
    CHECK(effects(ui)->target.logit != before);
    ui.press(Key::Z, kControl);
    ui.wait(5.0);
    ui.drag("patching.cell.1.3", "patching.keep");
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 1);
    CHECK(std::get<inference::Replace>(ui.state().changes[0].intervention->operation).first == 3);
    ui.press(Key::Z, kControl);
    ui.wait(5.0);
    CHECK(ui.state().changes.empty());
    CHECK(effects(ui)->target.logit == before);
    for (const char* choice : {"patching.map.1", "patching.map.2", "patching.measure.1", "patching.measure.2",
                               "patching.into.1", "patching.measure.0"}) {
      CAPTURE(choice);
      ui.click(choice);
      CHECK(ui.sees("patching.cell.0.0"));
      REQUIRE(effects(ui));
      CHECK(effects(ui)->is_complete());
    }
    CHECK(ui.state().patching.map == PatchMap::FeedForward);
    CHECK(ui.state().patching.into_baseline);
    ui.click("patching.map.3");
    CHECK(ui.sees("patching.head.0.0"));
    ui.click("patching.at.1");
    CHECK(ui.state().patching.at_token);
    ui.wait(5.0);
    check_tips(ui);
    ui.click("patching.head.1.2");
    CHECK(ui.state().selection.head == 2);
    REQUIRE(effects(ui));
    CHECK(effects(ui)->layers.size() == 2);
    CHECK_FALSE(ui.sees("patching.mean"));  // the present run's activations are put into the baseline
    ui.click("patching.into.0");
    ui.wait(5.0);
    ui.click("patching.mean");
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 1);
    const auto& mean = std::get<inference::Replace>(ui.state().changes[0].intervention->operation);
    CHECK(*ui.state().changes[0].intervention->scope.head == 2);
    const std::size_t width = mean.rows.size() / ui.result().input->source.lengths[0];
    CHECK(std::equal(mean.rows.begin() + static_cast<std::ptrdiff_t>(width), mean.rows.end(), mean.rows.begin()));
    ui.drag("patching.head.0.1", "patching.head.1.2");
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 2);
    CHECK(*ui.state().changes[1].intervention->scope.layer == 1);
    CHECK(*ui.state().changes[1].intervention->scope.head == 2);
    check_tips(ui);
  }

  TEST_CASE("patching: parts of heads and single weights are shown, kept and opened") {
    UiDriver ui(with_text("the cat sat on the mat"), open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.fill_in("text.edit", "the mat sat on the cat");
    ui.press(Key::A);
    ui.click("patching.map.3");
    for (const model::Site part : {model::Site::Query, model::Site::Key, model::Site::Value, model::Site::Weights}) {
      CAPTURE(model::to_string(part));
      ui.click(fmt::format("patching.part.{}", static_cast<int>(part)));
      CHECK(ui.state().patching.part == part);
      CHECK_FALSE(ui.sees("patching.mean"));  // of outputs alone
      ui.click("patching.head.1.2");
      ui.wait(5.0);
      ui.click("patching.keep");
      ui.wait(5.0);
      REQUIRE(ui.state().changes.size() == 1);
      CHECK(ui.state().changes[0].intervention->site == part);
      ui.click("patching.kept.0.drop");
      ui.wait(5.0);
    }
    check_tips(ui);
    ui.click("patching.map.5");
    REQUIRE(effects<WeightPatchingQuestion>(ui));
    CHECK(effects<WeightPatchingQuestion>(ui)->is_complete());
    // Cells that the causal mask hides have no number: they are hatched.
    CHECK_FALSE(effects<WeightPatchingQuestion>(ui)->at(1, 5));
    CHECK(effects<WeightPatchingQuestion>(ui)->at(5, 1));
    CHECK(ui.count_pixels("patching.cell.1.5", ui.ui().theme().hatch_ground) > 20);
    CHECK(ui.count_pixels("patching.cell.5.1", ui.ui().theme().hatch_ground) == 0);
    ui.click("patching.cell.5.1");
    CHECK(ui.state().view.pinned == attention::Cell{.query = 5, .key = 1});
    ui.wait(5.0);
    ui.click("patching.keep");
    ui.wait(5.0);
    REQUIRE(ui.state().changes.size() == 1);
    CHECK(ui.state().changes[0].intervention->site == model::Site::HeadOutput);
    CHECK(ui.state().changes[0].name.starts_with("weight of the baseline, L"));
    CHECK_FALSE(ui.sees("patching.cell.5.1"));  // the output is no longer the sum of weighted values
    check_tips(ui);
    ui.click("patching.kept.0.drop");
    ui.wait(5.0);
    ui.click("patching.row.0");
    ui.click("patching.row.0");  // twice: opened
    CHECK(ui.state().view.tab == "head");
  }

  TEST_CASE("patching: paths open at a strong head into which a visible path leads, by the input where it ends") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "A man in a red shirt rides a horse. A man in a red shirt rides a";
    state.compare.baseline = make_baseline(state);
    state.text() = "A man in a red shirt rides a bike. A man in a red shirt rides a";
    state.set(kLogitsView.token, 906).set(kLogitsView.other, 642);  // "horse" and "bike"
    state.view.tab = "patching";
    state.patching.map = PatchMap::Paths;
    UiDriver ui(state, open_gpu_runner);
    REQUIRE(ui.sees("patching.receiver.found"));
    CHECK_FALSE(is_chosen(ui.state()));  // found, and so found again in another text
    const PatchEffects* heads = nullptr;
    for (const auto& [query, answer] : ui.result().analyses) {
      const auto* map = query.as<PatchingQuestion>();
      const bool is_of_tokens = map && map->measured.token == 906 && map->measured.other == 642U;
      if (is_of_tokens && map->site == model::Site::HeadOutput) heads = answer.as<PatchEffects>();
    }
    REQUIRE(heads);
    // The receiver is the head after the first layer that carries most by itself, and its values: its queries, in which
    // paths ended before, learn nothing.
    std::vector<PatchCell> alone = strongest_patches(*heads, PatchMeasure::Logit, heads->all);
    std::erase_if(alone, [](const PatchCell& cell) { return cell.row == 0; });
    CHECK(heads->layers[alone[0].row] == 1);
    double largest = 0.0, of_queries = 0.0;
    for (const auto& [query, answer] : ui.result().analyses) {
      const auto* path = query.as<PathQuestion>();
      if (!path || !answer.is_done) continue;
      CHECK(path->receiver.head == alone[0].column);
      const double size = std::abs(strongest_patches(*answer.as<PatchEffects>(), PatchMeasure::Logit, 1)[0].recovery);
      largest = std::max(largest, size);
      if (path->input == PathInput::Query) of_queries = size;
    }
    CHECK(largest > 0.08);  // 0.0904
    CHECK(of_queries < 0.005);
    CHECK(plain_text(ui.window().sentence()).find("difference into") != std::string::npos);
    ui.click("patching.input.2");  // as it is shown: now it is the user's
    CHECK(is_chosen(ui.state()));
    CHECK(ui.state().patching.receiver.layer == 1);
    CHECK(ui.state().patching.receiver.head == alone[0].column);
    CHECK(ui.state().patching.receiver.input == PathInput::Value);
  }

  TEST_CASE("patching: where both runs find the same token likeliest it asks for others; the figure names model and texts") {
    const TemporaryDirectory folder;
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "A man in a red shirt rides a horse. A man in a red shirt rides a";
    UiDriver ui(state, open_gpu_runner);
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.click("grid.encoder.3.7");
    ui.press(Key::K);  // one head of many, which doesn't decide what comes next
    ui.press(Key::A);
    REQUIRE(ui.state().view.tab == "patching");
    REQUIRE(ui.sees("patching.shared"));
    ui.click("patching.both");
    CHECK_FALSE(ui.sees("patching.shared"));
    CHECK(ui.state()[kLogitsView.other]);
    ui.window().write_figure(folder.path() / "patching.svg");
    const std::string words = test::svg_words(read_file(folder.path() / "patching.svg"));
    CHECK(words.find("captions-gpt2") != std::string::npos);
    CHECK(words.find("A man in a red shirt rides a") != std::string::npos);
  }

  TEST_CASE("patching: a map says what it finds in a sentence") {
    const std::vector<PatchCell> cells = {{.row = 0, .column = 4, .recovery = 0.31},
                                          {.row = 1, .column = 2, .recovery = 0.01}};
    const auto place = [](const PatchCell& cell) { return fmt::format("L{} H{}", cell.row, cell.column); };
    const std::span<const PatchCell> all = cells;
    CHECK(plain_text(conclusion_sentence({.map = PatchMap::Heads, .strongest = all, .place = place})) ==
          "L0 H4 (recovery 0.31) carries the most of the difference.");
    CHECK(plain_text(conclusion_sentence(
              {.map = PatchMap::Paths, .strongest = all, .place = place, .receiver = "L1 H4\u2019s values"})) ==
          "L0 H4 (recovery 0.31) carries the most of the difference into L1 H4\u2019s values.");
    CHECK(plain_text(conclusion_sentence({.map = PatchMap::Heads, .strongest = all.subspan(1), .place = place})) ==
          "No single head carries the difference.");
    // A place that works against the difference carries nothing of it, however large its number is.
    const std::vector<PatchCell> signs = {{.row = 1, .column = 3, .recovery = -1.56},
                                          {.row = 0, .column = 4, .recovery = 0.31},
                                          {.row = 0, .column = 1, .recovery = 0.2}};
    CHECK(
        plain_text(conclusion_sentence({.map = PatchMap::Heads, .strongest = signs, .place = place})) ==
        "L0 H4 (recovery 0.31) carries the most of the difference, then L0 H1 (0.20); L1 H3 (\u22121.56) works against it.");
    CHECK(
        plain_text(conclusion_sentence({.map = PatchMap::Heads, .strongest = std::span(signs).first(1), .place = place})) ==
        "No single head carries the difference; L1 H3 (\u22121.56) works against it.");
    CHECK(plain_text(conclusion_sentence({.map = PatchMap::Paths,
                                          .strongest = all.subspan(1),
                                          .place = place,
                                          .receiver = "L1 H4\u2019s values",
                                          .tried = 3})) ==
          "No single path carries the difference into L1 H4\u2019s values, nor into the other 2 of the strongest heads: it "
          "comes from the tokens themselves, or in small parts by many paths.");
  }

  TEST_CASE("patching: paths of heads into one other head, by its queries, keys or values") {
    UiDriver ui(with_text("the cat sat on the mat"), open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.fill_in("text.edit", "the mat sat on the cat");  // as many tokens
    ui.press(Key::A);
    ui.click("patching.map.4");
    REQUIRE(ui.sees("patching.receiver"));
    CHECK(ui.sees("patching.head.0.0"));
    CHECK_FALSE(ui.sees("patching.head.1.0"));  // the receiver's layer
    CHECK_FALSE(ui.sees("patching.keep"));
    check_tips(ui);
    ui.click("patching.input.0");  // takes the head that was found
    CHECK(ui.state().patching.receiver.layer == 1);
    REQUIRE(effects<PathQuestion>(ui));
    CHECK(effects<PathQuestion>(ui)->is_complete());
    CHECK(effects<PathQuestion>(ui)->layers == std::vector<std::uint32_t>{0});
    const double past = effects<PathQuestion>(ui)->at(0, 2)->logit;
    ui.wait(5.0);
    ui.click("patching.mlps.0");
    CHECK_FALSE(ui.state().patching.receiver.recomputes_mlps);
    REQUIRE(effects<PathQuestion>(ui));
    CHECK(effects<PathQuestion>(ui)->at(0, 2)->logit != past);
    CHECK(ui.window().undo().undo_label() == "Choose whether paths lead through MLPs");
    for (const char* choice : {"patching.input.1", "patching.input.2", "patching.into.1", "patching.measure.2"}) {
      CAPTURE(choice);
      ui.click(choice);
      REQUIRE(effects<PathQuestion>(ui));
      CHECK(effects<PathQuestion>(ui)->is_complete());
    }
    CHECK(ui.state().patching.receiver.input == PathInput::Value);
    // The receiver: the one that was found, the one behind it, the selected one, and one that nothing comes before.
    CHECK_FALSE(ui.sees("patching.receiver.found"));
    ui.click("patching.receiver.strongest");
    CHECK(ui.sees("patching.receiver.found"));
    CHECK_FALSE(ui.sees("patching.receiver.strongest"));
    const std::uint32_t heads_of_model = ui.result().shapes.begin()->second.heads;
    ui.click("patching.receiver.previous");
    const std::uint32_t before = ui.state().patching.receiver.head;
    CHECK_FALSE(ui.sees("patching.receiver.found"));
    ui.click("patching.receiver.next");
    CHECK(ui.state().patching.receiver.layer == 1);
    CHECK(ui.state().patching.receiver.head == (before + 1) % heads_of_model);
    ui.click("patching.head.0.3");
    CHECK(ui.state().selection.head == 3);
    ui.click("patching.receiver.take");
    CHECK(ui.state().patching.receiver.layer == 0);
    CHECK_FALSE(ui.sees("patching.head.0.0"));
    check_tips(ui);
  }
}

}  // namespace viewer_patching_test
