// "Where is this number from?" of what analyses and predictions show: the copied number is the engine's.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/analyses/head_circuits.h"
#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/head_ranking.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/engine/analyses/logit_attribution.h"
#include "app/engine/analyses/patching.h"
#include "app/engine/analyses/token_flow.h"
#include "app/engine/gpu_runner.h"
#include "app/state/side_by_side_settings.h"
#include "app/ui_driver.h"
#include "attribution/flow_graph.h"

namespace viewer_findings_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

/// The first answer of an analysis that is on screen.
template <typename Found, typename Question>
const Found& found_by(const UiDriver& ui) {
  for (const auto& [query, answer] : ui.result().analyses) {
    const bool is_it = query.template as<Question>() && answer.is_done;
    if (const Found* found = is_it ? answer.template as<Found>() : nullptr) return *found;
  }
  throw Error("nothing was found");
}

/// Returns the provenance of the number under the pointer, which is there already.
std::string told_here(UiDriver& ui) {
  ui.press(Key::O);
  REQUIRE(ui.sees("origin.value"));
  ui.wait(2.0);
  ui.click("origin.copy");
  std::string text = ImGui::GetClipboardText();
  ui.press(Key::Escape);
  CHECK_FALSE(ui.sees("origin.value"));
  CHECK(text.find("\ncomputed by: ") != std::string::npos);
  CHECK(text.find("\nfrom: ") != std::string::npos);
  CHECK(text.find("\nprecision: ") != std::string::npos);
  CHECK(text.find("\nrun: ") != std::string::npos);
  CHECK(text.find("model.safetensors") != std::string::npos);  // a tensor by its name
  return text;
}

std::string told(UiDriver& ui, const std::string& name) {
  REQUIRE(ui.sees(name));
  ui.move_to(name);
  return told_here(ui);
}

/// Is the number of the first line the engine's, to the nine digits that are written? NaN isn't.
bool has_number(const std::string& text, double value) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::size_t at = line.rfind(" = ");
  if (at == std::string::npos) return false;
  const double told = std::strtod(line.c_str() + at + 3, nullptr);
  return std::abs(told - value) <= 1e-8 * std::max(std::abs(value), 1e-6);  // observed: 5e-9, the rounding to nine digits
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A model on a view.
void show(UiDriver& ui, Key tab) {
  show_golden_model(ui, "gpt2");
  ui.press(tab);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("predictions: a bar, as it is sampled, and a cell of the logit lens") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show(ui, Key::Digit3);
    const std::uint32_t last = ui.result().input->source.length - 1;
    const Prediction* output = ui.result().prediction({.token = last, .layer = 2, .keeps_logits = true});
    REQUIRE(output);
    const std::string bar = told(ui, "prediction.1");
    CHECK(bar.starts_with("probability of a token = "));
    CHECK(has_number(bar, output->candidates[1].probability));
    CHECK(says(bar, fmt::format("token {} of the vocabulary", output->candidates[1].id)));
    const Prediction* input = ui.result().prediction({.token = last, .layer = 1});
    REQUIRE(input);
    const std::string lens = told(ui, "lens.1.1");
    CHECK(lens.starts_with("probability of a token, read after a layer = "));
    CHECK(has_number(lens, input->candidates[1].probability));
    CHECK(says(lens, "\nread after: layer 0"));

    // Ctrl and a click ask too, and put no token into the text.
    ui.feed(shell::click_at(ui.rect("prediction.0").center(), shell::MouseButton::Left, kControl));
    CHECK(ui.sees("origin.value"));
    CHECK(ui.state().text() == "the cat sat on the mat");
  }

  TEST_CASE("predictions: a bar is asked about as it is sampled") {
    State state = with_text("the cat sat on the mat");
    state.generation.sampling = {.method = inference::SamplingMethod::Random, .temperature = 2.0F, .top_k = 3};
    UiDriver ui(state);
    show(ui, Key::Digit3);
    const std::uint32_t last = ui.result().input->source.length - 1;
    const Prediction* output = ui.result().prediction({.token = last, .layer = 2, .keeps_logits = true});
    REQUIRE(output);
    const auto sampled = inference::distribution(*output->logits, state.generation.sampling);
    const std::string hot = told(ui, "prediction.0");
    CHECK(has_number(hot, sampled.chances[output->candidates[0].id]));
    CHECK_FALSE(has_number(hot, output->candidates[0].probability));
    CHECK(says(hot, "\nsampling: logits divided by the temperature 2, top k 3;"));
    const std::string cut = told(ui, "prediction.3");
    CHECK(has_number(cut, sampled.probabilities[output->candidates[3].id]));
    CHECK(says(cut, "the token is cut off"));
  }

  TEST_CASE("logits: each bar is asked about, not the last one") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show(ui, Key::L);
    const LogitAttribution& parts = found_by<LogitAttribution, LogitQuestion>(ui);
    const LogitSources& sources = found_by<LogitSources, LogitSourcesQuestion>(ui);
    CHECK(has_number(told(ui, "logits.part.0"), parts.embedding));
    CHECK(has_number(told(ui, "logits.part.2"), parts.layers[0].mlp));
    CHECK(has_number(told(ui, "logits.head.1.2"), parts.layers[1].heads[2]));
    const std::string source = told(ui, "logits.source.1");
    CHECK(has_number(source, sources.tokens[1]));
    CHECK(says(source, "\nsource token: token 1"));
  }

  TEST_CASE("flow: an edge of routes, rollout and flow, a node, and the largest flow") {
    State state = with_text("the cat sat on the mat");
    state.set(kFlowView.threshold, 0.05F);
    UiDriver ui(state);
    show(ui, Key::F);
    const auto told_of_edge = [&](const std::vector<attribution::FlowEdge>& edges, const std::string& title) {
      const auto edge = std::ranges::find_if(edges, [&](const attribution::FlowEdge& each) {
        return !each.is_residual && each.from != each.to &&
               ui.sees(fmt::format("flow.edge.{}.{}.{}", each.layer, each.from, each.to));
      });
      REQUIRE(edge != edges.end());
      const std::string text = told(ui, fmt::format("flow.edge.{}.{}.{}", edge->layer, edge->from, edge->to));
      CHECK(text.starts_with(title + " = "));
      CHECK(says(text, fmt::format("layer {}", edge->layer)));
      return std::pair(text, edge->share);
    };
    {
      const TokenFlowFound& found = found_by<TokenFlowFound, FlowQuestion>(ui);
      const auto [text, share] =
          told_of_edge(attribution::routes(found.shares, found.start, 0.05), "share of an information-flow route");
      CHECK(has_number(text, share));
      CHECK(says(text, "\nsum of: head "));
      CHECK(says(text, "weight W_O: "));
      const std::string node = told(ui, fmt::format("flow.node.2.{}", found.start));
      CHECK(node.starts_with("the MLP's share of a state = "));
      CHECK(has_number(node, found.shares[1].front().mlp));
    }
    ui.click("flow.method.1");
    {
      const auto [text, share] =
          told_of_edge(found_by<TokenFlowFound, FlowQuestion>(ui).edges, "part of attention rollout in one layer");
      CHECK(has_number(text, share));
    }
    ui.click("flow.method.2");
    const TokenFlowFound& flow = found_by<TokenFlowFound, FlowQuestion>(ui);
    const auto [text, share] = told_of_edge(flow.edges, "part of attention flow in one layer");
    CHECK(has_number(text, share));
    ui.move_to("flow.summary");
    const std::string largest = told_here(ui);
    CHECK(largest.starts_with("attention flow = "));
    CHECK(has_number(largest, flow.inputs[0]));
  }

  TEST_CASE("what if: a head's change on the map and in the list, by every measure") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show(ui, Key::W);
    ui.click("what_if.is_sorted.1");  // by layer: row 1 is head 1
    for (const int measure : {0, 1, 2}) {
      CAPTURE(measure);
      ui.click(fmt::format("what_if.measure.{}", measure));
      const KnockoutMeasure chosen = ui.state()[kWhatIfView.measure];
      const Analysed* answer = nullptr;
      for (const auto& [query, each] : ui.result().analyses) {
        const auto* asked = query.as<KnockoutsQuestion>();
        if (asked && asked->measures_loss == (chosen == KnockoutMeasure::Loss)) answer = &each;
      }
      REQUIRE(answer);
      const HeadKnockouts* found = answer->as<HeadKnockouts>();
      REQUIRE(found);
      const double scale = chosen == KnockoutMeasure::Probability ? 100.0 : 1.0;
      const auto change = [&](std::uint32_t layer, std::uint32_t head) {
        return scale * found->change({.block = encoder_block(layer), .head = head}, chosen).value();
      };
      const std::string text = told(ui, "what_if.head.1.2");
      CHECK(text.starts_with("change without a head = "));
      CHECK(has_number(text, change(1, 2)));
      CHECK(says(text, "layer 1, head 2"));
      CHECK(says(text, fmt::format("\nnow: {:.9g}\n", found->present.of(chosen))));
      CHECK(has_number(told(ui, "what_if.row.1"), change(0, 1)));
    }
  }

  TEST_CASE("patching: a token's cell, a head's, a row of the list, and a path") {
    UiDriver ui(with_text("the cat sat on the mat"), open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.press(Key::D, kControl);
    ui.wait(5.0);
    ui.fill_in("text.edit", "the mat sat on the cat");
    ui.press(Key::A);
    {
      const PatchEffects& found = found_by<PatchEffects, PatchingQuestion>(ui);
      const std::string cell = told(ui, "patching.cell.1.3");
      CHECK(cell.starts_with("effect of a patch = "));
      CHECK(has_number(cell, found.recovery_at(1, 3, PatchMeasure::Logit).value()));
      CHECK(says(cell, fmt::format("\npatched: {:.9g}\n", found.at(1, 3)->of(PatchMeasure::Logit))));
      CHECK(says(cell, fmt::format("\nsource: the baseline: {:.9g}\n", found.source.of(PatchMeasure::Logit))));
      CHECK(has_number(told(ui, "patching.row.0"), strongest_patches(found, PatchMeasure::Logit, 1).front().recovery));
    }
    ui.click("patching.map.3");
    const PatchEffects& heads = found_by<PatchEffects, PatchingQuestion>(ui);
    const std::string head = told(ui, "patching.head.0.4");
    CHECK(has_number(head, heads.recovery_at(0, 4, PatchMeasure::Logit).value()));
    CHECK(says(head, "\nchanged: output of head 4\nat: all tokens\n"));
    ui.click("patching.map.4");
    ui.click("patching.input.0");  // else paths of the heads and inputs that were tried are known, too
    const std::string path = told(ui, "patching.head.0.1");
    CHECK(path.starts_with("effect of a path between heads = "));
    CHECK(has_number(path, found_by<PatchEffects, PathQuestion>(ui).recovery_at(0, 1, PatchMeasure::Logit).value()));
  }

  TEST_CASE("heads: from this to that, and by a pattern") {
    State state = with_text("the cat sat on the mat");
    state.view.pinned = attention::Cell{.query = 4, .key = 2};
    for (const HeadsMode mode : {HeadsMode::FromTo, HeadsMode::Pattern}) {
      state.set(kHeadsView.mode, mode);
      state.set(kHeadsView.subtracts_chance, false);
      UiDriver ui(state);
      show(ui, Key::Digit7);
      const bool is_pattern = mode == HeadsMode::Pattern;
      const HeadRanking& found =
          is_pattern ? found_by<HeadRanking, PatternQuestion>(ui) : found_by<HeadRanking, FromToQuestion>(ui);
      const double mass = found.match({.block = encoder_block(1), .head = 2}).value().mass;
      const std::string name = is_pattern ? "heads.match" : "heads.from_to";
      CHECK(has_number(told(ui, name + ".encoder.1.2"), mass));
      double most = 0.0;
      for (const auto& [head, match] : found.heads) most = std::max(most, match ? match->mass : 0.0);
      CHECK(has_number(told(ui, name + ".row.0"), most));
    }
  }

  TEST_CASE("heads: how two of them differ") {
    State state = with_text("the cat sat on the mat");
    state.set(kHeadsView.mode, HeadsMode::Similarity);
    state.set(kHeadsView.groups_similar, false);
    UiDriver ui(state);
    show(ui, Key::Digit7);
    const HeadSimilarity& alike = found_by<HeadSimilarity, SimilarityQuestion>(ui);
    const chart::Rect map = ui.rect("heads.similar.map");
    ui.feed({shell::MouseMove{map.origin + map.size * glm::vec2(5.5F / 12.0F, 2.5F / 12.0F)}});
    const std::string pair = told_here(ui);
    CHECK(pair.starts_with("difference of two heads' attention = "));
    CHECK(has_number(pair, double{alike.between(2, 5)}));
    CHECK(says(pair, "\ncompared with: L0 H5\n"));
  }

  TEST_CASE("heads: composition and copying, by their weights") {
    State state = with_text("the cat sat on the mat");
    state.set(kHeadsView.mode, HeadsMode::Composition);
    UiDriver ui(state);
    show(ui, Key::Digit7);
    const HeadCompositions& composed = found_by<HeadCompositions, CompositionQuestion>(ui);
    const auto& other = composed.heads.front();
    const std::string score = told(ui, fmt::format("heads.composed.encoder.{}.{}", other.block.layer.value, other.head));
    CHECK(has_number(score, other.scores[0].value()));
    CHECK(says(score, "weight W_Q: "));
    ui.click("heads.circuit_score.3");
    const OvCopying& copying = found_by<OvCopying, OvCopyingQuestion>(ui);
    const std::string copied = told(ui, "heads.composed.encoder.1.3");
    CHECK(has_number(copied, copying.heads.at({.block = encoder_block(1), .head = 3}).value()));
  }

  TEST_CASE("side by side: the cell of the side under the pointer") {
    UiDriver ui(with_text("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.press(Key::J);
    const auto cell_of = [&](const char* side) {
      const chart::Rect map = ui.rect(side);
      const float count = static_cast<float>(ui.result().input->source.length);
      ui.feed({shell::MouseMove{map.origin + map.size * glm::vec2(1.5F, 3.5F) / count}});
      return told_here(ui);
    };
    const HeadRef left{.block = ui.state().selection.block, .head = ui.state().selection.head};
    const std::string first = cell_of("side_by_side.left"), second = cell_of("side_by_side.other");
    CHECK(says(first, fmt::format("layer {}, head {}", left.block.layer.value, left.head)));
    CHECK(
        says(second, fmt::format("layer {}, head {}", ui.state()[kSideBySideView.layer], ui.state()[kSideBySideView.head])));
    CHECK(first.substr(0, first.find('\n')) != second.substr(0, second.find('\n')));
    CHECK(says(first, "cell: query 3"));
    ui.press(Key::Digit1);
    CHECK(has_number(first, double{weights(ui).at(3, 1)}));
  }
}

}  // namespace viewer_findings_test
