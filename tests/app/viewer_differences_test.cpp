// Differences from a baseline in the views of analyses: heads, logits, what if, flow.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "app/engine/analyses/head_circuits.h"
#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/head_ranking.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/analyses/token_flow.h"
#include "app/shapes/quantities/compared.h"
#include "app/ui_driver.h"
#include "app/views/flow/flow_layout.h"
#include "app/window/offscreen_viewer.h"
#include "core/file.h"
#include "export/csv.h"
#include "support/retrained_model.h"
#include "support/temporary_directory.h"

namespace viewer_differences_test {

using namespace headlight;
using namespace headlight::app;
using evaluation::HeadMetric;
using shell::kControl;
using shell::kControlShift;
using shell::Key;

namespace {

/// Returns the findings of the present run or of the baseline; null: nothing was asked.
template <typename Question, typename Found>
const Found* found_of(const UiDriver& ui, bool is_baseline) {
  for (const std::pair<const AnalysisQuery, Analysed>& known : ui.result().analyses) {
    const bool is_it = known.first.as<Question>() && known.first.is_of_baseline == is_baseline;
    if (is_it) return known.second.as<Found>();
  }
  return nullptr;
}

std::string clipboard_of(UiDriver& ui, const std::string& button) {
  ui.wait(5.0);
  ui.click(button);
  return ImGui::GetClipboardText();
}

/// Lines of comma-separated cells; those of tokens may have quotes.
std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(csv);
  for (std::string line; std::getline(text, line);) {
    std::istringstream cells(line);
    lines.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) lines.back().push_back(cell);
  }
  return lines;
}

/// A run is the baseline and a mask painted behind it, so that all that follows differs.
void keep_and_paint(UiDriver& ui) {
  show_golden_model(ui, "gpt2");
  ui.press(Key::D, kControl);
  ui.wait(5.0);
  ui.paint_cell(3, 1);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the table of heads shows what each metric changed by, in the order of the changes") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.heads");
    CHECK(ui.sees("heads.compared"));
    const auto* now = found_of<HeadMetricsQuestion, HeadMetricsFound>(ui, false);
    const auto* baseline = found_of<HeadMetricsQuestion, HeadMetricsFound>(ui, true);
    REQUIRE(now);
    REQUIRE(baseline);
    const auto metric = static_cast<std::size_t>(HeadMetric::Concentration);
    ui.click("heads.order.concentration");
    const auto change = [&](const HeadRef& head) {
      return *now->find(head)->value(HeadMetric::Concentration) - *baseline->find(head)->value(HeadMetric::Concentration);
    };
    std::vector<std::pair<float, double>> rows;  // from top to bottom
    for (const auto& [head, metrics] : now->heads) {
      const std::string row = fmt::format("heads.row.L{} H{}", head.block.layer.value, head.head);
      if (ui.sees(row)) rows.emplace_back(ui.rect(row).origin.y, std::abs(change(head)));
    }
    REQUIRE(rows.size() == now->heads.size());
    std::ranges::sort(rows);
    CHECK(rows.front().second > 0.0);
    CHECK(std::ranges::is_sorted(rows, std::greater(), [](const auto& row) { return row.second; }));
    const auto csv = cells_of(clipboard_of(ui, "heads.copy"));
    REQUIRE(csv.size() == now->heads.size() + 1);
    const std::size_t column = 3 + 3 * metric;
    CHECK(csv[0][column + 1] == "concentration baseline");
    CHECK(csv[0][column + 2] == "concentration change");
    for (std::size_t line = 1; line < csv.size(); ++line) {
      const double difference = std::stod(csv[line][column]) - std::stod(csv[line][column + 1]);
      CHECK(std::abs(std::stod(csv[line][column + 2]) - difference) <= 2e-9);  // nine digits are written
    }
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("heads.compared"));
    CHECK(clipboard_of(ui, "heads.copy").find("baseline") == std::string::npos);
  }

  TEST_CASE("heads found by a pattern or by tokens: the score\u2019s change, the largest one first") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.heads");
    const auto check_mode = [&]<typename Question>(int mode, const Question&, std::size_t score,
                                                   std::size_t baseline_score) {
      CAPTURE(mode);
      ui.click(fmt::format("heads.mode.{}", mode));
      CHECK(ui.sees("heads.compared"));
      const auto* now = found_of<Question, HeadRanking>(ui, false);
      const auto* baseline = found_of<Question, HeadRanking>(ui, true);
      REQUIRE(now);
      REQUIRE(baseline);
      check_tips(ui);
      const auto csv = cells_of(clipboard_of(ui, "heads.copy"));
      REQUIRE(csv.size() == now->heads.size() + 1);
      CHECK(csv[0].back().ends_with("change"));
      double last = 10.0, largest = 0.0;
      for (std::size_t line = 1; line < csv.size(); ++line) {
        const auto layer = static_cast<std::uint32_t>(std::stoul(csv[line][1]));
        const HeadRef head{.block = encoder_block(layer), .head = static_cast<std::uint32_t>(std::stoul(csv[line][2]))};
        REQUIRE(now->match(head));
        REQUIRE(baseline->match(head));
        const double change = now->match(head)->mass - baseline->match(head)->mass;
        CHECK(std::stod(csv[line][score]) == doctest::Approx(now->match(head)->mass));
        CHECK(std::stod(csv[line][baseline_score]) == doctest::Approx(baseline->match(head)->mass));
        CHECK(std::abs(std::stod(csv[line].back()) - change) <= 1e-8);  // nine digits are written
        CHECK(std::abs(change) <= last);
        last = std::abs(change);
        largest = std::max(largest, last);
      }
      CHECK(largest > 1e-4);
      ui.press(Key::D);
      CHECK_FALSE(ui.sees("heads.compared"));
      CHECK(clipboard_of(ui, "heads.copy").find("baseline") == std::string::npos);
      ui.press(Key::D);
    };
    check_mode(2, PatternQuestion(), 3, 4);
    check_mode(1, FromToQuestion(), 3, 4);
  }

  TEST_CASE("similar heads: how much more or less two of them differ than in the baseline") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.heads");
    ui.click("heads.mode.3");
    CHECK(ui.sees("heads.compared"));
    const auto* now = found_of<SimilarityQuestion, HeadSimilarity>(ui, false);
    const auto* baseline = found_of<SimilarityQuestion, HeadSimilarity>(ui, true);
    REQUIRE(now);
    REQUIRE(baseline);
    ui.click("heads.groups_similar.1");  // rows by layer and head
    ui.move_to("heads.similar.map");
    check_tips(ui);
    const auto csv = cells_of(clipboard_of(ui, "heads.copy"));
    REQUIRE(csv.size() == now->heads.size() + 1);
    CHECK(csv[0][0] == "head (change)");
    double largest = 0.0;
    for (std::size_t row = 0; row < now->heads.size(); ++row) {
      for (std::size_t column = 0; column < now->heads.size(); ++column) {
        const double change = double{now->between(row, column)} - double{baseline->between(row, column)};
        CHECK(std::stof(csv[row + 1][column + 1]) == static_cast<float>(change));  // as many digits as read back
        largest = std::max(largest, std::abs(change));
      }
    }
    CHECK(largest > 1e-4);
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("heads.compared"));
    CHECK(clipboard_of(ui, "heads.copy").starts_with("head,L0 H0,"));
  }

  TEST_CASE("numbers of weights are the same in both runs of a model, and are compared between two") {
    const TemporaryDirectory folder;
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.heads");
    ui.click("heads.mode.4");
    for (const int score : {0, 3}) {
      ui.click(fmt::format("heads.circuit_score.{}", score));
      CHECK(ui.sees("heads.compared"));  // says that nothing differs
      CHECK(ui.sees("heads.composed.row.0"));
      CHECK(clipboard_of(ui, "heads.copy").find("baseline") == std::string::npos);
    }
    ui.window().open_model(test::retrained(test::copy_of_golden("gpt2", folder.path() / "other")).string());
    ui.settle();
    REQUIRE(ui.result().baseline_error == "");
    for (const int score : {0, 3}) {
      CAPTURE(score);
      ui.click("tab.heads");
      ui.click("heads.mode.4");
      ui.click(fmt::format("heads.circuit_score.{}", score));
      const auto csv = cells_of(clipboard_of(ui, "heads.copy"));
      CHECK(csv[0].back().ends_with("change"));
      double largest = 0.0;
      for (std::size_t line = 1; line < csv.size(); ++line) {
        if (csv[line].size() < 6 || csv[line][5].empty()) continue;
        CHECK(std::abs(std::stod(csv[line][3]) - std::stod(csv[line][4]) - std::stod(csv[line][5])) <= 1e-8);
        largest = std::max(largest, std::abs(std::stod(csv[line][5])));
      }
      CHECK(largest > 1e-4);
      CHECK(ui.sees("heads.compared"));
    }
  }

  TEST_CASE("Neuron tells what a pair\u2019s score and weight changed by") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.neuron");
    CHECK(ui.sees("neuron.compared"));
    const auto change = [&](attention::Stage stage) {
      for (const auto& [query, known] : ui.result().tiles) {
        const bool is_cell = query.quantity == difference_of(stage) && query.rows == 1 && query.columns == 1;
        if (is_cell && known.run == ui.result().run) return known.tile->values.front();
      }
      return std::nanf("");
    };
    CHECK(std::isfinite(change(attention::Stage::Scores)));
    CHECK(std::isfinite(change(attention::Stage::Weights)));
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("neuron.compared"));
  }

  TEST_CASE("a layer\u2019s matrices are drawn as differences, those of the residual stream too") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.block");
    ui.press(Key::Down);  // the second layer, whose input differs
    CHECK(ui.sees("block.compared"));
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("block.compared"));
  }

  TEST_CASE("each part of a logit, and each source token's, is shown as what it changed by") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.click("tab.logits");
    CHECK(ui.sees("logits.compared"));
    const auto* now = found_of<LogitQuestion, LogitAttribution>(ui, false);
    const auto* baseline = found_of<LogitQuestion, LogitAttribution>(ui, true);
    REQUIRE(now);
    REQUIRE(baseline);
    const LogitAttribution change = Compared<LogitAttribution>{.now = *now, .baseline = *baseline}.shown();
    CHECK(change.logit == now->logit - baseline->logit);
    CHECK(change.logit != 0.0);
    CHECK(std::abs(change.sum() - change.logit) <= 1e-4 * std::max(1.0, std::abs(now->logit)));
    check_tips(ui);
    ui.move_to("logits.head.1.2");
    const auto csv = cells_of(clipboard_of(ui, "logits.copy"));
    CHECK(csv[0].back() == "value change");
    bool has_head = false, has_source = false;
    for (const std::vector<std::string>& line : csv) {
      if (line[0] == "source token") has_source = line.size() == 7;
      if (line[0] != "head" || line[1] != "1" || line[2] != "2") continue;
      has_head = true;
      CHECK(std::stod(line.back()) == doctest::Approx(change.layers[1].heads[2]));
      CHECK(std::stod(line[5]) == doctest::Approx(baseline->layers[1].heads[2]));
    }
    CHECK(has_head);
    CHECK(has_source);
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("logits.compared"));
    CHECK(clipboard_of(ui, "logits.copy").starts_with("part,layer,head,token,value\n"));
  }

  TEST_CASE("what if: of each head's effect the baseline's is subtracted") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.press(Key::W);
    REQUIRE(ui.state().view.tab == "what_if");
    CHECK(ui.sees("what_if.compared"));
    const auto* now = found_of<KnockoutsQuestion, HeadKnockouts>(ui, false);
    const auto* baseline = found_of<KnockoutsQuestion, HeadKnockouts>(ui, true);
    REQUIRE(now);
    REQUIRE(baseline);
    CHECK(baseline->is_complete());
    CHECK(now->present.logit != baseline->present.logit);
    check_tips(ui);
    CHECK(clipboard_of(ui, "what_if.copy")
              .starts_with("kind,layer,head,logit,logit_change,logit_change baseline,logit_change change,probability,"
                           "probability_change,probability_change baseline,probability_change change\n"));
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("what_if.compared"));
    CHECK(clipboard_of(ui, "what_if.copy").starts_with("kind,layer,head,logit,logit_change,probability,"));
  }

  TEST_CASE("what if: means of the baseline need one, with as many lines") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::W);
    ui.wait(5.0);
    ui.click("what_if.ablation.2");  // is dim, and says how to make one
    CHECK(ui.state()[kWhatIfView.ablation] == Ablation::Zero);
    CHECK(ui.window().item_tips().find("what_if.ablation.2")->second.find("There is no baseline: Ctrl+D") == 0);
    ui.wait(5.0);
    ui.press(Key::D, kControl);
    ui.click("what_if.ablation.2");
    CHECK(ui.state()[kWhatIfView.ablation] == Ablation::BaselineMean);
    CHECK_FALSE(ui.sees("what_if.no_baseline"));
    CHECK(ui.sees("what_if.head.0.0"));
    REQUIRE(found_of<KnockoutsQuestion, HeadKnockouts>(ui, false));
    CHECK(found_of<KnockoutsQuestion, HeadKnockouts>(ui, false)->is_complete());
    check_tips(ui);
    ui.fill_in("text.edit", "the cat sat on the red mat");
    CHECK_FALSE(ui.sees("what_if.no_baseline"));  // of the tokens that both texts have
    ui.fill_in("text.edit", "the cat sat\non the mat");
    ui.click("text.make_batch");
    CHECK(ui.sees("what_if.no_baseline"));
  }

  TEST_CASE("flow: edges have the colour of what their share changed by, and the largest changes are written") {
    State state = with_text("the cat sat on the mat");
    state.set(kFlowView.threshold, 0.04F);
    UiDriver ui(state);
    keep_and_paint(ui);
    const std::uint32_t last = ui.result().shapes.begin()->second.queries - 1;  // whose prediction it is
    for (const std::uint32_t key : {0U, 1U, last}) {
      ui.wait(5.0);
      ui.paint_cell(last, key);
    }
    ui.click("tab.flow");
    CHECK(ui.sees("flow.compared"));
    const auto* now = found_of<FlowQuestion, TokenFlowFound>(ui, false);
    const auto* baseline = found_of<FlowQuestion, TokenFlowFound>(ui, true);
    REQUIRE(now);
    REQUIRE(baseline);
    const auto threshold = static_cast<double>(*ui.state()[kFlowView.threshold]);
    const FlowLayout layout(attribution::routes(now->shares, now->start, threshold),
                            attribution::routes(baseline->shares, baseline->start, threshold), now->layers, now->start);
    REQUIRE(layout.largest_change() > 0.005);
    const auto change = [&](const attribution::FlowEdge& edge) { return edge.share - *layout.baseline_share(edge); };
    const attribution::FlowEdge& most =
        *std::ranges::max_element(layout.edges, {}, [&](const auto& edge) { return std::abs(change(edge)); });
    CHECK(ui.sees(fmt::format("flow.change.{}.{}.{}", most.layer, most.from, most.to)));
    check_tips(ui);
    const std::string csv = clipboard_of(ui, "flow.copy");
    CHECK(csv.starts_with("layer,from,from_text,to,to_text,kind,heads,share,share baseline,share change\n"));
    const std::string ends = fmt::format(",{},{}\n", exporting::table_number(*layout.baseline_share(most)),
                                         exporting::table_number(change(most)));
    CHECK(csv.find(ends) != std::string::npos);
    ui.press(Key::D);
    CHECK_FALSE(ui.sees("flow.compared"));
    CHECK(clipboard_of(ui, "flow.copy").starts_with("layer,from,from_text,to,to_text,kind,heads,share\n"));
  }

  TEST_CASE("texts of other numbers of lines: the views show the run's own numbers and say why") {
    UiDriver ui(with_text("the cat sat on the mat"));
    keep_and_paint(ui);
    ui.wait(5.0);
    ui.fill_in("text.edit", "the cat sat\non the red mat");
    ui.click("text.make_batch");
    REQUIRE_FALSE(ui.result().baseline_error.empty());
    for (const std::string view : {"heads", "logits", "what_if", "flow"}) {
      CAPTURE(view);
      ui.click("tab." + view);
      CHECK(ui.sees(view + ".compared"));
      CHECK(std::ranges::none_of(ui.result().analyses, [](const auto& known) { return known.first.is_of_baseline; }));
    }
  }

  TEST_CASE("figures of these views say that they show differences") {
    const TemporaryDirectory folder;
    State state = with_text("the cat sat on the mat");
    state.view.theme = Theme::Light;
    UiDriver ui(state);
    keep_and_paint(ui);
    for (const std::string view : {"heads", "logits", "what_if", "flow", "block"}) {
      CAPTURE(view);
      ui.click("tab." + view);
      const std::filesystem::path path = folder.path() / (view + ".svg");
      ui.press(Key::S, kControlShift);
      ui.type(path.string());
      ui.press(Key::Enter);
      REQUIRE_FALSE(ui.window().notice().is_warning);
      ui.click("notice.close");
      CHECK(read_file(path).find("now \u2212 baseline") != std::string::npos);
    }
  }
}

}  // namespace viewer_differences_test
